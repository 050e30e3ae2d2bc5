"""Pages of dead letters as JSON text; the fields are those of `LetterRow`."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from remand_app.domain.dead_letter_filter import LetterFilter
from remand_app.domain.page import Page
from remand_app.store.database import Database
from remand_app.store.dead_letter_search import most_urgent, newest, total, urgency
from remand_app.store.dead_letters import ROW_COLUMNS
from remand_app.store.json_lines import line_of
from remand_app.store.tables import dead_letters

_LINE = line_of(dead_letters, ROW_COLUMNS)


def list_lines(database: Database, wanted: LetterFilter, *, after: str | None, limit: int) -> Page[str]:
    """As `letter_search.list_page`, each letter a JSON object. Transaction: own.

    Raises:
        InputInvalid: `after` is no cursor of this list.
    """
    rows = _read(database, newest(_select(), wanted, after).limit(limit + 1))
    return Page.of(
        rows, limit, after=after, cursor=lambda row: str(row.id), count=lambda: total(database, wanted)
    ).each(lambda row: str(row[0]))


def triage_lines(database: Database, wanted: LetterFilter, *, after: str | None, limit: int) -> Page[str]:
    """As `letter_search.triage_page`, each letter a JSON object. Transaction: own.

    Raises:
        InputInvalid: `after` is no cursor of this list.
    """
    rows = _read(database, most_urgent(_select(), wanted, after).limit(limit + 1))
    return Page.of(
        rows,
        limit,
        after=after,
        cursor=lambda row: urgency(row.triage_at, row.id),
        count=lambda: total(database, wanted),
    ).each(lambda row: str(row[0]))


def _read(database: Database, query: sa.Select[Any]) -> list[Any]:
    with database.reading() as connection:
        return list(connection.execute(query))


def _select() -> sa.Select[Any]:
    return sa.select(_LINE, dead_letters.c.id, dead_letters.c.triage_at).select_from(dead_letters)
