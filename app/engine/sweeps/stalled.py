"""Stalled sweep: what waits for a worker that never comes, and what can never start, becomes a dead letter.

Two at once share the work: each workflow is locked by one of them. Source: C1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from app.domain.states import DeadReason
from app.engine.context import Engine
from app.engine.fail import Died
from app.engine.taking_out import Cause, log_taken, take_out
from app.store import taking_out
from app.store.session import Connection
from app.telemetry import log

BATCH = 200
_BY: Final = "sweep.stalled"
UNHEARD: Final = Cause(
    DeadReason.WORKER_UNAVAILABLE,
    "remand.errors.WorkerUnavailable",
    "no worker consumes the queue of the step",
)
STILL: Final = Cause(
    DeadReason.DEPENDENCY_CYCLE_DETECTED,
    "remand.errors.NeverReady",
    "nothing of the workflow can ever start: its steps wait for each other, or for what is not there",
)


@dataclass(frozen=True, slots=True)
class Swept:
    """What one sweep did."""

    unheard: int
    """Steps whose queue nobody consumes."""
    still: int
    """Workflows that stood still for ever."""

    @property
    def moved(self) -> int:
        """How much was moved."""
        return self.unheard + self.still


def stalled(engine: Engine, batch: int = BATCH) -> Swept:
    """Sweep once, in batches until nothing is left. Transaction: one a batch.

    Idempotent: what was taken out of work is no longer in it.
    """

    def unheard(connection: Connection, now: datetime) -> Died:
        since = now - timedelta(seconds=engine.settings.worker_unavailable_after_seconds)
        found = taking_out.lock_unheard(connection, since, batch)
        ids = sorted({workflow_id for workflow_id, _ in found})
        return take_out(engine, connection, ids, UNHEARD, by=_BY, now=now, only=found)

    def still(connection: Connection, now: datetime) -> Died:
        found = taking_out.lock_still(connection, batch)
        return take_out(engine, connection, found, STILL, by=_BY, now=now)

    swept = Swept(_all(engine, unheard), _all(engine, still))
    if swept.unheard or swept.still:
        log("sweep.ended", sweep="stalled", moved=swept.unheard + swept.still)
    return swept


def _all(engine: Engine, batch: Callable[[Connection, datetime], Died]) -> int:
    taken = 0
    while True:
        with engine.database.begin() as connection:
            died = batch(connection, engine.now(connection))
        log_taken(died)
        count = len(died.kept) + len(died.dropped)
        if count == 0:
            return taken
        taken += count
