"""Exceptions of libraries that no rule was written for when they were labelled, from the vendors' documents alone.

`opened` was looked at while families were written; `held` never was, and is not to be: what misses there is counted,
not mended. Labels name the categories that are right, the best first; retry or never follows from the category.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from remand.rules.rule import NEVER, POLICY_OF


@dataclass(frozen=True)
class Labelled:
    """An exception and the categories that are right for it, separated by blanks."""

    right: str
    exc: BaseException
    why: str = ""

    @property
    def is_retried(self) -> bool:
        return POLICY_OF[self.right.split()[0]] != NEVER


@dataclass(frozen=True)
class Vendor:
    name: str
    source: str
    make: Callable[[], Iterator[Labelled]]


def vendor(
    into: list[Vendor], name: str, source: str
) -> Callable[[Callable[[], Iterator[Labelled]]], Callable[[], Iterator[Labelled]]]:
    """Register the exceptions of one library; `source` says where their meaning is documented."""

    def register(make: Callable[[], Iterator[Labelled]]) -> Callable[[], Iterator[Labelled]]:
        into.append(Vendor(name, source, make))
        return make

    return register
