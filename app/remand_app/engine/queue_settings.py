"""Settings of a plain queue: where its letters go, and when its workflows expire. Source: C5, C14."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from remand_app.domain.dead_letters import DEFAULT_QUEUE
from remand_app.domain.errors import InputInvalid
from remand_app.engine.dead_queues import chained, check_name, not_found
from remand_app.engine.engine import Engine
from remand_app.engine.operate import Who
from remand_app.store import audit, dead_queues
from remand_app.store.audit import Entry
from remand_app.store.database import Connection
from remand_app.telemetry import log

_LONGEST_SECONDS = 31_622_400


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """The settings of one queue."""

    queue: str
    dead_queue: str = DEFAULT_QUEUE
    """Where letters of its steps go, unless their template says otherwise."""
    expire_after_seconds: float | None = None
    """Age at which workflows that begin in it become dead letters; None: never."""


def queue_settings(engine: Engine, queue: str) -> QueueSettings:
    """Return the settings of a queue; a queue that nobody ever set has the defaults. Transaction: own."""
    with engine.database.begin() as connection:
        return _found(connection, queue)


def set_queue(
    engine: Engine,
    queue: str,
    who: Who,
    *,
    dead_queue: str | None = None,
    expire_after_seconds: float | None = None,
) -> bool:
    """Set where letters of a queue's steps go and when its workflows expire; False: nothing changed.

    None leaves a setting as it was; 0 seconds: never. Existing letters stay where they are; an age counts for
    workflows submitted from then on. Both settings are stored, or none. Transaction: own.

    Raises:
        InputInvalid: no step can run in a queue of that name, or the age is none.
        DeadQueueNotFound: there is none of that name.
        DeadQueueChained: the queue is the dead queue itself, or another one.
    """
    check_name(queue)
    _check_age(expire_after_seconds)
    with engine.database.begin() as connection:
        dead_queues.lock(connection)
        before = _found(connection, queue)
        now = engine.now(connection)
        changed: dict[str, Any] = {}
        if dead_queue is not None:
            _check_place(connection, queue, dead_queue)
            changed |= _place(connection, before, dead_queue, who.by, now)
        if expire_after_seconds is not None:
            changed |= _expiry(connection, before, expire_after_seconds or None, who.by, now)
        if changed:
            old = {name: getattr(before, name) for name in changed}
            entry = Entry("queue.set", "queue", queue, before=old, after=changed)
            audit.record(connection, entry, by=who.by, via=who.via, reason=who.reason, now=now)
    if changed:
        log("queue.set", queue=queue, changed=sorted(changed), by=who.by, reason=who.reason)
    return bool(changed)


def _found(connection: Connection, queue: str) -> QueueSettings:
    place = dead_queues.setting_of(connection, queue) or DEFAULT_QUEUE
    return QueueSettings(queue, place, dead_queues.expiry_of(connection, queue))


def _place(
    connection: Connection, before: QueueSettings, dead_queue: str, by: str, now: datetime
) -> dict[str, Any]:
    if before.dead_queue == dead_queue:
        return {}
    wanted = None if dead_queue == DEFAULT_QUEUE else dead_queue
    dead_queues.point(connection, before.queue, wanted, by=by, now=now)
    return {"dead_queue": dead_queue}


def _expiry(
    connection: Connection, before: QueueSettings, seconds: float | None, by: str, now: datetime
) -> dict[str, Any]:
    if before.expire_after_seconds == seconds:
        return {}
    dead_queues.let_expire(connection, before.queue, seconds, by=by, now=now)
    return {"expire_after_seconds": seconds}


def _check_age(seconds: float | None) -> None:
    if seconds is not None and not 0 <= seconds <= _LONGEST_SECONDS:
        raise InputInvalid(f"an age is 0 to {_LONGEST_SECONDS} seconds, 0 for never, not {seconds:g}")


def _check_place(connection: Connection, queue: str, dead_queue: str) -> None:
    if queue == dead_queue:
        raise chained(f"queue {queue!r} cannot be its own dead queue", queue)
    if dead_queues.exists(connection, queue):
        raise chained(f"{queue!r} is a dead queue: it has no dead queue itself", queue)
    if not dead_queues.exists(connection, dead_queue):
        raise not_found(dead_queue)
