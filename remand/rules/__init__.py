"""The rules of the classifier, gathered from one file per family into lookup tables.

A lookup costs the same however many rules there are. A new family is a new file with `RULES`, named below.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Final

from remand.rules import (
    brokers,
    celery,
    cloud,
    grpc,
    http,
    os_network,
    processes,
    product,
    python,
    saas,
    sql,
    text,
)
from remand.rules.rule import POLICY_OF, Key, Kind, Rule

__all__ = ["BOOK", "POLICY_OF", "Key", "Kind", "Rule", "RuleBook"]


class RuleBook:
    """Answer which rules hold for a key. Immutable after construction.

    Raises ValueError when two rules have one name, or claim one key without a condition.
    """

    __slots__ = ("_tables", "rules")

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules: tuple[Rule, ...] = tuple(rules)
        self._tables: dict[Kind, dict[Key, tuple[Rule, ...]]] = {}
        names: set[str] = set()
        for rule in self.rules:
            if rule.name in names:
                raise ValueError(f"two rules are named {rule.name!r}")
            names.add(rule.name)
            table = self._tables.setdefault(rule.kind, {})
            for key in rule.keys:
                table[key] = _with(table.get(key, ()), rule, key)

    def find(self, kind: Kind, key: Key) -> tuple[Rule, ...]:
        """Return the rules for a key, those with a condition first; empty when there is none."""
        return self.table(kind).get(key, ())

    def table(self, kind: Kind) -> dict[Key, tuple[Rule, ...]]:
        """Return all rules of one kind by key. Must not be changed."""
        return self._tables.get(kind, {})


def _with(present: tuple[Rule, ...], rule: Rule, key: Key) -> tuple[Rule, ...]:
    if rule.is_conditional:
        conditional = [r for r in present if r.is_conditional]
        return (*conditional, rule, *present[len(conditional) :])
    for other in present:
        if not other.is_conditional:
            raise ValueError(f"rules {other.name!r} and {rule.name!r} both claim {rule.kind} {key!r}")
    return (*present, rule)


_FAMILIES: Final = (
    product,
    python,
    os_network,
    processes,
    http,
    saas,
    cloud,
    grpc,
    sql,
    brokers,
    celery,
    text,
)

BOOK: Final = RuleBook(chain.from_iterable(family.RULES for family in _FAMILIES))
