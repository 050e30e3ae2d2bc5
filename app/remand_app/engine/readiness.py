"""Check whether the service can do its work: the servers, the consumers of waiting work, beat. Only reads.

Each check is a value; none raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from remand.errors import RemandError
from remand.redact import redact_text
from remand_app.engine import overview
from remand_app.engine.engine import Engine
from remand_app.engine.overview import QueueStanding
from remand_app.engine.sweeps import status
from remand_app.engine.sweeps.runs import NOTE_SECONDS
from remand_app.engine.sweeps.status import SweepStatus
from remand_app.store import diagnosis, schema

BEAT_INTERVALS = 10
"""Missed ring sweeps after which beat counts as dead."""


@dataclass(frozen=True, slots=True)
class Check:
    """One condition that must hold."""

    name: str
    ok: bool
    message: str


def checks(engine: Engine) -> list[Check]:
    """Check everything that must run. Checks that need the database are left out while it is away."""
    results = [_tried("database", engine, _database)]
    if results[0].ok:
        results.append(_tried("schema", engine, _schema))
    results.append(_tried("broker", engine, _broker))
    if all(check.ok for check in results[:2]):
        results += [_tried("beat", engine, _beat), _tried("workers", engine, _workers)]
    return results


def sweep_patience(engine: Engine) -> float:
    """Return the seconds without a successful ring sweep after which retries count as asleep.

    A sweep that moved nothing is noted `NOTE_SECONDS` late.
    """
    return max(5.0, BEAT_INTERVALS * engine.settings.interval_seconds("ring")) + NOTE_SECONDS


def _tried(name: str, engine: Engine, look: Callable[[Engine], tuple[bool, str]]) -> Check:
    try:
        return Check(name, *look(engine))
    except RemandError as error:
        return Check(name, False, redact_text(error.message))


def _database(engine: Engine) -> tuple[bool, str]:
    return True, f"PostgreSQL {diagnosis.server_version(engine.database)} answers"


def _schema(engine: Engine) -> tuple[bool, str]:
    return True, f"revision {schema.check(engine.database)}"


def _broker(engine: Engine) -> tuple[bool, str]:
    engine.bell.check()
    return True, "answers"


def _beat(engine: Engine) -> tuple[bool, str]:
    ring = ring_sweep(engine)
    if ring.run is None:
        return False, "no sweep is seen: retries do not wake; start beat and a maintenance worker"
    return is_ringing(engine, ring), told_of(ring)


def ring_sweep(engine: Engine) -> SweepStatus:
    """Return the state of the ring sweep, which wakes retries and rings where work waits."""
    return next(sweep for sweep in status.sweeps(engine) if sweep.name == "ring")


def is_ringing(engine: Engine, ring: SweepStatus) -> bool:
    """Whether the ring sweep went well lately."""
    return ring.age_seconds is not None and ring.age_seconds <= sweep_patience(engine)


def told_of(ring: SweepStatus) -> str:
    """Return in words when the ring sweep last went well, and why it has not since."""
    age = ring.age_seconds
    well = "it never went well" if age is None else f"the last good sweep was {age:.1f} s ago"
    run = ring.run
    if run is None or not run.failures_in_a_row:
        return well
    return f"{well}, and it fails: {run.last_error}: {run.last_error_message}"


def _workers(engine: Engine) -> tuple[bool, str]:
    queues = overview.queues(engine)
    deaf = sorted(queue.queue for queue in queues if _is_unheard(queue))
    if deaf:
        return False, f"work waits where no worker listens: {', '.join(deaf)}"
    return True, f"{len(_names(queues))} workers; every queue with work has one"


def _is_unheard(queue: QueueStanding) -> bool:
    work = queue.work
    return bool(work.ready or work.failed or work.waiting) and not queue.workers and queue.paused is None


def _names(queues: Iterable[QueueStanding]) -> set[str]:
    return {name for queue in queues for name in queue.workers}
