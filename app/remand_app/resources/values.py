"""Make one value from another: a value that doors show has the fields of the stored one, and some more."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")


def fields_of(value: DataclassInstance) -> dict[str, Any]:
    """Return the fields of a dataclass and their values, not those of values within."""
    return {field.name: getattr(value, field.name) for field in fields(value)}


def part_of(value: object, kind: type[T]) -> T:
    """Return the fields of a value that a dataclass has: what else is stored, nobody is shown."""
    named: Any = kind
    return kind(**{field.name: getattr(value, field.name) for field in fields(named)})
