"""Find an object of any kind by the id that a person typed, with bounded queries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from uuid import UUID

from remand_app.domain.errors import InputInvalid
from remand_app.store.database import Database
from remand_app.store.ids import NEWEST, id_range

TABLES: Final = ("dead_letters", "dead_letter_groups", "redrives", "workers")
_MOST: Final = 5
"""The most rows found in one table: more are too many to choose from."""


def ids_like(database: Database, typed: str, tables: Iterable[str]) -> list[tuple[str, UUID]]:
    """Return table and id of rows whose id begins with the text, else ends with it; five of a table at most.

    The end of an id, the short form that lists show, is looked for among the newest rows.
    Transaction: short own ones.
    """
    try:
        low, high = id_range(typed)
    except InputInvalid:
        return []
    text = typed.strip().lower()
    matches: list[tuple[str, UUID]] = []
    for table in tables:
        rows = database.call(
            f"select id from remand.{table} where id between %s and %s limit {_MOST}", (low, high)
        ) or database.call(
            f"""
            select newest.id
              from (select id
                      from remand.{table}
                     order by id desc
                     limit {NEWEST}) newest
             where right(newest.id::text, %s) = %s
             limit {_MOST}
            """,
            (len(text), text),
        )
        matches += [(table, row[0]) for row in rows]
    return matches


def group_of(database: Database, fingerprint: str) -> UUID | None:
    """Return the group of letters with a fingerprint; None: there is none. Transaction: own."""
    rows = database.call(
        "select id from remand.dead_letter_groups where fingerprint = %s limit 1", (fingerprint,)
    )
    return rows[0][0] if rows else None


def is_worker(database: Database, hostname: str) -> bool:
    """Return whether a worker has that name, alive or not long gone. Transaction: own."""
    return bool(database.call("select 1 from remand.workers where hostname = %s limit 1", (hostname,)))
