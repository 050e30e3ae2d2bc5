"""Say what a running redrive waits for: why, until when, and what can be done about it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from remand_app.domain.redrive import ACTIVE, Redrive, RedriveState
from remand_app.domain.states import BreakerState
from remand_app.engine.engine import Engine
from remand_app.store import redrive_forecast as facts
from remand_app.store import redrive_waits, redrives
from remand_app.store.database import Connection
from remand_app.store.redrive_waits import Waiting

MOST = 10_000
"""Most sent letters that are looked at."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Something that letters of a redrive wait for."""

    letters: int
    why: str
    until: datetime | None
    """None: not known, or until somebody does something."""
    then: str | None
    """What happens at `until`."""
    verb: str | None
    """The command that ends the wait; None: it ends by itself."""


def waits(engine: Engine, connection: Connection, redrive: Redrive, now: datetime) -> tuple[Wait, ...]:
    """Return what a redrive waits for; nothing if it goes on, or if a person stopped it.

    Transaction: joins.
    """
    if redrive.state not in ACTIVE:
        return ()
    if redrive.state is RedriveState.PENDING:
        return tuple(_to_begin(engine, connection, redrive, now))
    everything = redrive_waits.waiting(connection, redrive.id, now, MOST) if redrive.sent else []
    held = [waiting for waiting in everything if waiting.breaker is not None]
    free = [waiting for waiting in everything if waiting.breaker is None]
    return (
        *map(_breaker, held),
        *_queues(engine, connection, [waiting for waiting in free if waiting.is_due], now),
        *_retries(waiting for waiting in free if not waiting.is_due),
    )


def _to_begin(engine: Engine, connection: Connection, redrive: Redrive, now: datetime) -> Iterator[Wait]:
    if redrive.not_before is not None and now < redrive.not_before:
        yield Wait(redrive.waiting, "it was told to begin later", redrive.not_before, "it begins", None)
    if redrive.code_version is not None:
        since = now - timedelta(seconds=engine.settings.worker_gone_after_seconds)
        live, others = redrives.workers_running(connection, redrive.code_version, since)
        if live == 0 or others > 0:
            why = f"it begins once every live worker runs {redrive.code_version}: {live} do, {others} do not"
            yield Wait(redrive.waiting, why, None, None, None)


def _breaker(waiting: Waiting) -> Wait:
    verb = f"remand breaker close {shlex.quote(waiting.breaker or '')}"
    name = f"the breaker of {waiting.breaker}"
    match waiting.breaker_state:
        case BreakerState.OPEN if waiting.probe_at is None:
            return Wait(waiting.letters, f"{name} is open until somebody closes it", None, None, verb)
        case BreakerState.OPEN:
            return Wait(waiting.letters, f"{name} is open", waiting.probe_at, "it probes", verb)
        case BreakerState.HALF_OPEN:
            return Wait(waiting.letters, f"{name} probes now", None, None, verb)
        case _:
            reset = f"remand breaker reset {shlex.quote(waiting.breaker or '')}"
            return Wait(waiting.letters, f"{name} lets go of what it held, at its rate", None, None, reset)


def _queues(engine: Engine, connection: Connection, due: list[Waiting], now: datetime) -> Iterator[Wait]:
    if not due:
        return
    since = now - timedelta(seconds=engine.settings.worker_silent_after_seconds)
    at_rest = facts.queues_at_rest(connection, sorted({waiting.queue for waiting in due}), since)
    paused = redrive_waits.paused(connection, list(at_rest))
    for queue, why in sorted(at_rest.items()):
        letters = sum(waiting.letters for waiting in due if waiting.queue == queue)
        verb = "remand queue resume" if queue in paused else "remand worker -Q"
        yield Wait(letters, why, None, None, f"{verb} {shlex.quote(queue)}")


def _retries(later: Iterable[Waiting]) -> Iterator[Wait]:
    retries = list(later)
    if retries:
        letters = sum(waiting.letters for waiting in retries)
        first = min(waiting.due_at for waiting in retries)
        yield Wait(letters, "what failed again waits for its retry", first, "the first is tried", None)
