"""What becomes of each letter of a redrive: the next to be sent, what was done with it, how it ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from remand_app.domain.errors import InputInvalid
from remand_app.domain.page import Page
from remand_app.domain.redrive import Item, ItemState, NewError
from remand_app.store.counting import count_rows
from remand_app.store.database import Connection, Database
from remand_app.store.driver_errors import Ending, ending_of
from remand_app.store.tables import redrive_items


@dataclass(frozen=True, slots=True)
class Requeued:
    """What became of a batch: steps sent back by letter, reasons of those left alone, queues to ring."""

    sent: Mapping[UUID, list[str]]
    skipped: Mapping[UUID, str]
    queues: list[str]
    at: datetime | None


@dataclass(frozen=True, slots=True)
class Followed:
    """How many unfinished letters were looked at, up to which position, and how many had ended."""

    looked: int
    last: int
    succeeded: int
    failed: int


def items_page(
    database: Database,
    redrive_id: UUID,
    *,
    states: Sequence[str] = (),
    after: str | None = None,
    limit: int = 50,
) -> Page[Item]:
    """Return letters of a redrive in order, those behind `after`. Transaction: own.

    Raises:
        InputInvalid: `after` is no cursor.
    """
    columns = redrive_items.c
    wanted = [columns.redrive_id == redrive_id, *([columns.state.in_(states)] if states else [])]
    query = sa.select(*(columns[name] for name in Item.__slots__)).where(*wanted)
    if after is not None:
        query = query.where(columns.position > _cursor(after))
    with database.begin() as connection:
        rows = connection.execute(query.order_by(columns.position).limit(limit + 1)).all()
    items = [_item(row) for row in rows]
    return Page.of(
        items,
        limit,
        after=after,
        cursor=lambda item: str(item.position),
        count=lambda: count_rows(database, redrive_items, wanted[:1], wanted[1:]),
    )


def next_waiting(connection: Connection, redrive_id: UUID, limit: int) -> list[UUID]:
    """Return the letters to be sent next. Transaction: joins the one that holds the redrive."""
    columns = redrive_items.c
    query = (
        sa.select(columns.letter_id)
        .where(columns.redrive_id == redrive_id, columns.state == "waiting")
        .order_by(columns.position)
        .limit(limit)
    )
    return list(connection.scalars(query))


def requeue_letters(
    connection: Connection,
    ids: Sequence[UUID],
    *,
    by: str,
    reason: str | None,
    via: str,
    redrive_id: UUID | None = None,
    include_claimed: bool = True,
    queue: str | None = None,
    priority: int | None = None,
    now: datetime | None = None,
) -> Requeued:
    """Requeue letters, all in this transaction; ring the queues after its commit. Transaction: joins.

    Idempotent: a letter that is closed is left alone. A letter that Postgres refuses is left alone, too, with
    the server's message as the reason, and does not hold up the others.
    """
    arguments = {
        "by": by, "reason": reason, "via": via, "redrive": redrive_id, "claimed": include_claimed,
        "queue": queue, "priority": priority, "now": now,
    }  # fmt: skip
    return _requeue(connection, list(ids), arguments)


def _requeue(connection: Connection, ids: list[UUID], arguments: dict[str, Any]) -> Requeued:
    try:
        with connection.begin_nested():
            return _call(connection, ids, arguments)
    except _REFUSED as refusal:
        how = ending_of(refusal)
        if how is not None and how.ending is not Ending.VALUE:
            raise
        if len(ids) == 1:
            why = str(refusal.orig).partition("\n")[0]
            return Requeued({}, {ids[0]: f"refused by Postgres: {why}"}, [], None)
    half = len(ids) // 2
    first, second = (_requeue(connection, part, arguments) for part in (ids[:half], ids[half:]))
    return Requeued(
        {**first.sent, **second.sent},
        {**first.skipped, **second.skipped},
        [*first.queues, *second.queues],
        first.at or second.at,
    )


def _call(connection: Connection, ids: list[UUID], arguments: dict[str, Any]) -> Requeued:
    rows = connection.execute(
        sa.text(
            """
            select *
              from remand.requeue_letters(:ids, :by, :reason, :via, :redrive, :claimed, :queue, :priority,
                                          :now)
            """
        ),
        {"ids": ids, **arguments},
    ).all()
    return Requeued(
        {row.letter_id: row.steps for row in rows if row.kind == "requeued"},
        {row.letter_id: row.detail for row in rows if row.kind == "skipped"},
        [row.detail for row in rows if row.kind == "ring"],
        rows[0].at if rows else None,
    )


def mark(
    connection: Connection,
    redrive_id: UUID,
    state: ItemState,
    letters: Mapping[UUID, Any],
    *,
    reasons: bool = False,
    now: datetime,
) -> None:
    """Move waiting letters on; `letters`: letter → steps sent back, or (`reasons`) why.

    Transaction: joins.
    """
    if not letters:
        return
    sent = "cast(:now as timestamptz)" if state in _SENT else "null"
    value = "reason = given.value" if reasons else "steps = string_to_array(nullif(given.value, ''), ',')"
    connection.execute(
        sa.text(
            f"""
            update remand.redrive_items item
               set state = :state, at = :now, sent_at = {sent}, {value}
              from unnest(cast(:ids as uuid[]), cast(:values as text[])) given(id, value)
             where item.redrive_id = :redrive
               and item.letter_id = given.id
               and item.state = 'waiting'
            """
        ),
        {
            "state": state, "now": now, "redrive": redrive_id, "ids": list(letters),
            "values": list(letters.values()) if reasons else [",".join(steps) for steps in letters.values()],
        },
    )  # fmt: skip


def follow(connection: Connection, redrive_id: UUID, after: int, limit: int, now: datetime) -> Followed:
    """See how letters that were sent have ended. Transaction: joins the one that holds the redrive."""
    row = connection.execute(
        sa.text("select * from remand.collect_redrive_outcomes(:id, :after, :limit, :now)"),
        {"id": redrive_id, "after": after, "limit": limit, "now": now},
    ).one()
    return Followed(row.looked, row.last or 0, row.succeeded, row.failed)


def new_errors(connection: Connection, redrive_id: UUID, limit: int = 5) -> list[NewError]:
    """Return what letters of a redrive failed with again, the most frequent first. Transaction: joins."""
    rows = connection.execute(
        sa.text(
            """
            select letter.error_class || ': ' || split_part(min(letter.error_message), E'\\n', 1) as error,
                   count(*) as letters,
                   (array_agg(letter.id order by item.position))[1] as letter_id,
                   letter.group_id
              from remand.redrive_items item
              join remand.dead_letters letter on letter.id = item.new_letter_id
             where item.redrive_id = :id
               and item.state = 'failed'
             group by letter.group_id, letter.error_class
             order by 2 desc, 1
             limit :limit
            """
        ),
        {"id": redrive_id, "limit": limit},
    ).all()
    return [NewError(row.error, row.letters, row.letter_id, row.group_id) for row in rows]


def sent_lately(connection: Connection, redrive_id: UUID, now: datetime, seconds: float) -> int:
    """Return how many letters were dealt with in the last seconds. Transaction: joins."""
    columns = redrive_items.c
    query = sa.select(sa.func.count()).where(
        columns.redrive_id == redrive_id, columns.sent_at > now - timedelta(seconds=seconds)
    )
    return connection.scalar(query) or 0


_REFUSED = (sa.exc.IntegrityError, sa.exc.DataError, sa.exc.InternalError)
_LONGEST_CURSOR = 18
_SENT = (ItemState.SENT, ItemState.SUCCEEDED, ItemState.FAILED)


def _item(row: Any) -> Item:
    values = row._asdict()
    values["state"] = ItemState(values["state"])
    return Item(**values)


def _cursor(text: str) -> int:
    if not text.isdecimal() or len(text) > _LONGEST_CURSOR:
        raise InputInvalid(f"{text!r} is no cursor", hint="take `next` of the page before")
    return int(text)
