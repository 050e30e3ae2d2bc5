"""Say what a running redrive waits for: why, until when, and what can be done about it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.domain.redrive import ACTIVE, RedriveState
from app.domain.states import BreakerState
from app.engine.context import Engine
from app.store import redrive_forecast as facts
from app.store import redrive_waits, redrives
from app.store.redrive_waits import Waiting
from app.store.redrives import Redrive
from app.store.session import Connection

MOST = 10_000
"""Most sent letters that are looked at."""


@dataclass(frozen=True, slots=True)
class Wait:
    """One thing that letters of a redrive wait for."""

    letters: int
    why: str
    until: datetime | None
    """None: not known, or until somebody does something."""
    then: str | None
    """What happens at `until`."""
    verb: str | None
    """The command that ends the wait; None: it ends by itself."""


def waits(engine: Engine, connection: Connection, one: Redrive, now: datetime) -> tuple[Wait, ...]:
    """Return what a redrive waits for; nothing if it goes on, or if a person stopped it.

    Transaction: joins.
    """
    if one.state not in ACTIVE:
        return ()
    if one.state is RedriveState.PENDING:
        return tuple(_to_begin(engine, connection, one, now))
    found = redrive_waits.waiting(connection, one.id, now, MOST) if one.sent else []
    held = [each for each in found if each.breaker is not None]
    free = [each for each in found if each.breaker is None]
    return (
        *map(_breaker, held),
        *_queues(engine, connection, [each for each in free if each.is_due], now),
        *_retries(each for each in free if not each.is_due),
    )


def _to_begin(engine: Engine, connection: Connection, one: Redrive, now: datetime) -> Iterator[Wait]:
    if one.not_before is not None and now < one.not_before:
        yield Wait(one.waiting, "it was told to begin later", one.not_before, "it begins", None)
    if one.code_version is not None:
        since = now - timedelta(seconds=engine.settings.worker_gone_after_seconds)
        live, others = redrives.workers_running(connection, one.code_version, since)
        if live == 0 or others > 0:
            why = f"it begins once every live worker runs {one.code_version}: {live} do, {others} do not"
            yield Wait(one.waiting, why, None, None, None)


def _breaker(each: Waiting) -> Wait:
    verb = f"remand breaker close {shlex.quote(each.breaker or '')}"
    name = f"the breaker of {each.breaker}"
    match each.breaker_state:
        case BreakerState.OPEN if each.probe_at is None:
            return Wait(each.letters, f"{name} is open until somebody closes it", None, None, verb)
        case BreakerState.OPEN:
            return Wait(each.letters, f"{name} is open", each.probe_at, "it probes", verb)
        case BreakerState.HALF_OPEN:
            return Wait(each.letters, f"{name} probes now", None, None, verb)
        case _:
            reset = f"remand breaker reset {shlex.quote(each.breaker or '')}"
            return Wait(each.letters, f"{name} lets go of what it held, at its rate", None, None, reset)


def _queues(engine: Engine, connection: Connection, due: list[Waiting], now: datetime) -> Iterator[Wait]:
    if not due:
        return
    since = now - timedelta(seconds=engine.settings.worker_silent_after_seconds)
    at_rest = facts.queues_at_rest(connection, sorted({each.queue for each in due}), since)
    paused = redrive_waits.paused(connection, list(at_rest))
    for queue, why in sorted(at_rest.items()):
        letters = sum(each.letters for each in due if each.queue == queue)
        verb = "remand queue resume" if queue in paused else "remand worker -Q"
        yield Wait(letters, why, None, None, f"{verb} {shlex.quote(queue)}")


def _retries(later: Iterable[Waiting]) -> Iterator[Wait]:
    found = list(later)
    if found:
        letters = sum(each.letters for each in found)
        first = min(each.due_at for each in found)
        yield Wait(letters, "what failed again waits for its retry", first, "the first is tried", None)
