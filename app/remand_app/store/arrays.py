"""Array literals for the hot path: Postgres reads one constant instead of one expression for each element.

Values go as one parameter, which the driver quotes like any text.
"""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID


def plain(values: Iterable[UUID | int | None]) -> str:
    """Return the literal of an array of UUIDs or numbers."""
    return "{" + ",".join("NULL" if value is None else str(value) for value in values) + "}"


def texts(values: Iterable[str | None]) -> str:
    """Return the literal of an array of texts, whatever is in them."""
    return "{" + ",".join(map(_quoted, values)) + "}"


def _quoted(value: str | None) -> str:
    if value is None:
        return "NULL"
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
