"""The rules of the classifier, gathered from one file per family into lookup tables.

A lookup costs the same however many rules there are. A new family is a new file with `RULES`, named below.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Final

from remand.rules import (
    amqp,
    celery,
    cloud,
    directory,
    grpc,
    http,
    kafka,
    mongo,
    mysql,
    os_network,
    postgres,
    processes,
    product,
    python,
    redis,
    saas,
    search,
    sql,
    sqlite,
    text,
)
from remand.rules.book import RuleBook
from remand.rules.rule import POLICY_OF, Key, Kind, Rule

__all__ = ["BOOK", "FAMILIES", "POLICY_OF", "Family", "Key", "Kind", "Rule", "RuleBook"]


_FAMILIES: Final = (
    product,
    python,
    os_network,
    processes,
    http,
    saas,
    cloud,
    grpc,
    directory,
    postgres,
    mysql,
    sqlite,
    sql,
    redis,
    amqp,
    kafka,
    mongo,
    search,
    celery,
    text,
)


@dataclass(frozen=True, slots=True)
class Family:
    """The built-in rules of one file; `about` is the first line of what it says of itself."""

    name: str
    about: str
    rules: tuple[Rule, ...]


FAMILIES: Final = tuple(
    Family(
        module.__name__.rpartition(".")[2],
        (module.__doc__ or "").partition("\n")[0],
        module.RULES,
    )
    for module in _FAMILIES
)

BOOK: Final = RuleBook(chain.from_iterable(family.rules for family in FAMILIES))
