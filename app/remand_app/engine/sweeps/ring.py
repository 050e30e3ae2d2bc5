"""Ring sweep: wake due retries, tend the breakers, ring again where work waits unheard.

Work that came back to the queue of a paused workflow, such as a claim given back, is withdrawn on the way.
The sweep does not ring if a bell lies in the broker already, or if no live worker consumes the queue: a
worker rings its queues when it starts. So bells never pile up.
"""

from __future__ import annotations

from dataclasses import dataclass

from remand_app.engine.breakers import Breakers
from remand_app.engine.engine import Engine
from remand_app.engine.retry_budgets import forget_traffic
from remand_app.engine.sweeps.passing_over import act_passing_over
from remand_app.engine.worker_limits import limits_of
from remand_app.store import sweeping
from remand_app.store.pauses import withdraw_paused
from remand_app.telemetry import log

WAKE_BATCH = 500


@dataclass(frozen=True, slots=True)
class Rung:
    """What one sweep did."""

    woken: int
    queues: tuple[str, ...]
    released: int = 0

    @property
    def moved(self) -> int:
        """How much was moved."""
        return self.woken + self.released


def ring(engine: Engine) -> Rung:
    """Sweep once. Transaction: one for each 500 retries woken. Idempotent: a woken retry waits no more."""
    # First of all: time during which the database was away must not make anything old.
    sweeping.note_service(engine.database, limits_of(engine.settings), engine.clock)
    woken = _wake(engine)
    if woken:
        log("sweep.ended", sweep="ring", moved=woken)
    _withdraw(engine)
    released = Breakers(engine).sweep(engine.bell).released
    forget_traffic(engine)
    waiting = sweeping.waiting_queues(engine.database)
    if not waiting:
        return Rung(woken, (), released)
    heard = sweeping.heard_queues(engine.database, limits_of(engine.settings), engine.clock)
    rung = [queue for queue in waiting if queue in heard and engine.bell.pending(queue) == 0]
    engine.bell.ring(rung)
    return Rung(woken, tuple(rung), released)


def _wake(engine: Engine) -> int:
    def act() -> int:
        return sweeping.wake_due(engine.database, engine.clock, WAKE_BATCH)[0]

    woken = 0
    while True:
        came = act_passing_over(
            engine.database, "ring", act, lambda: sweeping.waiting_workflows(engine.database, "waiting")
        )
        woken += sum(came)
        if max(came, default=0) < WAKE_BATCH:
            return woken


def _withdraw(engine: Engine) -> None:
    act_passing_over(
        engine.database,
        "ring",
        lambda: withdraw_paused(engine.database, WAKE_BATCH, engine.clock.fixed()),
        lambda: [
            *sweeping.waiting_workflows(engine.database, "ready"),
            *sweeping.waiting_workflows(engine.database, "waiting"),
        ],
    )
