"""Paused queues: nothing is claimed from them, nothing in them is decided, nothing is lost."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from app.clock import Clock
from app.store.session import Database


@dataclass(frozen=True, slots=True)
class Pause:
    """A paused queue."""

    queue: str
    since: datetime
    by: str
    reason: str | None


def pause(database: Database, clock: Clock, queue: str, *, by: str, reason: str | None) -> bool:
    """Pause a queue; False if it is paused already. Transaction: own. Idempotent."""
    rows = database.call(
        "insert into remand.pauses (queue, since, by, reason)"
        " values (%s, coalesce(%s, clock_timestamp()), %s, %s) on conflict do nothing returning 1",
        (queue, clock.fixed(), by, reason),
    )
    return bool(rows)


def resume(database: Database, queue: str) -> bool:
    """End the pause of a queue; False if it is not paused. Transaction: own. Idempotent."""
    return bool(database.call("delete from remand.pauses where queue = %s returning 1", (queue,)))


def pauses(database: Database) -> list[Pause]:
    """Return the paused queues by name. Transaction: own."""
    rows = database.call("select queue, since, by, reason from remand.pauses order by queue")
    return [Pause(*row) for row in rows]
