"""Verbs on a step and everything behind it: skip the branch, or run it again from that step."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from remand_app.domain.branch import restarted_with, skipped_with
from remand_app.domain.errors import IllegalMove
from remand_app.domain.states import DeadLetterStatus, StepState, WorkflowState
from remand_app.engine.decided import Decided
from remand_app.engine.engine import Engine
from remand_app.engine.operate.context import (
    LIVE_STEP,
    Operation,
    Who,
    illegal,
    illegal_step,
    patient,
    rearm,
    state_of,
)
from remand_app.engine.operate.steps import decide
from remand_app.store import operator_moves

_UNDER_WAY = (
    StepState.IN_PROGRESS,
    StepState.ENQUEUED_FOR_ORCHESTRATION,
    StepState.ENQUEUED_AS_ERROR_FOR_ORCHESTRATION,
)
_FOR_GOOD = (WorkflowState.COMPLETE, WorkflowState.CANCELLED, WorkflowState.RESOLVED_MANUALLY)


@patient
def skip_step(engine: Engine, workflow_id: UUID, step: str, who: Who) -> Decided:
    """End a step, and the steps that only it leads to, as resolved by hand, without results.

    A join that another branch leads to is not skipped: it runs and finds None for the skipped steps. Steps
    that have ended stay as they are; a late result of a running step is refused.

    Raises:
        IllegalMove: the step has ended.
    """

    def act(operation: Operation) -> list[str]:
        state = state_of(operation.connection, workflow_id, step)
        if state not in LIVE_STEP:
            raise illegal_step(operation, step, state, "it has ended already")
        names = skipped_with(operator_moves.parents_of(operation.connection, workflow_id), step)
        operator_moves.leave_queue(operation.connection, workflow_id, *names)
        operator_moves.move_steps(
            operation.connection,
            workflow_id,
            names,
            [str(state) for state in LIVE_STEP],
            ("skip", StepState.RESOLVED_MANUALLY),
            by=operation.who.by,
            reason=operation.who.reason,
            now=operation.now,
        )
        if state is StepState.ERROR:
            rearm(operation, names)
        return []

    return decide(
        engine, workflow_id, step, who, act, verb="skip", closing=DeadLetterStatus.MANUALLY_RESOLVED
    )


@patient
def restart_from(engine: Engine, workflow_id: UUID, step: str, who: Who) -> Decided:
    """Run a step and everything behind it again: their results, failures and checkpoints are forgotten.

    Raises:
        IllegalMove: the workflow has ended for good, the step has never run, or one of the steps is running.
    """

    def act(operation: Operation) -> Sequence[str]:
        names = _may_restart(operation, step)
        operator_moves.restart_steps(
            operation.connection,
            workflow_id,
            names,
            by=operation.who.by,
            reason=operation.who.reason,
            now=operation.now,
        )
        return []

    return decide(engine, workflow_id, step, who, act, verb="restart", closing=DeadLetterStatus.REQUEUED)


def _may_restart(operation: Operation, step: str) -> list[str]:
    """Return the steps to restart. Raises IllegalMove."""
    if operation.workflow.state in _FOR_GOOD:
        raise illegal(operation.workflow, "restart", "what has ended so is final; submit it again")
    state = state_of(operation.connection, operation.workflow.id, step)
    if state in (StepState.PENDING, StepState.ENQUEUED, StepState.CANCELLED):
        raise illegal_step(operation, step, state, "there is nothing to run again yet")
    states = operator_moves.states_of_steps(operation.connection, operation.workflow.id)
    names = restarted_with(operator_moves.parents_of(operation.connection, operation.workflow.id), step)
    running = [name for name in names if states[name] in _UNDER_WAY]
    if running:
        raise IllegalMove(
            f"cannot restart from step {step!r}: {', '.join(running[:5])} run on what it returned",
            hint="wait until they end, or end them by hand first",
            details={"workflow_id": str(operation.workflow.id), "step": step, "running": running},
        )
    return names
