"""Redrives as stored: the order, where it stands, its exact set. Rows are read as values."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from remand_app.domain.dead_letter_filter import LetterFilter
from remand_app.domain.errors import InputInvalid, RedriveNotFound
from remand_app.domain.page import Page
from remand_app.domain.redrive import ACTIVE, Redrive, RedriveState, RedriveVerb
from remand_app.store.counting import count_rows
from remand_app.store.database import Connection, Database
from remand_app.store.dead_letter_search import matching
from remand_app.store.ids import new_id
from remand_app.store.tables import dead_letters, redrive_items, redrives


def insert_redrive(connection: Connection, **values: Any) -> UUID:
    """Store an order without its set; return its id. Transaction: joins."""
    redrive_id = new_id()
    connection.execute(sa.insert(redrives).values(id=redrive_id, **values))
    return redrive_id


def fix_set(connection: Connection, redrive_id: UUID, wanted: LetterFilter, now: datetime) -> None:
    """Write down which letters an order is about, oldest first, and count them. Transaction: joins.

    Ids that the filter names but its other conditions exclude are kept with the reason; so are unknown ids.
    """
    letters = dead_letters.c
    chosen = (
        sa.select(
            sa.literal(redrive_id, sa.Uuid),
            sa.func.row_number().over(order_by=letters.id),
            letters.id,
            letters.workflow_id,
            sa.literal("waiting"),
            sa.literal(now, sa.DateTime(timezone=True)),
        )
        .where(*matching(wanted))
        .order_by(letters.id)
    )
    names = ["redrive_id", "position", "letter_id", "workflow_id", "state", "at"]
    connection.execute(sa.insert(redrive_items).from_select(names, chosen))
    if wanted.ids:
        connection.execute(sa.text(_LEFT_OUT), {"id": redrive_id, "ids": list(wanted.ids), "now": now})
    connection.execute(sa.text(_COUNT), {"id": redrive_id})


def get_redrive(database: Database, redrive_id: UUID) -> Redrive:
    """Read an order. Transaction: own.

    Raises:
        RedriveNotFound: none has that id.
    """
    with database.begin() as connection:
        return _one(connection.execute(_select().where(redrives.c.id == redrive_id)).first(), redrive_id)


def lock_redrive(connection: Connection, redrive_id: UUID, *, wait: bool = True) -> Redrive | None:
    """Lock an order and return it; None if somebody has it and `wait` is False. Transaction: joins.

    Raises:
        RedriveNotFound: none has that id (only with `wait`).
    """
    query = _select().where(redrives.c.id == redrive_id).with_for_update(skip_locked=not wait)
    row = connection.execute(query).first()
    return None if row is None and not wait else _one(row, redrive_id)


def read_locked(connection: Connection, redrive_id: UUID) -> Redrive:
    """Read an order again that the caller has locked and changed. Transaction: joins."""
    return _redrive(connection.execute(_select().where(redrives.c.id == redrive_id)).one())


def change_redrive(connection: Connection, redrive_id: UUID, **values: Any) -> None:
    """Change columns of an order that the caller has locked. Transaction: joins."""
    connection.execute(sa.update(redrives).where(redrives.c.id == redrive_id).values(**values))


def list_page(
    database: Database, *, states: tuple[str, ...] = (), after: str | None = None, limit: int = 50
) -> Page[Redrive]:
    """Return orders, newest first, those behind `after`; without states all but those never started.

    Transaction: own.

    Raises:
        InputInvalid: `after` is no cursor.
    """
    state = redrives.c.state
    wanted = state.in_(states) if states else state != RedriveState.PLANNED
    query = _select().where(wanted)
    if after is not None:
        query = query.where(redrives.c.id < _cursor(after))
    with database.begin() as connection:
        rows = connection.execute(query.order_by(redrives.c.id.desc()).limit(limit + 1)).all()
    items = [_redrive(row) for row in rows]
    return Page.of(
        items,
        limit,
        after=after,
        cursor=lambda redrive: str(redrive.id),
        count=lambda: count_rows(database, redrives, [], [wanted]),
    )


def active_ids(database: Database) -> list[UUID]:
    """Return the orders that sweeps move on, oldest first. Transaction: own."""
    query = sa.select(redrives.c.id).where(redrives.c.state.in_(ACTIVE)).order_by(redrives.c.id)
    with database.begin() as connection:
        return list(connection.scalars(query))


def forget_plans(database: Database, planned_before: datetime) -> int:
    """Delete plans that nobody started; return how many. Transaction: own. Idempotent."""
    table = redrives.c
    statement = sa.delete(redrives).where(
        table.state == RedriveState.PLANNED, table.planned_at < planned_before
    )
    with database.begin() as connection:
        return connection.execute(statement).rowcount


def workers_running(connection: Connection, code_version: str, alive_since: datetime) -> tuple[int, int]:
    """Return how many live workers run this version of the code, and how many another. Transaction: joins."""
    row = connection.execute(
        sa.text(
            """
            select count(*) filter (where code_version = :version),
                   count(*) filter (where code_version is distinct from :version)
              from remand.workers
             where stopped_at is null
               and heartbeat_at >= :since
            """
        ),
        {"version": code_version, "since": alive_since},
    ).one()
    return row[0], row[1]


_LEFT_OUT = """
insert into remand.redrive_items (redrive_id, position, letter_id, workflow_id, state, reason, at)
select :id,
       (select count(*) from remand.redrive_items where redrive_id = :id)
         + row_number() over (order by asked.place),
       asked.id, letter.workflow_id,
       case when letter.id is null then 'not_found' else 'skipped' end,
       case when letter.id is null then 'no dead letter has this id'
            when letter.closed_at is not null
              then format('closed as %s by %s', letter.status, letter.closed_by)
            else 'is not what the rest of the filter asks for'
       end,
       :now
  from (select given.id, min(given.place) as place
          from unnest(cast(:ids as uuid[])) with ordinality given(id, place)
         group by given.id) asked
  left join remand.dead_letters letter on letter.id = asked.id
 where not exists (
         select
           from remand.redrive_items item
          where item.redrive_id = :id
            and item.letter_id = asked.id)
"""
_COUNT = """
update remand.redrives redrive
   set total = counted.total, waiting = counted.waiting, skipped = counted.skipped,
       not_found = counted.missing
  from (select count(*) as total,
               count(*) filter (where item.state = 'waiting') as waiting,
               count(*) filter (where item.state = 'skipped') as skipped,
               count(*) filter (where item.state = 'not_found') as missing
          from remand.redrive_items item
         where item.redrive_id = :id) counted
 where redrive.id = :id
"""


def _select() -> sa.Select[Any]:
    return sa.select(*(redrives.c[name] for name in Redrive.__slots__))


def _one(row: Any, redrive_id: UUID) -> Redrive:
    if row is None:
        raise RedriveNotFound(f"no redrive {redrive_id}", hint="see `remand dlq redrive list`")
    return _redrive(row)


def _redrive(row: Any) -> Redrive:
    values = row._asdict()
    values["state"], values["verb"] = RedriveState(values["state"]), RedriveVerb(values["verb"])
    return Redrive(**values)


def _cursor(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise InputInvalid(f"{text!r} is no cursor", hint="take `next` of the page before") from None
