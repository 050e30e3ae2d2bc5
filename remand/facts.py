"""Read what an exception of any library says about itself, without importing that library.

Every read is guarded: attributes, `__str__` and containers of an exception may raise or lie. Nothing that
could do I/O is touched (no `.text`, no `.read()`): only bodies already in memory.
"""

from __future__ import annotations

import errno
import json
import re
import socket
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Final, Generic, TypeVar, overload

from remand.retry_after import Header, from_headers, header_reader, parse_retry_after
from remand.rules.rule import Key, Kind
from remand.rules.user import code_key

HOSTILE: Final = (Exception, SystemExit, GeneratorExit)
"""What user code may throw at a reader. An interrupt or a timeout of the worker itself must pass."""

_TEXT_LIMIT: Final = 8192
_BODY_LIMIT: Final = 65536
_CLEAN = re.compile(r"[^a-z0-9]+")
_STATUS_IN_TEXT = re.compile(
    r"\b(?:HTTP(?:/[\d.]+)?|status(?: code)?|too many)[ :=]+([45]\d\d)\b", re.IGNORECASE
)
_TLS_IN_TEXT = re.compile(r"\[(?:SSL|X509|PEM)(?::|\]) ?([A-Za-z0-9_]+(?: lib)?)")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|[0-9]+")
_IDENTIFIER = re.compile(r"[A-Za-z0-9_.:-]{3,80}")
# The numbers of <netdb.h>: HOST_NOT_FOUND, TRY_AGAIN, NO_RECOVERY, NO_DATA.
_HERROR: Final = {1: socket.EAI_NONAME, 2: socket.EAI_AGAIN, 3: socket.EAI_FAIL, 4: socket.EAI_NONAME}
_OF_PARTS = re.compile(r"[A-Za-z0-9]+(?:[_.:-][A-Za-z0-9]+)+|[A-Za-z]*[a-z][A-Z]\w*")
_PHRASES: Final[dict[int, str]] = {status.value: status.phrase for status in HTTPStatus}
_MYSQL_ROOTS: Final = frozenset({"pymysql", "MySQLdb", "mysql", "aiomysql", "asyncmy"})
_EXIT_ROOTS: Final = frozenset({"subprocess", "docker", "sh", "invoke", "asyncssh", "fabric"})
_AMQP_ROOTS: Final = frozenset({"amqp", "pika", "aiormq", "aio_pika"})
_SMTP_ROOTS: Final = frozenset({"smtplib", "aiosmtplib"})
_NOT_ERRNO_ROOTS: Final = _SMTP_ROOTS | {"ssl", "socket"}
_MONGO_LOCATIONS: Final = 17_000
_OWN_CODE_ROOTS: Final = _AMQP_ROOTS | _SMTP_ROOTS | {"pymongo", "kafka", "aiokafka"}


def read(thing: object, name: str) -> Any:
    """Return an attribute, or None when it is missing or its getter raises."""
    try:
        return getattr(thing, name, None)
    except HOSTILE:
        return None


def item(thing: object, key: object) -> Any:
    """Return an entry of a mapping or of something that behaves like one, or None."""
    try:
        return thing[key]  # type: ignore[index]
    except HOSTILE:
        return None


def text_of(exc: BaseException) -> str:
    """Return the message of an exception, cut to 8 KiB; empty when it cannot be printed."""
    try:
        text = str(exc)
        return text if len(text) <= _TEXT_LIMIT else text[:_TEXT_LIMIT]
    except HOSTILE:
        return ""


def qualified(cls: type) -> str:
    """Return `module.Class`, as rules name it."""
    return f"{cls.__module__}.{cls.__qualname__}"


T = TypeVar("T")


class _Once(Generic[T]):
    """Keep what a property returned, as `functools.cached_property` does, without the lock of Python 3.11."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self._name = compute.__name__

    @overload
    def __get__(self, facts: None, owner: type) -> _Once[T]: ...
    @overload
    def __get__(self, facts: object, owner: type) -> T: ...
    def __get__(self, facts: object | None, owner: type) -> _Once[T] | T:
        if facts is None:
            return self
        value = facts.__dict__[self._name] = self._compute(facts)
        return value


@lru_cache(maxsize=1024)
def _profile(cls: type) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the qualified names of a class and its bases, and their top-level packages."""
    names = tuple(qualified(base) for base in type.__dict__["__mro__"].__get__(cls))
    return names, frozenset(name.partition(".")[0] for name in names)


class Facts:
    """Hold what can be known of one exception; each fact is read once, when asked for."""

    def __init__(self, exc: BaseException, now: datetime | None) -> None:
        self.exc = exc
        self.now = now

    @_Once
    def names(self) -> tuple[str, ...]:
        names = self._profile[0]
        module, cls = read(self.exc, "exc_module"), read(self.exc, "exc_cls_name")
        # Celery replaces an exception that cannot be pickled by a wrapper that remembers its class.
        return (f"{module}.{cls}", *names) if isinstance(module, str) and isinstance(cls, str) else names

    @_Once
    def roots(self) -> frozenset[str]:
        """Return the top-level packages of the class and its bases."""
        return self._profile[1]

    @_Once
    def _profile(self) -> tuple[tuple[str, ...], frozenset[str]]:
        return _profile(type(self.exc))  # type: ignore[arg-type]  # mypy asks the instance whether the class hashes

    @_Once
    def text(self) -> str:
        return text_of(self.exc)

    @_Once
    def response(self) -> Any:
        return read(self.exc, "response")

    @_Once
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

    @_Once
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

    @_Once
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

    @_Once
    def retry_after(self) -> timedelta | None:
        """How long the other side asks to wait, from zero to ten years."""
        own = self.own_retry_after
        try:
            return own if own is not None else from_headers(self.header, self.moment)
        except HOSTILE:
            return None

    @_Once
    def own_retry_after(self) -> timedelta | None:
        """Return the wait that the exception itself names, not the answer it holds."""
        value = read(self.exc, "retry_after")
        if value is None and "celery.exceptions.Retry" in self.names:
            value = read(self.exc, "when")
        try:
            return None if value is None else parse_retry_after(value, self.moment)
        except HOSTILE:
            return None

    @_Once
    def moment(self) -> datetime:
        # Read only for an absolute date when the caller gave no instant; pure callers pass theirs.
        return self.now if self.now is not None else datetime.now(UTC)

    def codes(self) -> Iterator[tuple[Kind, Key]]:
        """Yield the codes that the exception carries, the most telling first, each before its class."""
        for kind, key in self.exact_codes():
            yield kind, key
            if kind in _BROADER and (broader := _BROADER[kind](key)) is not None:
                yield kind, broader

    def exact_codes(self) -> Iterator[tuple[Kind, Key]]:
        """Yield the codes as they are, without the classes they belong to."""
        for kind, reader in _READERS:
            for key in reader(self):
                yield kind, key

    @_Once
    def code_keys(self) -> frozenset[int | str]:
        """Return all codes as users' rules name them; HTTP statuses as 503 and "5xx"."""
        return frozenset(
            key if kind == "status" else code_key(shown_code(kind, key))
            for kind, key in self.codes()
            if kind != "code_word"
        )

    @_Once
    def status(self) -> int | None:
        """Return the status of the HTTP answer, from 400 to 599."""
        return next((s for value in _status_values(self) if (s := _as_status(value)) is not None), None)

    @_Once
    def vendor_codes(self) -> tuple[str, ...]:
        """Return the codes of a vendor's API as they stand in the exception, the answer or its body."""
        return tuple(_vendor_codes(self))

    def status_in_text(self) -> int | None:
        found = _STATUS_IN_TEXT.search(self.text)
        return int(found.group(1)) if found else None


def shown_code(kind: Kind, key: Key) -> str:
    """Return a code as it is shown to people and named in users' rules."""
    if kind == "errno" and isinstance(key, int):
        return errno.errorcode.get(key, f"errno {key}")
    return str(key)


def _headers(facts: Facts) -> Iterator[Key]:
    if read(facts.exc, "headers") is None and facts.response is None:
        return
    for name in ("x-should-retry", "stripe-should-retry"):
        if value := facts.header(name):
            yield f"{name}:{value.strip().lower()}"


def _labels(facts: Facts) -> Iterator[Key]:
    exc = facts.exc
    if "pymongo" in facts.roots:
        labels = (
            read(exc, "_error_labels")
            or read(exc, "errorLabels")
            or item(read(exc, "details"), "errorLabels")
        )
        if isinstance(labels, (list, tuple, set, frozenset)):
            yield from (label for label in labels if isinstance(label, str))
    if facts.names[0] == "sqlalchemy.exc.StatementError" and isinstance(
        read(exc, "orig"), (TypeError, ValueError, AttributeError, KeyError)
    ):
        yield "statement-parameter"
    if _is_cut_json(exc):
        yield "json-cut"


def _is_cut_json(exc: BaseException) -> bool:
    """Say whether a JSON document broke off: the decoder wanted more where there was no more."""
    document, position = read(exc, "doc"), read(exc, "pos")
    if not isinstance(document, str) or not isinstance(position, int) or not document.strip():
        return False
    return position >= len(document.rstrip()) or read(exc, "msg") == "Unterminated string starting at"


def _api_codes(facts: Facts) -> Iterator[Key]:
    for code in facts.vendor_codes:
        yield plain_code(code)


def _code_words(facts: Facts) -> Iterator[Key]:
    for code in facts.vendor_codes:
        yield from _words_of(code)


@lru_cache(maxsize=1024)
def _words_of(code: str) -> tuple[str, ...]:
    """Return the ends of a code of several words: `DBInstanceNotFound` ends in `…notfound`."""
    if _IDENTIFIER.fullmatch(code) is None:
        return ()
    words = [word.lower() for word in _WORDS.findall(code)]
    if words and words[-1] in {"exception", "error", "fault"}:
        words.pop()
    if len(words) < 2:
        return ()
    return f"…{''.join(words[-3:])}", f"…{words[-2]}{words[-1]}", f"…{words[-1]}", f"{words[0]}…"


def _vendor_codes(facts: Facts) -> Iterator[str]:
    exc, response, body = facts.exc, facts.response, facts.body
    said: list[object] = []
    if isinstance(response, Mapping) or callable(read(response, "get")):
        error = item(response, "Error")
        said += (item(error, "Code"), item(response, "error"))
    said += (
        read(exc, "type"),
        read(exc, "code"),
        read(exc, "error_code"),
        read(exc, "error"),
        _own_reason(facts),
    )
    error = item(body, "error") if isinstance(body, Mapping) else None
    for holder in (error, body, read(exc, "error")):
        if isinstance(holder, Mapping):
            said += (
                item(holder, "type"),
                item(holder, "code"),
                item(holder, "reason"),
                item(holder, "status"),
            )
        elif holder is not None and not isinstance(holder, str):
            said.append(read(holder, "code"))
    said += (error, *_reasons(read(exc, "errors") or item(error, "errors")))
    codes = [code for code in said if isinstance(code, str) and 0 < len(code) <= 80]
    phrases = _phrases(facts) if codes else ()
    yield from (code for code in codes if code.lower() not in phrases)


def _own_reason(facts: Facts) -> object:
    """Return the `reason` of an exception, unless it is what stands behind the status of a HTTP answer.

    Such a phrase is free text ("File not found"); a vendor's reason beside a status is one word of several
    parts (RATE_LIMIT_EXCEEDED).
    """
    reason = read(facts.exc, "reason")
    if isinstance(reason, str) and facts.status is not None and _OF_PARTS.fullmatch(reason) is None:
        return None
    return reason


def _phrases(facts: Facts) -> Collection[str]:
    """Return, in lower case, the phrases that the answer has beside its status: many a body repeats them."""
    if facts.status is None:
        return ()
    holders = (facts.response, read(facts.exc, "resp"))
    said = [_PHRASES.get(facts.status), *(read(holder, "reason") for holder in holders)]
    return [phrase.lower() for phrase in said if isinstance(phrase, str)]


def _reasons(errors: object) -> list[object]:
    if not isinstance(errors, (list, tuple)):
        return []
    said = [item(error, "reason") for error in errors[:5] if isinstance(error, Mapping)]
    return [*said, item(item(_worst_of_bulk(errors), "error"), "type")]


def _worst_of_bulk(errors: object) -> object:
    """Return the answer to the document of a bulk request that is worth another attempt most, or None.

    Elasticsearch and OpenSearch tell `[{"index": {"status": 429, "error": {"type": …}}}, …]`.
    """
    if not isinstance(errors, (list, tuple)):
        return None
    held = [next(iter(e.values()), None) for e in errors[:100] if isinstance(e, Mapping) and len(e) == 1]
    answers = [a for a in held if isinstance(item(a, "status"), int)]
    return max(answers, key=lambda answer: item(answer, "status"), default=None)


def plain_code(code: str) -> str:
    """Return a vendor's code as the rules write it: lower case, no separators, no final "exception"."""
    return _CLEAN.sub("", code.lower()).removesuffix("exception")


def _sqlstates(facts: Facts) -> Iterator[Key]:
    exc = facts.exc
    code = read(exc, "pgcode") or read(exc, "sqlstate")
    if not isinstance(code, str):
        first = item(read(exc, "args"), 0)
        code = item(first, "C") if isinstance(first, dict) else first if "pyodbc" in facts.roots else None
    if isinstance(code, str) and len(code) == 5:
        yield code


def _mysql(facts: Facts) -> Iterator[Key]:
    if facts.roots & _MYSQL_ROOTS:
        number = read(facts.exc, "errno") or item(read(facts.exc, "args"), 0)
        if isinstance(number, int):
            yield number


def _sqlite(facts: Facts) -> Iterator[Key]:
    name = read(facts.exc, "sqlite_errorname")
    if isinstance(name, str):
        yield name


def _grpc(facts: Facts) -> Iterator[Key]:
    exc = facts.exc
    if facts.roots.isdisjoint(("grpc", "grpclib", "google")):
        return
    for name in ("code", "grpc_status_code", "status"):
        value = read(exc, name)
        if callable(value) and "grpc.RpcError" in facts.names:
            value = _called(value)
        label = value if isinstance(value, str) else read(value, "name")
        if isinstance(label, str):
            yield label.upper()


def _called(method: Callable[[], object]) -> object:
    try:
        return method()
    except HOSTILE:
        return None


def _smtp(facts: Facts) -> Iterator[Key]:
    exc = facts.exc
    if facts.roots.isdisjoint(_SMTP_ROOTS):
        return
    codes = [read(exc, "smtp_code"), read(exc, "code")]
    recipients = read(exc, "recipients")
    if isinstance(recipients, Mapping):
        codes += [item(answer, 0) for answer in list(recipients.values())[:100]]
    elif isinstance(recipients, (list, tuple)):
        codes += [read(refused, "code") for refused in recipients[:100]]
    numbers = sorted(code for code in codes if isinstance(code, int) and 400 <= code < 600)
    if numbers:
        # One address that may yet succeed is worth another attempt.
        yield numbers[0]


def _exits(facts: Facts) -> Iterator[Key]:
    exc, code = facts.exc, None
    if isinstance(exc, SystemExit):
        code = read(exc, "code")
    elif facts.roots & _EXIT_ROOTS:
        code = next(
            (c for n in ("returncode", "exit_status", "exit_code") if isinstance(c := read(exc, n), int)),
            None,
        )
    if isinstance(code, int) and not isinstance(code, bool):
        # A shell or a container reports a signal as 128 and its number.
        yield 128 - code if 128 < code <= 192 else code


def _amqp(facts: Facts) -> Iterator[Key]:
    if facts.roots & _AMQP_ROOTS:
        code = read(facts.exc, "reply_code") or read(facts.exc, "code")
        if isinstance(code, int):
            yield code


def _mongo(facts: Facts) -> Iterator[Key]:
    if "pymongo" not in facts.roots:
        return
    first = item(item(read(facts.exc, "details"), "writeErrors"), 0)
    concern = item(item(read(facts.exc, "details"), "writeConcernErrors"), 0)
    for code in (item(first, "code"), item(concern, "code"), read(facts.exc, "code")):
        if isinstance(code, int):
            yield code


def _ssl(facts: Facts) -> Iterator[Key]:
    if "ssl" not in facts.roots:
        return
    reason = read(facts.exc, "reason")
    if isinstance(reason, str):
        yield reason
    elif found := _TLS_IN_TEXT.search(facts.text):
        yield found.group(1).upper().replace(" ", "_")


def _gai(facts: Facts) -> Iterator[Key]:
    number = read(facts.exc, "errno")
    if not isinstance(number, int):
        return
    if "socket.gaierror" in facts.names:
        yield number
    elif "socket.herror" in facts.names and number in _HERROR:
        yield _HERROR[number]


def _errnos(facts: Facts) -> Iterator[Key]:
    # The numbers of OpenSSL, of mail servers and of name resolution are not those of the system.
    if not isinstance(facts.exc, OSError) or facts.roots & _NOT_ERRNO_ROOTS:
        return
    number = read(facts.exc, "errno")
    # aiohttp copies the number of an OpenSSL error, which is always 1, into errno.
    if isinstance(number, int) and not (number == 1 and "aiohttp" in facts.roots):
        yield number


def _statuses(facts: Facts) -> Iterator[Key]:
    if facts.status is not None:
        yield facts.status


def _as_status(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool) and 400 <= value < 600:
        return int(value)
    return None


def _status_values(facts: Facts) -> Iterator[object]:
    exc, response = facts.exc, facts.response
    yield from (read(exc, "status_code"), read(exc, "http_status"), read(exc, "status"))
    if response is not None:
        yield from (read(response, "status_code"), read(response, "status"), read(response, "code"))
        if isinstance(response, Mapping):
            yield item(item(response, "ResponseMetadata"), "HTTPStatusCode")
    yield from (read(read(exc, "meta"), "status"), read(read(exc, "resp"), "status"))
    yield item(_worst_of_bulk(read(exc, "errors")), "status")
    if facts.roots.isdisjoint(_OWN_CODE_ROOTS):
        yield read(exc, "code")


_READERS: Final[tuple[tuple[Kind, Callable[[Facts], Iterator[Key]]], ...]] = (
    ("header", _headers),
    ("label", _labels),
    ("sqlstate", _sqlstates),
    ("mysql", _mysql),
    ("sqlite", _sqlite),
    ("grpc", _grpc),
    ("smtp", _smtp),
    ("exit", _exits),
    ("amqp", _amqp),
    ("mongo", _mongo),
    ("ssl", _ssl),
    ("gai", _gai),
    ("errno", _errnos),
    ("api_code", _api_codes),
    ("code_word", _code_words),
    ("status", _statuses),
)

_BROADER: Final[dict[Kind, Callable[[Any], Key | None]]] = {
    "sqlstate": lambda code: code[:2],
    "sqlite": lambda name: "_".join(name.split("_")[:2]),
    "mysql": lambda number: f"{number // 1000}xxx",
    "mongo": lambda code: "location" if code >= _MONGO_LOCATIONS else None,
    "smtp": lambda number: number // 100 * 100,
    "status": lambda status: f"{status // 100}xx",
}
"""The class that a code belongs to, of which a rule may speak as well."""
