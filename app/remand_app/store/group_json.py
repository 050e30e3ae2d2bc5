"""Pages of groups of dead letters as JSON text: the fields are those of `Group`, and the trend."""

from __future__ import annotations

import json
from datetime import datetime

import sqlalchemy as sa

from remand_app.domain.group_filter import GroupFilter
from remand_app.domain.page import Page
from remand_app.store.database import Database
from remand_app.store.group_counts import trends
from remand_app.store.group_search import rank, ranked, total
from remand_app.store.groups import Group
from remand_app.store.json_lines import line_of
from remand_app.store.tables import dead_letter_groups

_LINE = line_of(dead_letter_groups, Group.__slots__)


def list_lines(
    database: Database, wanted: GroupFilter, now: datetime, *, after: str | None, limit: int
) -> Page[str]:
    """As `group_search.list_page`, each group a JSON object with its trend. Transaction: two short ones.

    Raises:
        InputInvalid: the cursor is none.
    """
    table = dead_letter_groups.c
    query = sa.select(_LINE, table.id, table.last_at, table.open_letters).select_from(dead_letter_groups)
    with database.reading() as connection:
        rows = list(connection.execute(ranked(query, wanted, after).limit(limit + 1)))
    page = Page.of(
        rows,
        limit,
        after=after,
        cursor=lambda row: rank(row.id, row.last_at, row.open_letters, wanted.order),
        count=lambda: total(database, wanted),
    )
    counted = trends(database, [row.id for row in page.items], now)
    return page.each(lambda row: f'{row[0][:-1]},"trend":{json.dumps(counted[row.id])}}}')
