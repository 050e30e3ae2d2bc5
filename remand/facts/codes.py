"""All facts of one exception, and the order in which its codes are read."""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from remand.facts import servers, system
from remand.facts.reading import Once
from remand.facts.subject import AMQP_ROOTS, SMTP_ROOTS, Subject
from remand.facts.vendor_numbers import VENDOR_ROOTS, vendor_numbers
from remand.facts.vendors import plain_code, vendor_codes, words_of
from remand.rules.rule import Key, Kind
from remand.rules.user import code_key

_MONGO_LOCATIONS: Final = 17_000
_PASSES = re.compile(r"limit|throttl|overload|unavailable|timeout|busy|quota|exceeded")


class Facts(Subject):
    """Hold what can be known of one exception; each fact is read once, when asked for."""

    def codes(self) -> Iterator[tuple[Kind, Key]]:
        """Yield the codes that the exception carries, the most telling first, each before its class."""
        for reader in _readers_for(self.roots, self.present):
            kind, widen = reader.kind, _BROADER.get(reader.kind)
            for key in reader.read(self):
                yield kind, key
                if widen is not None and (wider := widen(key)) is not None:
                    yield kind, wider

    def exact_codes(self) -> Iterator[tuple[Kind, Key]]:
        """Yield the codes as they are, without the classes they belong to."""
        for reader in _readers_for(self.roots, self.present):
            for key in reader.read(self):
                yield reader.kind, key

    @Once
    def code_keys(self) -> frozenset[int | str]:
        """Return all codes as users' rules name them; HTTP statuses as 503 and "5xx"."""
        return frozenset(
            key if kind == "status" else code_key(shown_code(kind, key))
            for kind, key in self.codes()
            if kind != "code_word"
        )

    @Once
    def vendor_codes(self) -> tuple[str, ...]:
        """Return the codes of a vendor's API as they stand in the exception, the answer or its body."""
        return vendor_codes(self)


def shown_code(kind: Kind, key: Key) -> str:
    """Return a code as it is shown to people and named in users' rules."""
    if kind == "errno" and isinstance(key, int):
        return errno.errorcode.get(key, f"errno {key}")
    return str(key)


def _api_codes(facts: Facts) -> Sequence[Key]:
    codes = facts.vendor_codes
    return [plain_code(code) for code in codes] if codes else ()


def _code_words(facts: Facts) -> Sequence[Key]:
    codes = facts.vendor_codes
    return [word for code in codes for word in words_of(code)] if codes else ()


def _statuses(facts: Facts) -> Sequence[Key]:
    status = facts.status
    return () if status is None else (status,)


def _refused(facts: Facts) -> Sequence[Key]:
    """Return 401 ahead of a vendor's code: credentials are refused, whatever type the body gives the error.

    Except when the code names a passing reason, such as a limit.
    """
    return (401,) if facts.status == 401 and is_refusal(facts.vendor_codes) else ()


def is_refusal(codes: Iterable[str]) -> bool:
    """Say whether a 401 still means refused credentials, given the vendor's codes beside it."""
    return not any(_PASSES.search(code.lower()) for code in codes)


@dataclass(frozen=True, slots=True)
class Reader:
    """Read the codes of one kind where the class is of one of `roots`, or one of `attributes` is there."""

    kind: Kind
    read: Callable[[Facts], Iterable[Key]]
    roots: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()


def _reader(
    kind: Kind, read: Callable[[Facts], Iterable[Key]], attributes: str = "", roots: Iterable[str] = ()
) -> Reader:
    return Reader(kind, read, frozenset(roots), frozenset(attributes.split()))


_VENDORS: Final = (
    "response type code error_code errorcode error_name error_type err_code error reason errors body "
    "json_body info content"
)
_STATUS_HOLDERS: Final = (
    "status_code http_status http_code statuscode response_code status response meta resp errors code"
)
_READERS: Final = (
    _reader("header", system.headers, "headers response"),
    _reader("label", servers.labels, "doc", {"pymongo", "sqlalchemy"}),
    _reader("vendor", vendor_numbers, roots=VENDOR_ROOTS),
    _reader("sqlstate", servers.sqlstates, "pgcode sqlstate", {"pg8000", "pyodbc", "redshift_connector"}),
    _reader("mysql", servers.mysql, roots=servers.MYSQL_ROOTS),
    _reader("sqlite", servers.sqlite, "sqlite_errorname"),
    _reader("grpc", system.grpc, roots={"grpc", "grpclib", "google"}),
    _reader("smtp", system.smtp, roots=SMTP_ROOTS),
    _reader("exit", system.exits, roots=system.EXIT_ROOTS),
    _reader("exit", system.exit_of_process, "code"),
    _reader("amqp", servers.amqp, roots=AMQP_ROOTS),
    _reader("mongo", servers.mongo, roots={"pymongo"}),
    _reader("ssl", system.ssl, roots={"ssl"}),
    _reader("gai", system.gai, roots={"socket"}),
    _reader("gai", system.gai_in_text, roots=system.GAI_IN_TEXT_ROOTS),
    _reader("errno", system.errnos, "errno"),
    _reader("status", _refused, _STATUS_HOLDERS),
    _reader("api_code", _api_codes, _VENDORS, {"pyhive", "prestodb"}),
    _reader("code_word", _code_words, _VENDORS, {"pyhive", "prestodb"}),
    _reader("status", _statuses, _STATUS_HOLDERS),
)
"""In the order in which codes are asked: the most telling first."""


KINDS: Final = tuple(dict.fromkeys(reader.kind for reader in reversed(_READERS)))[::-1]
"""All kinds of codes, in that order; a kind that is asked twice is listed where it is asked last."""


@lru_cache(maxsize=4096)
def _readers_for(roots: frozenset[str], present: frozenset[str]) -> tuple[Reader, ...]:
    return tuple(
        reader
        for reader in _READERS
        if not (reader.roots.isdisjoint(roots) and reader.attributes.isdisjoint(present))
    )


_BROADER: Final[dict[Kind, Callable[[Any], Key | None]]] = {
    "sqlstate": lambda code: code[:2],
    "sqlite": lambda name: "_".join(name.split("_")[:2]),
    "mysql": lambda number: f"{number // 1000}xxx",
    "mongo": lambda code: "location" if code >= _MONGO_LOCATIONS else None,
    "smtp": lambda number: number // 100 * 100,
    "status": lambda status: f"{status // 100}xx",
}
"""The class that a code belongs to; a rule may name the class as well."""


def broader(kind: Kind, key: Key) -> Key | None:
    """Return the class that a code belongs to, None when it belongs to none."""
    widen = _BROADER.get(kind)
    return None if widen is None else widen(key)
