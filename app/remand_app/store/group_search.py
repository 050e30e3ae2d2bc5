"""Find groups of dead letters: pages of those with the newest letters, or the most open ones; how many."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from remand_app.domain.errors import InputInvalid, InstantInvalid
from remand_app.domain.group_filter import OPEN, GroupFilter
from remand_app.domain.instants import read_instant
from remand_app.domain.page import Page
from remand_app.store.conditions import conditions
from remand_app.store.counting import count_rows
from remand_app.store.database import Database
from remand_app.store.groups import COLUMNS, Group, made
from remand_app.store.tables import dead_letter_groups

_LONGEST_CURSOR = 18
_OPEN_ONES = GroupFilter()
_ORDERS = {"recent": dead_letter_groups.c.last_at, "largest": dead_letter_groups.c.open_letters}


def list_page(
    database: Database, wanted: GroupFilter = _OPEN_ONES, *, after: str | None = None, limit: int = 50
) -> Page[Group]:
    """Return a page of groups in the order that is asked for. Transaction: own.

    Raises:
        InputInvalid: the cursor is none.
    """
    with database.reading() as connection:
        rows = [
            made(row)
            for row in connection.execute(ranked(sa.select(*COLUMNS), wanted, after).limit(limit + 1))
        ]
    return Page.of(
        rows,
        limit,
        after=after,
        cursor=lambda group: rank(group.id, group.last_at, group.open_letters, wanted.order),
        count=lambda: total(database, wanted),
    )


def total(database: Database, wanted: GroupFilter) -> int | None:
    """Return how many groups are wanted; None where there are too many to look at. Transaction: own."""
    states, others = _matching(wanted)
    return count_rows(database, dead_letter_groups, states, others)


def ranked(query: sa.Select[Any], wanted: GroupFilter, after: str | None) -> sa.Select[Any]:
    """Return a query of groups, narrowed to those that are wanted, in their order, behind a cursor.

    Raises:
        InputInvalid: the cursor is none.
    """
    table = dead_letter_groups.c
    key = _ORDERS[wanted.order]
    states, others = _matching(wanted)
    query = query.where(*states, *others).order_by(key.desc(), table.id.desc())
    return query if after is None else query.where(sa.tuple_(key, table.id) < _place(after, wanted.order))


def rank(group_id: UUID, last_at: datetime, open_letters: int, order: str) -> str:
    """Return the cursor of a group in a list of that order."""
    return f"{last_at.isoformat() if order == 'recent' else open_letters}_{group_id}"


def _matching(wanted: GroupFilter) -> tuple[list[sa.ColumnElement[bool]], list[sa.ColumnElement[bool]]]:
    """Return the conditions that an index answers, and the others."""
    states = conditions(dead_letter_groups, GroupFilter(states=wanted.states))
    if set(wanted.states) == set(OPEN):
        # In the words of the partial indexes: Postgres does not know that a parameter means the same.
        states = [sa.literal_column("dead_letter_groups.state in ('open', 'investigating')", sa.Boolean)]
    return states, conditions(dead_letter_groups, replace(wanted, states=()))


def _place(after: str, order: str) -> sa.Tuple:
    value, _, last = after.partition("_")
    try:
        key: object = read_instant(value) if order == "recent" else int(value[:_LONGEST_CURSOR])
        return sa.tuple_(sa.literal(key), sa.literal(UUID(last)))
    except (ValueError, InstantInvalid):
        raise InputInvalid("this is no cursor of this list", hint="begin without one") from None
