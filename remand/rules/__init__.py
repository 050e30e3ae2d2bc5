"""The rules of the classifier, gathered from one file per family into lookup tables.

A lookup costs the same however many rules there are. A new family is a new file with `RULES`, named below.
Families are loaded when a rule is first asked for, so handlers, which import this package, start without
them.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Final

from remand.rules.book import RuleBook
from remand.rules.rule import POLICY_OF, Key, Kind, Rule

if TYPE_CHECKING:
    BOOK: RuleBook
    FAMILIES: tuple[Family, ...]

__all__ = ["BOOK", "FAMILIES", "POLICY_OF", "Family", "Key", "Kind", "Rule", "RuleBook", "built_in"]


_FAMILIES: Final = (
    "product",
    "python",
    "os_network",
    "processes",
    "http",
    "saas",
    "cloud",
    "grpc",
    "directory",
    "postgres",
    "mysql",
    "sqlite",
    "oracle",
    "sqlserver",
    "snowflake",
    "clickhouse",
    "graphs",
    "arango",
    "facebook",
    "windows",
    "memcached",
    "sql",
    "redis",
    "amqp",
    "kafka",
    "zookeeper",
    "mongo",
    "search",
    "mail",
    "celery",
    "text",
    "names",
)


@dataclass(frozen=True, slots=True)
class Family:
    """The built-in rules of one file; `about` is the first line of its docstring."""

    name: str
    about: str
    rules: tuple[Rule, ...]


@cache
def built_in() -> RuleBook:
    """Return the book of the built-in rules: lookup tables; `BOOK` is the same."""
    return RuleBook(chain.from_iterable(family.rules for family in _families()))


@cache
def _families() -> tuple[Family, ...]:
    modules = [(name, importlib.import_module(f"{__name__}.{name}")) for name in _FAMILIES]
    return tuple(
        Family(name, (module.__doc__ or "").partition("\n")[0], module.RULES) for name, module in modules
    )


def __getattr__(name: str) -> object:
    if name == "BOOK":
        return built_in()
    if name == "FAMILIES":
        return _families()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
