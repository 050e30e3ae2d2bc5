"""All facts of one exception, and the order in which its codes are read."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from typing import Any, Final

from remand.facts import servers, system
from remand.facts.reading import Once
from remand.facts.subject import Subject
from remand.facts.vendors import plain_code, vendor_codes, words_of
from remand.rules.rule import Key, Kind
from remand.rules.user import code_key

_MONGO_LOCATIONS: Final = 17_000


class Facts(Subject):
    """Hold what can be known of one exception; each fact is read once, when asked for."""

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
        return tuple(vendor_codes(self))


def shown_code(kind: Kind, key: Key) -> str:
    """Return a code as it is shown to people and named in users' rules."""
    if kind == "errno" and isinstance(key, int):
        return errno.errorcode.get(key, f"errno {key}")
    return str(key)


def _api_codes(facts: Facts) -> Iterator[Key]:
    for code in facts.vendor_codes:
        yield plain_code(code)


def _code_words(facts: Facts) -> Iterator[Key]:
    for code in facts.vendor_codes:
        yield from words_of(code)


def _statuses(facts: Facts) -> Iterator[Key]:
    if facts.status is not None:
        yield facts.status


_READERS: Final[tuple[tuple[Kind, Callable[[Facts], Iterator[Key]]], ...]] = (
    ("header", system.headers),
    ("label", servers.labels),
    ("sqlstate", servers.sqlstates),
    ("mysql", servers.mysql),
    ("sqlite", servers.sqlite),
    ("grpc", system.grpc),
    ("smtp", system.smtp),
    ("exit", system.exits),
    ("amqp", servers.amqp),
    ("mongo", servers.mongo),
    ("ssl", system.ssl),
    ("gai", system.gai),
    ("errno", system.errnos),
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
