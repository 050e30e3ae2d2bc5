"""One page of a list: the answer of every list in every interface."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
U = TypeVar("U")

MOST_COUNTED = 10_000
"""The most rows that are read to count a list."""


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some items of a list in its order, and where it goes on."""

    items: Sequence[T]
    next: str | None = None
    """Cursor of the page behind; None: this is the last."""
    total: int | None = None
    """How many items all pages have; None: not counted (a later page, or more than `MOST_COUNTED` rows)."""

    @classmethod
    def whole(cls, items: Iterable[T]) -> Page[T]:
        """Return the one page of a list that is always returned whole."""
        listed = list(items)
        return cls(listed, None, len(listed))

    @classmethod
    def of(
        cls,
        items: Sequence[T],
        limit: int,
        *,
        after: str | None,
        cursor: Callable[[T], str],
        count: Callable[[], int | None] = lambda: None,
    ) -> Page[T]:
        """Return the first `limit` of the items; one more than that says that there is another page.

        Counts only on the first of several pages: later pages need no count, and a single page counts itself.
        """
        if len(items) <= limit:
            return cls(items, None, len(items) if after is None else None)
        return cls(items[:limit], cursor(items[limit - 1]), count() if after is None else None)

    def each(self, change: Callable[[T], U]) -> Page[U]:
        """Return the page with each item converted."""
        return Page([change(item) for item in self.items], self.next, self.total)
