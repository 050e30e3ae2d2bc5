"""The book of rules: lookup tables, so that a lookup costs the same however many rules there are."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy

from remand.rules.layers import LayeredRules
from remand.rules.rule import Key, Kind, Rule
from remand.rules.user import Layers


class RuleBook:
    """Answer which rules hold for a key. Immutable after construction.

    `users`: the rules that users added, None when there are none. Raises ValueError when two rules have one
    name, or claim one key without a condition.
    """

    __slots__ = ("_tables", "rules", "users")

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules: tuple[Rule, ...] = tuple(rules)
        self.users: LayeredRules | None = None
        self._tables: dict[Kind, dict[Key, tuple[Rule, ...]]] = {}
        names: set[str] = set()
        for rule in self.rules:
            if rule.name in names:
                raise ValueError(f"two rules are named {rule.name!r}")
            names.add(rule.name)
            table = self._tables.setdefault(rule.kind, {})
            for key in rule.keys:
                table[key] = _with(table.get(key, ()), rule, key)

    def extended(self, layers: Layers) -> RuleBook:
        """Return a book in which the layers' rules are asked first, the first layer's before the second's.

        They are asked right after the exception's own word, and before layers this book already has. The
        tables are shared, not copied.
        """
        known = self.users.layers if self.users is not None else ()
        users = LayeredRules([*layers, *known])
        extended = copy(self)
        extended.users = users if users.rules else None
        return extended

    def find(self, kind: Kind, key: Key) -> tuple[Rule, ...]:
        """Return the rules for a key, those with a condition first; empty when there is none."""
        return self.table(kind).get(key, ())

    def by_name(self, name: str) -> Rule | None:
        """Return a built-in rule, None when there is none of that name."""
        return next((rule for rule in self.rules if rule.name == name), None)

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
