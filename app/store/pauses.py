"""Paused queues: nothing is claimed from them, nothing in them is decided, nothing is lost."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from app.store.session import Database
from app.store.tables import pauses as table


@dataclass(frozen=True, slots=True)
class Pause:
    """A paused queue."""

    queue: str
    since: datetime
    by: str
    reason: str | None


def pause(connection: sa.Connection, queue: str, *, by: str, reason: str | None, now: datetime) -> bool:
    """Pause a queue; False if it is paused already. Transaction: joins. Idempotent."""
    row = connection.execute(
        insert(table)
        .values(queue=queue, since=now, by=by, reason=reason)
        .on_conflict_do_nothing()
        .returning(table.c.queue)
    )
    return row.first() is not None


def resume(connection: sa.Connection, queue: str) -> Pause | None:
    """End the pause of a queue and return it; None if it is not paused. Transaction: joins. Idempotent."""
    row = connection.execute(
        sa.delete(table)
        .where(table.c.queue == queue)
        .returning(table.c.queue, table.c.since, table.c.by, table.c.reason)
    ).first()
    return None if row is None else Pause(*row)


def pauses(database: Database) -> list[Pause]:
    """Return the paused queues by name. Transaction: own."""
    rows = database.call("select queue, since, by, reason from remand.pauses order by queue")
    return [Pause(*row) for row in rows]
