"""The rules that users added, indexed: a lookup finds the candidates for a failure, however many rules exist.

Order is kept: the first layer's rules come before the second's, and rules within a layer stay as written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from remand.rules.user import AnyRule, Layers

Placed = tuple[str, AnyRule]
"""A rule with the name of its layer."""


class LayeredRules:
    """Answer which of the users' rules may hold for a failure. Immutable after construction.

    A rule is filed under one kind of its conditions: its classes, else its codes, else under none.
    """

    __slots__ = ("_by_code", "_by_error", "_for_all", "layers", "reads_codes", "rules")

    def __init__(self, layers: Layers) -> None:
        self.layers: Final = tuple((place, tuple(rules)) for place, rules in layers)
        self.rules: Final[tuple[Placed, ...]] = tuple(
            (place, rule) for place, rules in self.layers for rule in rules
        )
        self._by_error: dict[str, list[int]] = {}
        self._by_code: dict[int | str, list[int]] = {}
        self._for_all: list[int] = []
        for number, (_, rule) in enumerate(self.rules):
            self._file(number, rule)
        self.reads_codes: Final = bool(self._by_code)

    def _file(self, number: int, rule: AnyRule) -> None:
        asked = rule.conditions
        if asked.errors:
            for name in asked.errors:
                self._by_error.setdefault(name, []).append(number)
        elif codes := asked.codes or asked.statuses:
            for code in codes:
                self._by_code.setdefault(code, []).append(number)
        else:
            self._for_all.append(number)

    def candidates(self, names: Collection[str], codes: Collection[int | str]) -> Iterator[Placed]:
        """Yield the rules that may hold for class names and codes (`reads_codes`), each once, in order."""
        numbers = set(self._for_all)
        for name in names:
            numbers.update(self._by_error.get(name, ()))
        for code in codes:
            numbers.update(self._by_code.get(code, ()))
        for number in sorted(numbers):
            yield self.rules[number]
