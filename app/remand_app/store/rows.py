"""Rows as values, by the names of their columns: what a later schema adds is passed over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import sqlalchemy as sa

T = TypeVar("T")


def names(kind: Any) -> str:
    """Return what a query selects for a dataclass: the names of its fields."""
    return ", ".join(field.name for field in fields(kind))


def columns(kind: Any, table: sa.Table) -> list[sa.Column[Any]]:
    """Return the columns of a table that a dataclass has fields for."""
    return [table.c[field.name] for field in fields(kind)]


def read(kind: type[T], result: sa.CursorResult[Any]) -> list[T]:
    """Return each row as a value of a dataclass; every field of it has a column."""
    return made(kind, tuple(result.keys()), result)


def made(kind: type[T], columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[T]:
    """Return rows with these columns as values of a dataclass; every field of it has a column."""
    key: Any = kind  # mypy holds no class to be hashable
    pick = _picker(key, tuple(columns))
    return [kind(*pick(row)) for row in rows]


@cache
def _picker(kind: Any, columns: tuple[str, ...]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    places = [columns.index(field.name) for field in fields(kind)]
    if len(places) == 1:
        return lambda row: (row[places[0]],)
    return itemgetter(*places)
