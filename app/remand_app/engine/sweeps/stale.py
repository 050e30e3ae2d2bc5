"""Stale sweep: take out workflows that show no sign of life for longer than their lifecycle allows.

One at a time: a second sweep that begins meanwhile does nothing. Each workflow found is checked again under
its lock, so that none is taken out that has moved since. Source: D1, D2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from remand_app.domain.notifications import Notice, NotificationKind
from remand_app.domain.staleness import Health, Why, WorkflowStaleness
from remand_app.domain.states import DeadReason
from remand_app.engine.attempt_ends import in_halves
from remand_app.engine.dead_letter_workflows import Cause, Letters, log_taken, take_out
from remand_app.engine.engine import Engine
from remand_app.engine.enqueue_notifications import enqueue_many
from remand_app.engine.fail import DeathOutcome
from remand_app.engine.staleness import settings_of
from remand_app.engine.sweeps.batches import passed_over
from remand_app.store import staleness
from remand_app.store.database import NOT_NOW, Connection
from remand_app.store.failures import DecidedDeath
from remand_app.store.sweep_lock import alone
from remand_app.telemetry import log
from remand_app.telemetry.metrics import TIME_UNTIL_STALE
from remand_app.telemetry.metrics_buffer import observe

# Each look judges all stale and unwarned workflows: a few looks must do, even for a million.
FOUND_AT_ONCE: Final = 200_000
_WARNED_AT_ONCE: Final = 1_000
_BY: Final = "sweep.stale"


@dataclass(frozen=True, slots=True)
class StaleResult:
    """What one sweep did."""

    letters: int = 0
    """Workflows that went to the dead letter queue."""
    errors: int = 0
    """Workflows that ended in error, as their lifecycle says."""
    warned: int = 0
    """Workflows that people were warned of: they will be stale soon, or are stale and stay where they are."""

    @property
    def moved(self) -> int:
        """Workflows that were taken out of work."""
        return self.letters + self.errors


def stale(engine: Engine) -> StaleResult:
    """Sweep once, longest stale first, in batches until nothing is left. Transaction: one a batch.

    Idempotent: what was taken out of work is no longer in it. Killed half way, what was committed stays, and
    the next sweep goes on.
    """
    with alone(engine.database, "stale") as is_alone:
        if not is_alone:
            return StaleResult()
        with engine.database.begin() as connection:
            staleness.remember(connection, settings_of(engine))
        if not engine.settings.staleness.enabled:
            return StaleResult()
        letters, errors = _take_all(engine)
        swept = StaleResult(letters, errors, _warn_all(engine))
    if swept.moved:
        log("sweep.ended", sweep="stale", moved=swept.moved)
    return swept


def _take_all(engine: Engine) -> tuple[int, int]:
    letters = errors = 0
    broken: list[Exception] = []

    def alone(workflow_id: UUID, error: Exception) -> tuple[int, int]:
        passed_over("stale", workflow_id, error)
        broken.append(error)
        return 0, 0

    for ids in _found(engine, staleness.find_stale_ids, engine.settings.staleness.batch_size):
        for kept, dropped in in_halves(ids, lambda some: _take_batch(engine, some), alone, NOT_NOW):
            letters, errors = letters + kept, errors + dropped
    if broken:
        raise broken[0]
    return letters, errors


def _found(
    engine: Engine, find: Callable[[Connection, str, datetime, int], list[UUID]], size: int
) -> Iterator[list[UUID]]:
    """Look until there is nothing new; yield it by batches, in its order, each workflow once."""
    tried: set[UUID] = set()
    while True:
        with engine.database.begin() as connection:
            ids = find(connection, settings_of(engine), engine.now(connection), FOUND_AT_ONCE)
        new = [workflow_id for workflow_id in ids if workflow_id not in tried]
        if not new:
            return
        tried.update(new)
        yield from (new[start : start + size] for start in range(0, len(new), size))


def _take_batch(engine: Engine, ids: Sequence[UUID]) -> tuple[int, int]:
    with engine.database.begin() as connection:
        now = engine.now(connection)
        held = staleness.lock(connection, ids)
        # Checked under the lock: the workflows may have moved since they were found.
        due = [
            workflow
            for workflow in staleness.standings(connection, held, settings_of(engine), now)
            if workflow.takes_out
        ]
        outcomes = [
            *_take(
                engine,
                connection,
                [workflow for workflow in due if workflow.action == "dlq"],
                now,
                letters=True,
            ),
            *_take(
                engine,
                connection,
                [workflow for workflow in due if workflow.action == "error"],
                now,
                letters=False,
            ),
        ]
        ended = [workflow for workflow in due if workflow.action == "error"]
        notices = [_notice(workflow, NotificationKind.WORKFLOW_STALE) for workflow in ended]
        enqueue_many(connection, engine.settings, notices, now)
    for outcome in outcomes:
        log_taken(outcome)
    for taken in due:
        observe(TIME_UNTIL_STALE, (now - min(taken.born_at, taken.since)).total_seconds(), taken.why)
    return _workflows(outcome.kept for outcome in outcomes), _workflows(
        outcome.dropped for outcome in outcomes
    )


def _take(
    engine: Engine, connection: Connection, due: Sequence[WorkflowStaleness], now: datetime, *, letters: bool
) -> list[DeathOutcome]:
    how: Letters = "by_strategy" if letters else "never"
    unheard = [workflow.workflow_id for workflow in due if workflow.why is Why.WORKER_UNAVAILABLE]
    of = staleness.unheard_steps(connection, unheard, settings_of(engine), now)
    outcomes = [
        take_out(
            engine,
            connection,
            sorted({workflow_id for workflow_id, _ in steps}),
            unavailable(queue),
            by=_BY,
            now=now,
            only=steps,
            letters=how,
        )
        for queue, steps in sorted(of.items())
    ]
    for cause, ids in _by_cause(due).items():
        outcomes.append(take_out(engine, connection, ids, cause, by=_BY, now=now, letters=how))
    return outcomes


def unavailable(queue: str) -> Cause:
    """Return the cause for steps that wait in a queue without a worker."""
    return Cause(
        DeadReason.WORKER_UNAVAILABLE,
        "remand.errors.WorkerUnavailable",
        f"no live worker consumes the queue {queue}",
    )


def _by_cause(due: Iterable[WorkflowStaleness]) -> dict[Cause, list[UUID]]:
    causes: dict[Cause, list[UUID]] = {}
    for workflow in due:
        if workflow.why is Why.LIFETIME:
            message = "the workflow had not ended when its lifetime was over"
        elif workflow.why is Why.STATE:
            message = f"the workflow showed no sign of life in {workflow.state} for longer than is allowed"
        else:
            continue
        cause = Cause(DeadReason.STALENESS_TIMEOUT, "remand.errors.Stale", message)
        causes.setdefault(cause, []).append(workflow.workflow_id)
    return causes


def _warn_all(engine: Engine) -> int:
    """Warn of what will be stale soon, and of what is stale and stays: once each."""
    return sum(
        _warn_batch(engine, ids) for ids in _found(engine, staleness.find_unwarned_ids, _WARNED_AT_ONCE)
    )


def _warn_batch(engine: Engine, ids: Sequence[UUID]) -> int:
    with engine.database.begin() as connection:
        now = engine.now(connection)
        due = staleness.warnings(connection, ids, settings_of(engine), now)
        new = staleness.mark_warned(connection, [workflow.workflow_id for workflow in due], now)
        warned = [workflow for workflow in due if workflow.workflow_id in new]
        enqueue_many(
            connection, engine.settings, [_notice(workflow, _kind(workflow)) for workflow in warned], now
        )
    for workflow in warned:
        _log_warned(workflow)
    return len(warned)


def _log_warned(workflow: WorkflowStaleness) -> None:
    workflow_id, stale_at = str(workflow.workflow_id), workflow.stale_at.isoformat()
    if workflow.health is Health.STALE:
        log(
            "workflow.stale",
            workflow_id=workflow_id,
            template=workflow.ref,
            state=str(workflow.state),
            why=str(workflow.why),
            queue=workflow.queue,
            stale_at=stale_at,
        )
    else:
        log(
            "workflow.stale_soon",
            workflow_id=workflow_id,
            template=workflow.ref,
            state=str(workflow.state),
            why=str(workflow.why),
            queue=workflow.queue,
            stale_at=stale_at,
        )


def _kind(workflow: WorkflowStaleness) -> NotificationKind:
    return (
        NotificationKind.WORKFLOW_STALE
        if workflow.health is Health.STALE
        else NotificationKind.WORKFLOW_STALE_SOON
    )


def _notice(workflow: WorkflowStaleness, kind: NotificationKind) -> Notice:
    what = "is stale" if kind is NotificationKind.WORKFLOW_STALE else "will be stale soon"
    of = (
        f"no live worker consumes its queue {workflow.queue}"
        if workflow.why is Why.WORKER_UNAVAILABLE
        else workflow.why
    )
    facts = {
        "template": workflow.ref,
        "state": str(workflow.state),
        "why": str(workflow.why),
        "queue": workflow.queue,
        "since": workflow.since.isoformat(),
        "stale_at": workflow.stale_at.isoformat(),
        "action": workflow.action,
    }
    # A person may send it back, and it may be stale again: each time is told. A warning comes once.
    occurrence = (
        f"{workflow.action} {workflow.since.isoformat()}" if kind is NotificationKind.WORKFLOW_STALE else ""
    )
    return Notice(kind, workflow.workflow_id, f"a workflow of {workflow.ref} {what}: {of}", facts, occurrence)


def _workflows(deaths: Iterable[Sequence[DecidedDeath]]) -> int:
    return len({death.failed.workflow_id for batch in deaths for death in batch})
