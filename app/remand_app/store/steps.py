"""Steps and attempts: read as values; steps are moved for operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from remand_app.domain.errors import StepNotFound
from remand_app.domain.states import StepState
from remand_app.store import failure_json
from remand_app.store.database import Database
from remand_app.store.failure_json import FailureJson

_COLUMNS = """
       step.workflow_id, step.name, step.position, step.handler, step.queue, step.priority,
       step.timeout_seconds, step.depends_on, step.children, step.state, step.open_parents, step.attempt,
       step.failures, step.lost_attempts, step.worker, step.enqueued_at, step.started_at, step.ended_at,
       step.input, step.checkpoint, step.failure, step.result, queued.phase,
       case when queued.gate = 'held' then breaker.probe_at else queued.due_at end, queued.queue, pause.since,
       breaker.name, breaker.state, step.after, step.input is not null
  from remand.steps step
  left join remand.run_queue queued on queued.workflow_id = step.workflow_id and queued.step = step.name
  left join remand.breakers breaker on breaker.name = queued.dependency and queued.gate = 'held'
  left join remand.pauses pause on pause.queue = queued.queue and queued.phase in ('ready', 'failed')
"""
_ARCHIVED_COLUMNS = _COLUMNS.replace("remand.steps step", "remand.steps_archive step")


@dataclass(frozen=True, slots=True)
class Step:
    """A step as stored, with its place in the run queue if it is live."""

    workflow_id: UUID
    name: str
    position: int
    handler: str
    queue: str
    priority: int
    timeout_seconds: float | None
    depends_on: list[str]
    children: list[str]
    state: StepState
    open_parents: int
    attempt: int
    failures: int
    lost_attempts: int
    worker: UUID | None
    enqueued_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    input: Any
    checkpoint: Any
    failure: FailureJson | None
    result: Any
    phase: str | None
    due_at: datetime | None
    """Held by a breaker: when that tries again, None where no instant is set. Else: of its next attempt."""
    waits_in: str | None = None
    """The queue whose workers act on it next: its own, or that of a retry policy."""
    paused_since: datetime | None = None
    """It waits in a queue that is paused since then."""
    held_by: str | None = None
    """The breaker that keeps it back."""
    breaker_state: str | None = None
    """Where that stands: "open", "half_open", or "closed" while it lets go of what it held."""
    after: str | None = None
    """What end of its parents it follows: "failure" or "always"; None: that all went well."""
    has_own_input: bool = False
    """`input` takes the place of the workflow's, null as well."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt; `outcome` is "running" for the one under way."""

    step: str
    attempt: int
    outcome: str
    worker: UUID | None
    hostname: str | None
    started_at: datetime | None
    ended_at: datetime | None
    failure: FailureJson | None
    policy: str | None
    decision: str | None
    decided_at: datetime | None
    due_at: datetime | None
    explanation: str | None


def steps_of(database: Database, workflow_id: UUID) -> list[Step]:
    """Read the steps of a workflow in the order of its template. Transaction: own, two if it is archived."""
    for columns in (_COLUMNS, _ARCHIVED_COLUMNS):
        rows = database.call(
            f"select {columns} where step.workflow_id = %s order by step.position, step.name", (workflow_id,)
        )
        if rows:
            break
    return [_step(row) for row in rows]


def get_step(database: Database, workflow_id: UUID, name: str) -> Step:
    """Read a step. Transaction: own, two if it is archived.

    Raises:
        StepNotFound: the workflow has no step of that name.
    """
    for columns in (_COLUMNS, _ARCHIVED_COLUMNS):
        rows = database.call(
            f"select {columns} where step.workflow_id = %s and step.name = %s", (workflow_id, name)
        )
        if rows:
            return _step(rows[0])
    raise StepNotFound(f"workflow {workflow_id} has no step {name!r}")


def attempts_of(database: Database, workflow_id: UUID, step: str | None = None) -> list[Attempt]:
    """Read the attempts of a workflow, or of one step, in order. Transaction: own, two if there are none."""
    for view in ("all_attempts", "archived_attempts"):
        attempts = database.read(
            Attempt,
            f"""
            select attempt.step, attempt.attempt, attempt.outcome, attempt.worker, worker.hostname,
                   attempt.started_at, attempt.ended_at, attempt.failure, attempt.policy, attempt.decision,
                   attempt.decided_at, attempt.due_at, attempt.explanation
              from remand.{view} attempt
              left join remand.workers worker on worker.id = attempt.worker
             where attempt.workflow_id = %s
               and (%s::text is null or attempt.step = %s)
             order by attempt.step, attempt.attempt
            """,
            (workflow_id, step, step),
        )
        if attempts:
            break
    return [replace(attempt, failure=failure_json.read_if_any(attempt.failure)) for attempt in attempts]


def move_step(
    connection: sa.Connection,
    workflow_id: UUID,
    step: str,
    *,
    from_states: Sequence[StepState],
    event: str,
    to_state: StepState,
    by: str,
    reason: str | None,
    now: datetime,
) -> bool:
    """Move a step if it is in one of `from_states`; False if not.

    Transaction: joins; the workflow is locked.
    """
    moved = connection.execute(
        sa.text("select * from remand.move_steps(:ids, :steps, :from, :event, :to, :by, :reason, :now)"),
        {
            "ids": [workflow_id],
            "steps": [step],
            "from": [str(state) for state in from_states],
            "event": event,
            "to": str(to_state),
            "by": by,
            "reason": reason,
            "now": now,
        },
    ).all()
    return bool(moved)


def _step(row: Sequence[Any]) -> Step:
    values = list(row)
    values[9] = StepState(values[9])
    values[20] = failure_json.read_if_any(values[20])
    return Step(*values)
