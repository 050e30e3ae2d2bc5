"""What can be known of one exception before any code is read: names, text, answer, headers, wait.

Each fact is read once, when asked for; only bodies already in memory are read (no `.text`, no `.read()`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final

from remand.facts.reading import HOSTILE, Once, item, qualified, read, text_of
from remand.retry_after import Header, from_headers, header_reader, parse_retry_after

_BODY_LIMIT: Final = 65536
_STATUS_IN_TEXT = re.compile(
    r"\b(?:HTTP(?:/[\d.]+)?|status(?: code)?|too many)[ :=]+([45]\d\d)\b", re.IGNORECASE
)
AMQP_ROOTS: Final = frozenset({"amqp", "pika", "aiormq", "aio_pika"})
SMTP_ROOTS: Final = frozenset({"smtplib", "aiosmtplib"})
_OWN_CODE_ROOTS: Final = AMQP_ROOTS | SMTP_ROOTS | {"pymongo", "kafka", "aiokafka"}


@lru_cache(maxsize=1024)
def _profile(cls: type) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the qualified names of a class and its bases, and their top-level packages."""
    names = tuple(qualified(base) for base in type.__dict__["__mro__"].__get__(cls))
    return names, frozenset(name.partition(".")[0] for name in names)


class Subject:
    """Hold what can be known of one exception; each fact is read once, when asked for."""

    def __init__(self, exc: BaseException, now: datetime | None) -> None:
        self.exc = exc
        self.now = now

    @Once
    def names(self) -> tuple[str, ...]:
        names = self._profile[0]
        module, cls = read(self.exc, "exc_module"), read(self.exc, "exc_cls_name")
        # Celery replaces an exception that cannot be pickled by a wrapper that remembers its class.
        return (f"{module}.{cls}", *names) if isinstance(module, str) and isinstance(cls, str) else names

    @Once
    def roots(self) -> frozenset[str]:
        """Return the top-level packages of the class and its bases."""
        return self._profile[1]

    @Once
    def _profile(self) -> tuple[tuple[str, ...], frozenset[str]]:
        return _profile(type(self.exc))  # type: ignore[arg-type]  # mypy asks the instance whether the class hashes

    @Once
    def text(self) -> str:
        return text_of(self.exc)

    @Once
    def response(self) -> Any:
        return read(self.exc, "response")

    @Once
    def body(self) -> Any:
        """Return the decoded body of the answer where it is in memory, else None."""
        exc, response = self.exc, self.response
        for held in (read(exc, "body"), read(exc, "json_body"), read(exc, "info"), read(response, "data")):
            if isinstance(held, Mapping):
                return held
        raw = read(response, "_content") or read(exc, "content") or read(exc, "body")
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
        for holder in (self.response, self.exc):
            for name in ("headers", "hdrs", "http_headers"):
                if headers := read(holder, name):
                    return headers
        meta = read(self.exc, "meta")
        resp = read(self.exc, "resp")
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
        try:
            return own if own is not None else from_headers(self.header, self.moment)
        except HOSTILE:
            return None

    @Once
    def own_retry_after(self) -> timedelta | None:
        """Return the wait that the exception itself names, not the answer it holds."""
        value = read(self.exc, "retry_after")
        if value is None and "celery.exceptions.Retry" in self.names:
            value = read(self.exc, "when")
        try:
            return None if value is None else parse_retry_after(value, self.moment)
        except HOSTILE:
            return None

    @Once
    def moment(self) -> datetime:
        # Read only for an absolute date when the caller gave no instant; pure callers pass theirs.
        return self.now if self.now is not None else datetime.now(UTC)

    @Once
    def status(self) -> int | None:
        """Return the status of the HTTP answer, from 400 to 599."""
        return next((s for value in _status_values(self) if (s := _as_status(value)) is not None), None)

    def status_in_text(self) -> int | None:
        found = _STATUS_IN_TEXT.search(self.text)
        return int(found.group(1)) if found else None


def _as_status(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool) and 400 <= value < 600:
        return int(value)
    return None


def _status_values(subject: Subject) -> Iterator[object]:
    exc, response = subject.exc, subject.response
    yield from (read(exc, "status_code"), read(exc, "http_status"), read(exc, "status"))
    if response is not None:
        yield from (read(response, "status_code"), read(response, "status"), read(response, "code"))
        if isinstance(response, Mapping):
            yield item(item(response, "ResponseMetadata"), "HTTPStatusCode")
    yield from (read(read(exc, "meta"), "status"), read(read(exc, "resp"), "status"))
    yield item(worst_of_bulk(read(exc, "errors")), "status")
    if subject.roots.isdisjoint(_OWN_CODE_ROOTS):
        yield read(exc, "code")


def worst_of_bulk(errors: object) -> object:
    """Return the answer to the document of a bulk request that is worth another attempt most, or None.

    Elasticsearch and OpenSearch tell `[{"index": {"status": 429, "error": {"type": …}}}, …]`.
    """
    if not isinstance(errors, (list, tuple)):
        return None
    held = [next(iter(e.values()), None) for e in errors[:100] if isinstance(e, Mapping) and len(e) == 1]
    answers = [a for a in held if isinstance(item(a, "status"), int)]
    return max(answers, key=lambda answer: item(answer, "status"), default=None)
