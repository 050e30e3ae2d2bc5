"""Pages of groups of dead letters as JSON text: the fields are those of `Group`, and the trend."""

from __future__ import annotations

import json
from datetime import datetime

import sqlalchemy as sa

from app.store.groups import Group, GroupFilter, rank, ranked, trends
from app.store.letter_search import Page
from app.store.lines import line_of
from app.store.session import Database
from app.store.tables import dead_letter_groups

_LINE = line_of(dead_letter_groups, Group.__slots__)


def list_lines(
    database: Database, wanted: GroupFilter, now: datetime, *, after: str | None, limit: int
) -> Page[str]:
    """As `groups.list_page`, each group a JSON object with its trend. Transaction: two short ones.

    Raises:
        InputInvalid: the cursor is none, or the order is unknown.
    """
    table = dead_letter_groups.c
    query = sa.select(_LINE, table.id, table.last_at, table.open_letters).select_from(dead_letter_groups)
    with database.reading() as connection:
        rows = list(connection.execute(ranked(query, wanted, after).limit(limit + 1)))
    last = rows[limit - 1] if len(rows) > limit else None
    after = None if last is None else rank(last.id, last.last_at, last.open_letters, wanted.order)
    counted = trends(database, [row.id for row in rows[:limit]], now)
    return Page([f'{row[0][:-1]},"trend":{json.dumps(counted[row.id])}}}' for row in rows[:limit]], after)
