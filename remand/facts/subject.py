"""What can be known of one exception before any code is read: names, text, answer, headers, wait.

Each fact is read once, when asked for; only bodies already in memory are read (no `.text`, no `.read()`).
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from types import WrapperDescriptorType
from typing import Any, Final

from remand.facts.reading import HOSTILE, Once, item, qualified, read, text_of
from remand.retry_after import Header, from_headers, header_reader, parse_retry_after

_BODY_LIMIT: Final = 65536
_STATUS_IN_TEXT = re.compile(
    r"\b(?:HTTP(?:/[\d.]+)?|status(?: code)?|too many)[ :=]+([45]\d\d)\b", re.IGNORECASE
)
_STATUS_IN_FRONT = re.compile(r"\A[\[(]?([45]\d\d)[\])]?:?\s+\S")
_SQLSTATE_IN_TEXT = re.compile(r"\bsqlstate\b['\"]?[ :=\[('\"]{1,4}([0-9A-Z]{5})\b", re.IGNORECASE)
AMQP_ROOTS: Final = frozenset({"amqp", "pika", "aiormq", "aio_pika"})
SMTP_ROOTS: Final = frozenset({"smtplib", "aiosmtplib"})
_OWN_CODE_ROOTS: Final = AMQP_ROOTS | SMTP_ROOTS | {"pymongo", "kafka", "aiokafka"}


ATTRIBUTES: Final = frozenset({
    "_error_labels", "args", "body", "category", "cause", "code", "content", "details", "doc", "errno",
    "err_code", "error", "errorLabels", "error_code", "error_name", "error_type", "errorcode", "errors",
    "exc", "exc_cls_name", "exc_module", "exit_code",
    "exit_status", "grpc_status_code", "hdrs", "headers", "http_code", "http_headers", "http_status", "info",
    "inner_exception", "json_body", "kwargs", "last_attempt", "last_exception", "meta", "msg", "orig",
    "original_exception", "os_error", "pgcode", "pos", "reason", "recipients", "reply_code", "requeue",
    "resp", "response", "response_code", "retriable", "retry_after", "retryable", "returncode", "smtp_code",
    "sqlite_errorname", "sqlstate", "status", "status_code", "statuscode", "type", "when",
})  # fmt: skip
"""All attributes that are ever read, apart from those that every exception has."""

_INSTALLED = re.compile(r"[/\\](?:site|dist)-packages[/\\]")
_OF_ALL: Final = frozenset({"builtins.Exception", "builtins.BaseException", "builtins.object"})
_HEADER_HOLDERS: Final = frozenset({"response", "headers", "hdrs", "http_headers", "meta", "resp"})


@dataclass(frozen=True, slots=True)
class Profile:
    """What the class of an exception and its bases tell, nearest first.

    `attributes`: those of `ATTRIBUTES` that the class has; all, where it computes its attributes.
    `installed`: the names that are of installed packages, not Python's and not users' own. `foreign`: those
    that are not built in.
    """

    names: tuple[str, ...]
    name_set: frozenset[str]
    packages: tuple[str, ...]
    roots: frozenset[str]
    attributes: frozenset[str] = frozenset()
    is_open: bool = False
    installed: tuple[str, ...] = ()
    foreign: frozenset[str] = frozenset()


@lru_cache(maxsize=1024)
def profile_of(cls: type) -> Profile:
    """Return the profile of a class, without asking the class or its metaclass."""
    bases: tuple[type, ...] = type.__dict__["__mro__"].__get__(cls)
    own = [type.__dict__["__dict__"].__get__(base) for base in bases]
    is_open = any("__getattr__" in held or _is_code(held.get("__getattribute__")) for held in own)
    held = frozenset().union(*own) & ATTRIBUTES
    names = profile_of_names(tuple(qualified(base) for base in bases))
    installed = tuple(name for name in names.names if _is_installed(name.partition(".")[0]))
    return replace(names, attributes=ATTRIBUTES if is_open else held, is_open=is_open, installed=installed)


def profile_of_names(names: tuple[str, ...], installed: tuple[str, ...] = ()) -> Profile:
    """Return the profile of a class of which only the names are known."""
    packages = tuple(dict.fromkeys(name.partition(".")[0] for name in names))
    foreign = frozenset(name for name in names if not name.startswith("builtins."))
    return Profile(
        names, frozenset(names), packages, frozenset(packages), installed=installed, foreign=foreign
    )


def _is_installed(package: str) -> bool:
    """Say whether a package that is loaded here was installed, as libraries are."""
    file = read(sys.modules.get(package), "__file__")
    return isinstance(file, str) and _INSTALLED.search(file) is not None


def _present(exc: BaseException, profile: Profile) -> frozenset[str]:
    if profile.is_open:
        return ATTRIBUTES
    held = object.__getattribute__(exc, "__dict__")
    if not held:
        return profile.attributes
    return _with_held(profile.attributes, tuple([name for name in held if held[name] is not None]))


@lru_cache(maxsize=4096)
def _with_held(attributes: frozenset[str], held: tuple[str, ...]) -> frozenset[str]:
    return attributes.union(name for name in held if name in ATTRIBUTES)


def _is_code(lookup: object) -> bool:
    return lookup is not None and not isinstance(lookup, WrapperDescriptorType)


def _remembered(module: str, cls: str) -> tuple[str, ...]:
    """Return the name of a class, with the names of its bases if it is loaded here; nothing is imported."""
    name = f"{module}.{cls}"
    try:
        loaded = vars(sys.modules[module])[cls]
        names = profile_of(loaded).names if issubclass(loaded, BaseException) else ()
    except HOSTILE:
        return (name,)
    return tuple(base for base in names if base not in _OF_ALL) if names[:1] == (name,) else (name,)


class Subject:
    """Hold what can be known of one exception; each fact is read once, when asked for.

    `profile`: what its class tells. `present`: which of `ATTRIBUTES` it may have with a value; the others
    need not be looked for. `names`: qualified names of the class and its bases, nearest first.
    """

    def __init__(self, exc: BaseException, now: datetime | None) -> None:
        """Raise what the class of the exception raises when it is inspected."""
        self.exc = exc
        self.now = now
        self.profile = profile_of(type(exc))  # type: ignore[arg-type]  # mypy asks the instance whether it hashes
        self.present = _present(exc, self.profile)
        self.names = self._names()

    def get(self, name: str) -> Any:
        """Return one of `ATTRIBUTES`, None when it is missing or its getter raises."""
        return read(self.exc, name) if name in self.present else None

    def _names(self) -> tuple[str, ...]:
        names = self.profile.names
        if "exc_module" not in self.present:
            return names
        module, cls = self.get("exc_module"), self.get("exc_cls_name")
        # Celery replaces an exception that cannot be pickled with a wrapper that keeps its class name.
        return (
            (*_remembered(module, cls), *names) if isinstance(module, str) and isinstance(cls, str) else names
        )

    @property
    def roots(self) -> frozenset[str]:
        """Return the top-level packages of the class and its bases."""
        return self.profile.roots

    @Once
    def text(self) -> str:
        return text_of(self.exc)

    @Once
    def response(self) -> Any:
        return self.get("response")

    @Once
    def body(self) -> Any:
        """Return the decoded body of the answer where it is in memory, else None."""
        response = self.response
        for held in (self.get("body"), self.get("json_body"), self.get("info"), read(response, "data")):
            if isinstance(held, Mapping):
                return held
        raw = read(response, "_content") or self.get("content") or self.get("body")
        if isinstance(raw, list) and raw and isinstance(raw[0], Mapping):
            return raw
        if isinstance(raw, (str, bytes)) and 0 < len(raw) <= _BODY_LIMIT:
            try:
                return json.loads(raw)
            except HOSTILE:
                return raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw
        return None

    @Once
    def everything_said(self) -> str:
        """Return the message together with the body of the answer, for rules that read text."""
        body = self.body
        if body is None:
            return self.text
        try:
            return f"{self.text}\n{body if isinstance(body, str) else json.dumps(body, default=str)}"[
                :_BODY_LIMIT
            ]
        except HOSTILE:
            return self.text

    @Once
    def header(self) -> Header:
        try:
            return header_reader(self._raw_headers())
        except HOSTILE:
            return header_reader(())

    def _raw_headers(self) -> Any:
        for name in ("headers", "hdrs", "http_headers"):
            if headers := read(self.response, name):
                return headers
        for name in ("headers", "hdrs", "http_headers"):
            if headers := self.get(name):
                return headers
        meta = self.get("meta")
        resp = self.get("resp")
        amazon = (
            item(item(self.response, "ResponseMetadata"), "HTTPHeaders")
            if isinstance(self.response, dict)
            else None
        )
        return amazon or read(meta, "headers") or resp or {}

    @Once
    def retry_after(self) -> timedelta | None:
        """How long the other side asks to wait, from zero to ten years."""
        own = self.own_retry_after
        if own is not None or self.present.isdisjoint(_HEADER_HOLDERS):
            return own
        try:
            return from_headers(self.header, self.moment)
        except HOSTILE:
            return None

    @Once
    def own_retry_after(self) -> timedelta | None:
        """Return the wait that the exception itself names, not the answer it holds."""
        value = self.get("retry_after")
        if value is None and "celery.exceptions.Retry" in self.names:
            value = self.get("when")
        try:
            return None if value is None else parse_retry_after(value, self.moment)
        except HOSTILE:
            return None

    @Once
    def moment(self) -> datetime:
        # Read only for an absolute date when the caller gave no instant; pure callers pass theirs.
        return self.now if self.now is not None else datetime.now(UTC)

    @Once
    def everything_lower(self) -> str:
        """Return `everything_said` in lower case, for the built-in rules to search."""
        return self.everything_said.lower()

    @Once
    def status(self) -> int | None:
        """Return the status of the HTTP answer, from 400 to 599."""
        for value in _status_values(self):
            if isinstance(value, int) and not isinstance(value, bool) and 400 <= value < 600:
                return int(value)
        return None

    def status_in_text(self) -> int | None:
        """Return the status that the message names; some clients put the bare number first."""
        match = _STATUS_IN_TEXT.search(self.text)
        if match is None and self.profile.installed:
            match = _STATUS_IN_FRONT.search(self.text)
        return int(match.group(1)) if match else None

    def sqlstate_in_text(self) -> str | None:
        """Return the SQLSTATE that the message names, as Hive, Spark, Db2, JDBC and ODBC tell it."""
        match = _SQLSTATE_IN_TEXT.search(self.text)
        return match.group(1).upper() if match else None


def _status_values(subject: Subject) -> Iterator[object]:
    yield subject.get("status_code")
    for name in ("http_status", "http_code", "response_code", "statuscode"):
        yield subject.get(name)
    yield subject.get("status")
    response = subject.response
    if response is not None:
        yield from (read(response, "status_code"), read(response, "status"), read(response, "code"))
        if isinstance(response, Mapping):
            yield item(item(response, "ResponseMetadata"), "HTTPStatusCode")
    yield from (read(subject.get("meta"), "status"), read(subject.get("resp"), "status"))
    yield item(worst_of_bulk(subject.get("errors")), "status")
    if subject.roots.isdisjoint(_OWN_CODE_ROOTS):
        yield subject.get("code")


def worst_of_bulk(errors: object) -> object:
    """Return, from a bulk response, the document's result that most deserves another attempt, or None.

    Elasticsearch and OpenSearch answer `[{"index": {"status": 429, "error": {"type": …}}}, …]`.
    """
    if not isinstance(errors, (list, tuple)):
        return None
    held = [next(iter(e.values()), None) for e in errors[:100] if isinstance(e, Mapping) and len(e) == 1]
    answers = [a for a in held if isinstance(item(a, "status"), int)]
    return max(answers, key=lambda answer: item(answer, "status"), default=None)
