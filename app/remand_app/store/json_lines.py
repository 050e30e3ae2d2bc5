"""Rows as JSON text, written by Postgres: what a list shows costs Python next to nothing.

A page of fifty rows is more than a thousand values; to read each into Python, and to write it out again,
takes longer than all of the query. Instants are written as Python writes them, in UTC.
"""

from __future__ import annotations

from collections.abc import Iterable

import sqlalchemy as sa

_INSTANT = 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"'


def line_of(table: sa.Table, names: Iterable[str]) -> sa.ColumnClause[str]:
    """Return the column that holds these columns of a table as one JSON object."""
    # One piece of text, so that SQLAlchemy need not look at thirty columns to find what it has compiled.
    columns = ", ".join(_column(table, name) for name in names)
    return sa.literal_column(f"row_to_json((select line from (select {columns}) line))::text")


def _column(table: sa.Table, name: str) -> str:
    if isinstance(table.c[name].type, sa.DateTime):
        return f"to_char({table.name}.{name} at time zone 'UTC', '{_INSTANT}') as {name}"
    return f"{table.name}.{name}"
