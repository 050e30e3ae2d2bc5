"""Pause and resume a queue: its work waits, running steps end, nothing is lost. Source: B4, A11."""

from __future__ import annotations

from difflib import get_close_matches

from remand_app.domain.errors import InputInvalid, QueueNotFound
from remand_app.domain.queues import BUILT_IN, COMMANDS, MAINTENANCE, STEPS
from remand_app.engine.engine import Engine
from remand_app.store import audit, pauses, queue_counts
from remand_app.store.audit import Entry
from remand_app.telemetry import log

_NEVER = (MAINTENANCE, COMMANDS)


def pause_queue(engine: Engine, queue: str, *, by: str, reason: str | None = None, via: str = "cli") -> bool:
    """Pause a queue: nothing more is claimed from it. False if it is paused already. Transaction: own.

    Raises:
        InputInvalid: the queue carries the sweeps or the verbs, without which nothing goes on.
        QueueNotFound: no such queue is known.
    """
    if queue in _NEVER:
        raise InputInvalid(
            f"queue {queue!r} cannot be paused: it carries the product's own sweeps and verbs",
            hint="pause the queues of steps, or those of retries",
            details={"queue": queue},
        )
    check_known(engine, queue)
    with engine.database.begin() as connection:
        now = engine.now(connection)
        changed = pauses.pause(connection, queue, by=by, reason=reason, now=now)
        if changed:
            entry = Entry("queue.pause", "queue", queue, before={"paused": False}, after={"paused": True})
            audit.record(connection, entry, by=by, via=via, reason=reason, now=now)
    if changed:
        log("queue.paused", queue=queue, by=by, reason=reason)
    return changed


def resume_queue(engine: Engine, queue: str, *, by: str, reason: str | None = None, via: str = "cli") -> bool:
    """Resume a queue and ring it; False if it is not paused. Transaction: own.

    Raises:
        QueueNotFound: no such queue is known.
    """
    with engine.database.begin() as connection:
        now = engine.now(connection)
        ended = pauses.resume(connection, queue, now)
        if ended is not None:
            before = {
                "paused": True,
                "since": ended.since.isoformat(),
                "by": ended.by,
                "reason": ended.reason,
            }
            entry = Entry("queue.resume", "queue", queue, before=before, after={"paused": False})
            audit.record(connection, entry, by=by, via=via, reason=reason, now=now)
    if ended is None:
        check_known(engine, queue)
        return False
    log("queue.resumed", queue=queue, by=by)
    engine.bell.ring([queue])
    return True


def check_step_queue(engine: Engine, queue: str) -> None:
    """Refuse a queue in which no step can run. Transaction: own.

    Raises:
        QueueNotFound: no published template has steps in it.
    """
    known = {STEPS, *queue_counts.step_queues(engine.database)}
    if queue not in known:
        raise _not_found(queue, known)


def check_known(engine: Engine, queue: str) -> None:
    """Refuse a queue that is neither built in nor named by a published template. Transaction: own.

    Raises:
        QueueNotFound: no such queue is known.
    """
    known = {*BUILT_IN, *queue_counts.step_queues(engine.database)}
    if queue in known:
        return
    raise _not_found(queue, known)


def _not_found(queue: str, known: set[str]) -> QueueNotFound:
    near = get_close_matches(queue, known, 1)
    return QueueNotFound(
        f"no queue {queue!r} is known",
        hint=f"did you mean {near[0]!r}?" if near else f"known are {', '.join(sorted(known))}",
        details={"queue": queue},
    )
