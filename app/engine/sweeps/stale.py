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

from app.domain.notifications import Notice, NotificationKind
from app.domain.staleness import Health, Why
from app.domain.states import DeadReason
from app.engine.context import Engine
from app.engine.dead_letter_workflows import Cause, Letters, log_taken, take_out
from app.engine.enqueue_notifications import enqueue_many
from app.engine.fail import DeathOutcome
from app.engine.recording import in_halves
from app.engine.staleness import settings_of
from app.engine.sweeps.batches import passed_over
from app.store import staleness
from app.store.failures import DecidedDeath
from app.store.session import NOT_NOW, Connection
from app.store.staleness import WorkflowStaleness
from app.store.sweep_lock import alone
from app.telemetry import log
from app.telemetry.metrics import TIME_UNTIL_STALE
from app.telemetry.metrics_buffer import observe

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
    """Look until nothing new is found; yield it by batches, in its order, each workflow once."""
    tried: set[UUID] = set()
    while True:
        with engine.database.begin() as connection:
            found = find(connection, settings_of(engine), engine.now(connection), FOUND_AT_ONCE)
        new = [one for one in found if one not in tried]
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
            one for one in staleness.standings(connection, held, settings_of(engine), now) if one.takes_out
        ]
        outcomes = [
            *_take(engine, connection, [one for one in due if one.action == "dlq"], now, letters=True),
            *_take(engine, connection, [one for one in due if one.action == "error"], now, letters=False),
        ]
        ended = [one for one in due if one.action == "error"]
        told = [_notice(one, NotificationKind.WORKFLOW_STALE) for one in ended]
        enqueue_many(connection, engine.settings, told, now)
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
    unheard = [one.workflow_id for one in due if one.why is Why.WORKER_UNAVAILABLE]
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
    found: dict[Cause, list[UUID]] = {}
    for one in due:
        if one.why is Why.LIFETIME:
            message = "the workflow had not ended when its lifetime was over"
        elif one.why is Why.STATE:
            message = f"the workflow showed no sign of life in {one.state} for longer than is allowed"
        else:
            continue
        cause = Cause(DeadReason.STALENESS_TIMEOUT, "remand.errors.Stale", message)
        found.setdefault(cause, []).append(one.workflow_id)
    return found


def _warn_all(engine: Engine) -> int:
    """Warn of what will be stale soon, and of what is stale and stays: once each."""
    return sum(
        _warn_batch(engine, ids) for ids in _found(engine, staleness.find_unwarned_ids, _WARNED_AT_ONCE)
    )


def _warn_batch(engine: Engine, ids: Sequence[UUID]) -> int:
    with engine.database.begin() as connection:
        now = engine.now(connection)
        found = staleness.warnings(connection, ids, settings_of(engine), now)
        new = staleness.mark_warned(connection, [one.workflow_id for one in found], now)
        told = [one for one in found if one.workflow_id in new]
        enqueue_many(connection, engine.settings, [_notice(one, _kind(one)) for one in told], now)
    for one in told:
        _log_warned(one)
    return len(told)


def _log_warned(one: WorkflowStaleness) -> None:
    workflow_id, stale_at = str(one.workflow_id), one.stale_at.isoformat()
    if one.health is Health.STALE:
        log(
            "workflow.stale",
            workflow_id=workflow_id,
            template=one.ref,
            state=str(one.state),
            why=str(one.why),
            queue=one.queue,
            stale_at=stale_at,
        )
    else:
        log(
            "workflow.stale_soon",
            workflow_id=workflow_id,
            template=one.ref,
            state=str(one.state),
            why=str(one.why),
            queue=one.queue,
            stale_at=stale_at,
        )


def _kind(one: WorkflowStaleness) -> NotificationKind:
    return (
        NotificationKind.WORKFLOW_STALE
        if one.health is Health.STALE
        else NotificationKind.WORKFLOW_STALE_SOON
    )


def _notice(one: WorkflowStaleness, kind: NotificationKind) -> Notice:
    what = "is stale" if kind is NotificationKind.WORKFLOW_STALE else "will be stale soon"
    of = f"no live worker consumes its queue {one.queue}" if one.why is Why.WORKER_UNAVAILABLE else one.why
    facts = {
        "template": one.ref,
        "state": str(one.state),
        "why": str(one.why),
        "queue": one.queue,
        "since": one.since.isoformat(),
        "stale_at": one.stale_at.isoformat(),
        "action": one.action,
    }
    # A person may send it back, and it may be stale again: each time is told. A warning comes once.
    occurrence = f"{one.action} {one.since.isoformat()}" if kind is NotificationKind.WORKFLOW_STALE else ""
    return Notice(kind, one.workflow_id, f"a workflow of {one.ref} {what}: {of}", facts, occurrence)


def _workflows(deaths: Iterable[Sequence[DecidedDeath]]) -> int:
    return len({death.failed.workflow_id for each in deaths for death in each})
