"""The moves that operators' verbs are made of. All join the verb's transaction, which holds the workflow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from remand_app.domain.errors import DeadLetterNotFound
from remand_app.domain.states import BreakerState, StepState

_LIVE = (
    "array['pending','initializing','enqueuing_steps','steps_in_process','evaluating_results',"
    "'waiting_for_dependencies','waiting_for_retry','blocked_by_failures']"
)


def step_state(connection: sa.Connection, workflow_id: UUID, step: str) -> StepState | None:
    """Return a step's state, None if there is no such step."""
    state = connection.scalar(
        sa.text("select state from remand.steps where workflow_id = :id and name = :step"),
        {"id": workflow_id, "step": step},
    )
    return None if state is None else StepState(state)


def gating_breaker(
    connection: sa.Connection, workflow_id: UUID, step: str
) -> tuple[str, BreakerState] | None:
    """Return the breaker that holds back a step of the run queue, or would, and its state."""
    row = connection.execute(
        sa.text(
            """
            select breaker.name, breaker.state
              from remand.run_queue queued
              join remand.breakers breaker on breaker.name = queued.dependency
             where queued.workflow_id = :id
               and queued.step = :step
               and (breaker.state <> 'closed' or breaker.releasing_since is not null)
            """
        ),
        {"id": workflow_id, "step": step},
    ).first()
    return None if row is None else (row[0], BreakerState(row[1]))


def boost_failed_steps(connection: sa.Connection, boosts: Mapping[UUID, int]) -> None:
    """Raise the priority of the steps in error of each workflow, up to 9."""
    connection.execute(
        sa.text(
            """
            update remand.steps step
               set priority = least(9, step.priority + raised.boost)
              from unnest(cast(:ids as uuid[]), cast(:boosts as int[])) raised(id, boost)
             where step.workflow_id = raised.id
               and step.state = 'error'
            """
        ),
        {"ids": list(boosts), "boosts": list(boosts.values())},
    )


def failed_steps(connection: sa.Connection, workflow_id: UUID) -> list[str]:
    """Return the steps in error, in template order."""
    rows = connection.execute(
        sa.text(
            "select name from remand.steps where workflow_id = :id and state = 'error' order by position"
        ),
        {"id": workflow_id},
    )
    return [row[0] for row in rows]


def workflow_of_letter(connection: sa.Connection, letter_id: UUID) -> UUID:
    """Return the workflow of an entry.

    Raises:
        DeadLetterNotFound: no entry has that id.
    """
    workflow_id: UUID | None = connection.scalar(
        sa.text("select workflow_id from remand.dead_letters where id = :id"), {"id": letter_id}
    )
    if workflow_id is None:
        raise DeadLetterNotFound(f"no dead letter {letter_id}", hint="see `remand dlq list`")
    return workflow_id


def set_input(connection: sa.Connection, workflow_id: UUID, step: str, text: str) -> None:
    """Give a step an input of its own (JSON text)."""
    _update(connection, "input = cast(cast(:value as text) as jsonb)", workflow_id, step, value=text)


def set_result(connection: sa.Connection, workflow_id: UUID, step: str, text: str) -> None:
    """Store a result that a person gave (JSON text)."""
    _update(connection, "result = cast(cast(:value as text) as jsonb)", workflow_id, step, value=text)


def forget_failures(connection: sa.Connection, workflow_id: UUID, step: str) -> None:
    """Reset the counts of failures and the start of their time limit; attempts keep their numbers."""
    _update(connection, "failures = 0, lost_attempts = 0, failing_since = null", workflow_id, step)


def leave_queue(connection: sa.Connection, workflow_id: UUID, *steps: str) -> None:
    """Take steps out of the run queue: a worker that runs one of them loses its claim."""
    connection.execute(
        sa.text("delete from remand.run_queue where workflow_id = :id and step = any(:steps)"),
        {"id": workflow_id, "steps": list(steps)},
    )


def move_place(
    connection: sa.Connection, workflow_id: UUID, step: str, *, queue: str | None, priority: int | None
) -> tuple[str, int]:
    """Change a step's queue or priority; return the old ones."""
    before = connection.execute(
        sa.text("select queue, priority from remand.steps where workflow_id = :id and name = :step"),
        {"id": workflow_id, "step": step},
    ).one()
    new = {"queue": queue or before[0], "priority": before[1] if priority is None else priority}
    _update(connection, "queue = :queue, priority = :priority", workflow_id, step, **new)
    connection.execute(
        sa.text(
            """
            update remand.run_queue
               set queue = :queue, priority = :priority
             where workflow_id = :id
               and step = :step
               and phase in ('ready', 'waiting')
            """
        ),
        {"id": workflow_id, "step": step, **new},
    )
    return before[0], before[1]


def parents_of(connection: sa.Connection, workflow_id: UUID) -> dict[str, list[str]]:
    """Return the graph of a workflow: each step with its parents, in template order."""
    rows = connection.execute(
        sa.text("select name, depends_on from remand.steps where workflow_id = :id order by position"),
        {"id": workflow_id},
    )
    return {row[0]: list(row[1]) for row in rows}


def states_of_steps(connection: sa.Connection, workflow_id: UUID) -> dict[str, StepState]:
    """Return the state of each step."""
    rows = connection.execute(
        sa.text("select name, state from remand.steps where workflow_id = :id"), {"id": workflow_id}
    )
    return {row[0]: StepState(row[1]) for row in rows}


def move_steps(
    connection: sa.Connection,
    workflow_id: UUID,
    steps: Sequence[str],
    from_states: Sequence[str],
    move: tuple[str, StepState],
    *,
    by: str,
    reason: str | None,
    now: datetime,
) -> None:
    """Move several steps by one event, those that are in one of the states."""
    connection.execute(
        sa.text("select * from remand.move_steps(:ids, :steps, :from, :event, :to, :by, :reason, :now)"),
        {
            "ids": [workflow_id] * len(steps),
            "steps": list(steps),
            "from": list(from_states),
            "event": move[0],
            "to": str(move[1]),
            "by": by,
            "reason": reason,
            "now": now,
        },
    )


def restart_steps(
    connection: sa.Connection,
    workflow_id: UUID,
    steps: Sequence[str],
    *,
    by: str,
    reason: str | None,
    now: datetime,
) -> None:
    """Send steps back to pending as if they had never run; none of them may be running."""
    connection.execute(
        sa.text("select * from remand.restart_steps(:id, :steps, :by, :reason, :now)"),
        {"id": workflow_id, "steps": list(steps), "by": by, "reason": reason, "now": now},
    )


def wake(connection: sa.Connection, workflow_id: UUID, step: str, *, by: str, now: datetime) -> list[str]:
    """Make a waiting retry due at once; return the queues that got work."""
    rows = connection.execute(
        sa.text("select * from remand.wake(:ids, :steps, :by, :now)"),
        {"ids": [workflow_id], "steps": [step], "by": by, "now": now},
    )
    return [row[0] for row in rows]


def reopen(
    connection: sa.Connection, workflow_id: UUID, *, by: str, reason: str | None, now: datetime
) -> bool:
    """Let a workflow that its failures have stopped go on; False if they have not.

    A hold stays while a step is in error: the steps it withdrew wait until every failure is dealt with.
    """
    connection.execute(
        sa.text(
            """
            update remand.workflows workflow
               set hold = case when workflow.paused_at is not null then 'paused' end
             where workflow.id = :id
               and workflow.hold is not null
               and not exists (
                     select
                       from remand.steps step
                      where step.workflow_id = :id
                        and step.state = 'error')
            """
        ),
        {"id": workflow_id},
    )
    return _move(
        connection,
        "array['blocked_by_failures','error']",
        "reopen",
        "waiting_for_dependencies",
        workflow_id,
        by=by,
        reason=reason,
        now=now,
    )


def rearm_conditional(
    connection: sa.Connection,
    workflow_id: UUID,
    steps: Sequence[str],
    *,
    by: str,
    reason: str | None,
    now: datetime,
) -> None:
    """Send back to pending the steps that ran, or were skipped, because of how these steps had ended."""
    connection.execute(
        sa.text("select remand.rearm_conditional(:ids, :steps, :by, :reason, :now)"),
        {
            "ids": [workflow_id] * len(steps),
            "steps": list(steps),
            "by": by,
            "reason": reason,
            "now": now,
        },
    )


def evaluate(connection: sa.Connection, workflow_id: UUID, *, by: str, now: datetime) -> list[str]:
    """Enqueue what is ready and roll the workflow up; return the queues that got work."""
    rows = connection.execute(
        sa.text("select * from remand.evaluate(:ids, :by, :now)"),
        {"ids": [workflow_id], "by": by, "now": now},
    )
    return [row[0] for row in rows]


def cancel(
    connection: sa.Connection, workflow_id: UUID, *, by: str, reason: str | None, now: datetime
) -> bool:
    """Cancel a workflow with its open steps; False if it has ended."""
    rows = connection.execute(
        sa.text("select * from remand.cancel(:ids, :by, :reason, :now)"),
        {"ids": [workflow_id], "by": by, "reason": reason, "now": now},
    ).all()
    return bool(rows)


def give_up(
    connection: sa.Connection, workflow_id: UUID, *, by: str, reason: str | None, now: datetime
) -> bool:
    """Move a blocked workflow to error; False if it is not blocked."""
    return _move(
        connection,
        "array['blocked_by_failures']",
        "give_up",
        "error",
        workflow_id,
        by=by,
        reason=reason,
        now=now,
    )


def resolve_workflow(
    connection: sa.Connection, workflow_id: UUID, *, by: str, reason: str | None, now: datetime
) -> bool:
    """Declare a whole workflow done by hand: its open steps are resolved with it; False if it has ended."""
    moved = _move(
        connection, _LIVE, "resolve_manually", "resolved_manually", workflow_id, by=by, reason=reason, now=now
    )
    if not moved:
        return False
    # In the order in which workers take these rows.
    ordered = "select 1 from remand.run_queue where workflow_id = :id order by step for update"
    connection.execute(sa.text(ordered), {"id": workflow_id})
    connection.execute(sa.text("delete from remand.run_queue where workflow_id = :id"), {"id": workflow_id})
    connection.execute(
        sa.text(
            """
            select remand.move_steps(array_agg(workflow_id), array_agg(name), array_agg(distinct state),
                                     'resolve_manually', 'resolved_manually', :by, :reason, :now)
              from remand.steps
             where workflow_id = :id
               and state not in ('complete', 'cancelled', 'resolved_manually')
            """
        ),
        {"id": workflow_id, "by": by, "reason": reason, "now": now},
    )
    connection.execute(
        sa.text(
            """
            update remand.workflows
               set open_steps = 0, error_steps = 0, troubled = false, hold = null, paused_at = null,
                   paused_by = null, pause_reason = null, paused_with_template = false
             where id = :id
            """
        ),
        {"id": workflow_id},
    )
    return True


def _move(
    connection: sa.Connection,
    from_states: str,
    event: str,
    to_state: str,
    workflow_id: UUID,
    *,
    by: str,
    reason: str | None,
    now: datetime,
) -> bool:
    rows = connection.execute(
        sa.text(f"select * from remand.move_workflows(:ids, {from_states}, :event, :to, :by, :reason, :now)"),
        {"ids": [workflow_id], "event": event, "to": to_state, "by": by, "reason": reason, "now": now},
    ).all()
    return bool(rows)


def _update(connection: sa.Connection, assignment: str, workflow_id: UUID, step: str, **values: Any) -> None:
    connection.execute(
        sa.text(f"update remand.steps set {assignment} where workflow_id = :id and name = :step"),
        {"id": workflow_id, "step": step, **values},
    )
