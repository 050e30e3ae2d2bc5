"""Find dead letters: pages of the newest, or of what is most urgent, and how many there are.

Every page is a range of an index: there is one for the order of open letters, and one for each common filter
of them. Text, labels and other filters without an index are looked for among the newest rows, so a page may
say that others may follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from remand_app.domain.dead_letter_filter import OPEN, LetterFilter
from remand_app.domain.errors import InputInvalid, InstantInvalid
from remand_app.domain.instants import read_instant
from remand_app.domain.page import Page
from remand_app.domain.states import DeadLetterStatus
from remand_app.store.conditions import conditions
from remand_app.store.counting import count_rows
from remand_app.store.database import Database
from remand_app.store.dead_letters import ROW_COLUMNS, LetterRow
from remand_app.store.tables import dead_letters

_NOT_INDEXED = (
    "version", "step", "handler", "queue", "claimed_by", "label", "text", "opened_from", "opened_before",
)  # fmt: skip
_INDEXED_IF_OPEN = ("namespace", "template", "error_class", "dead_queue")


def matching(wanted: LetterFilter) -> list[sa.ColumnElement[bool]]:
    """Return the conditions of a filter on `dead_letters`; none for one that asks for everything."""
    made = conditions(dead_letters, replace(wanted, statuses=()))
    statuses = tuple(str(status) for status in wanted.statuses)
    if set(statuses) == set(OPEN):
        # In the words of the partial indexes: Postgres does not know that a parameter means the same.
        made.append(sa.literal_column("dead_letters.status in ('pending', 'investigating')", sa.Boolean))
    elif statuses:
        made.append(dead_letters.c.status.in_(statuses))
    return made


def list_page(
    database: Database, wanted: LetterFilter, *, after: str | None = None, limit: int = 50
) -> Page[LetterRow]:
    """Return a page of the letters that fit, newest first. Transaction: own.

    Raises:
        InputInvalid: `after` is no cursor of this list.
    """
    rows = _read(database, newest(_select(), wanted, after).limit(limit + 1))
    return Page.of(
        rows, limit, after=after, cursor=lambda letter: str(letter.id), count=lambda: total(database, wanted)
    )


def triage_page(
    database: Database, wanted: LetterFilter, *, after: str | None = None, limit: int = 50
) -> Page[LetterRow]:
    """Return a page of the open letters that fit, most urgent first. Transaction: own.

    Raises:
        InputInvalid: `after` is no cursor of this list.
    """
    rows = _read(database, most_urgent(_select(), wanted, after).limit(limit + 1))
    return Page.of(
        rows,
        limit,
        after=after,
        cursor=lambda letter: urgency(letter.triage_at, letter.id),
        count=lambda: total(database, wanted),
    )


def newest(query: sa.Select[Any], wanted: LetterFilter, after: str | None) -> sa.Select[Any]:
    """Return a query of letters, narrowed to those that fit, newest first, behind a cursor.

    Raises:
        InputInvalid: `after` is no cursor of this list.
    """
    query = query.where(*matching(wanted)).order_by(dead_letters.c.id.desc())
    return query if after is None else query.where(dead_letters.c.id < _id(after))


def most_urgent(query: sa.Select[Any], wanted: LetterFilter, after: str | None) -> sa.Select[Any]:
    """Return a query of letters, narrowed to those that fit, most urgent first, behind a cursor.

    Raises:
        InputInvalid: `after` is no cursor of this list.
    """
    columns = dead_letters.c
    query = query.where(*matching(wanted)).order_by(columns.triage_at, columns.id)
    if after is None:
        return query
    at, _, last = after.partition("_")
    place = sa.tuple_(sa.literal(_at(at)), sa.literal(_id(last)))
    return query.where(sa.tuple_(columns.triage_at, columns.id) > place)


def urgency(triage_at: datetime, letter_id: UUID) -> str:
    """Return the cursor of a letter in the list of the most urgent ones."""
    return f"{triage_at.isoformat()}_{letter_id}"


def count(database: Database, wanted: LetterFilter, *, at_most: int = 10_000) -> int:
    """Return how many letters fit; counting stops at `at_most`. Transaction: own."""
    some = sa.select(sa.literal(1)).select_from(dead_letters).where(*matching(wanted)).limit(at_most)
    with database.begin() as connection:
        return int(connection.scalar(sa.select(sa.func.count()).select_from(some.subquery())) or 0)


def total(database: Database, wanted: LetterFilter) -> int | None:
    """Return how many letters fit; None where there are too many to look at. Transaction: own."""
    unindexed: Any = dict.fromkeys(_NOT_INDEXED)
    if set(wanted.statuses) != set(OPEN):
        unindexed |= {**dict.fromkeys(_INDEXED_IF_OPEN), "reasons": ()}
    elif wanted.template is None:
        unindexed["namespace"] = None
    among = replace(wanted, **unindexed, categories=())
    return count_rows(database, dead_letters, matching(among), matching(wanted))


def _select() -> sa.Select[Any]:
    return sa.select(*(dead_letters.c[name] for name in ROW_COLUMNS))


def _read(database: Database, query: sa.Select[Any]) -> list[LetterRow]:
    with database.reading() as connection:
        rows: Sequence[Any] = connection.execute(query).all()
    return [LetterRow(**{**row._asdict(), "status": DeadLetterStatus(row.status)}) for row in rows]


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise InputInvalid("this is no cursor of this list", hint="begin without one") from None


def _at(text: str) -> datetime:
    try:
        return read_instant(text)
    except InstantInvalid:
        raise InputInvalid("this is no cursor of this list", hint="begin without one") from None
