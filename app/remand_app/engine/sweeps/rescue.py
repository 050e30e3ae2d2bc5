"""Rescue sweep: take back the attempts of dead workers, and apply results that were parked.

Which workers are alive the function `live_workers` says; any other that holds something is gone.

find → fail as lost (guarded by the worker and attempt that were seen) → ring. Two at once: the second finds
nothing. A lost attempt is handled like any failure: the worker of `retry.immediate` decides between another
attempt and the dead letter of a poison step.
"""

from __future__ import annotations

from dataclasses import dataclass

from remand.errors import WorkerLost
from remand.failure import capture
from remand_app.engine import attempt_ends
from remand_app.engine.breakers import Breakers
from remand_app.engine.engine import Engine
from remand_app.engine.leases import lease_slack
from remand_app.engine.sweeps.passing_over import act_passing_over
from remand_app.engine.worker_limits import limits_of
from remand_app.store import attempt_ends as stored_ends
from remand_app.store import sweeping
from remand_app.store.claims import EndedBadly, Settled
from remand_app.store.sweeping import Orphan
from remand_app.telemetry import log
from remand_app.telemetry.metrics import LOST_ATTEMPTS
from remand_app.telemetry.metrics_buffer import count

BATCH = 200
QUEUE = "retry.immediate"


@dataclass(frozen=True, slots=True)
class Rescued:
    """What one sweep did."""

    attempts: int
    parked: int
    workers: int

    @property
    def moved(self) -> int:
        """How much was moved."""
        return self.attempts + self.parked


def rescue(engine: Engine) -> Rescued:
    """Sweep once, in batches until nothing is left. Transaction: one a batch."""
    limits = limits_of(engine.settings)
    attempts = 0
    while True:
        orphans = sweeping.find_orphans(engine.database, engine.clock, limits, BATCH)
        counted = _fail(engine, orphans) if orphans else 0
        attempts += counted
        if len(orphans) < BATCH or counted == 0:
            break
    if attempts:
        engine.bell.ring([QUEUE])
    parked = settle_parked(engine)
    if attempts or parked:
        log("sweep.ended", sweep="rescue", moved=attempts + parked)
    workers = sweeping.mark_gone(engine.database, engine.clock, limits)
    for worker_id, hostname in workers:
        log("worker.gone", worker=str(worker_id), hostname=hostname)
    return Rescued(attempts, parked, len(workers))


def settle_parked(engine: Engine, limit: int = BATCH) -> int:
    """Apply results that were parked while their workflow was locked; return how many.

    Transaction: own, and one a half-open breaker that had let some of them through.
    """
    settings = engine.settings

    def act() -> Settled:
        return stored_ends.settle_parked(
            engine.database, engine.clock, limit, settings.default_step_timeout_seconds, lease_slack(settings)
        )

    came = act_passing_over(
        engine.database, "rescue", act, lambda: sweeping.waiting_workflows(engine.database, "settling")
    )
    engine.bell.ring({queue for settled in came for queue in settled.ring})
    passed = [name for settled in came for name in settled.passed]
    if passed:
        Breakers(engine).succeeded(passed)
    return sum(settled.counted for settled in came)


def _fail(engine: Engine, orphans: list[Orphan]) -> int:
    ended = [_lost(orphan) for orphan in orphans]
    counted, _ = attempt_ends.fail(
        lambda some: stored_ends.fail_attempts(engine.database, engine.clock, some, by="sweep.rescue"), ended
    )
    for orphan in orphans:
        if (orphan.workflow_id, orphan.step) not in counted:
            continue
        count(LOST_ATTEMPTS, orphan.cause)
        log(
            "attempt.rescued",
            workflow_id=str(orphan.workflow_id),
            step=orphan.step,
            attempt=orphan.attempt,
            worker=str(orphan.worker),
            reason=orphan.cause,
        )
    return len(counted)


def _lost(orphan: Orphan) -> EndedBadly:
    why = "is gone" if orphan.cause == "gone" else "let the lease run out"
    failure = capture(WorkerLost(f"worker {orphan.hostname} {why} while the step ran"))
    return EndedBadly(
        orphan.workflow_id,
        orphan.step,
        orphan.attempt,
        orphan.worker,
        "lost",
        failure,
        "immediate",
    )
