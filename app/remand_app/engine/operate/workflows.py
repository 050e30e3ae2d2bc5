"""Verbs on a whole workflow."""

from __future__ import annotations

from uuid import UUID

from remand_app.domain.states import DeadLetterStatus, WorkflowState
from remand_app.engine.decided import Decided
from remand_app.engine.engine import Engine
from remand_app.engine.operate.context import (
    Operation,
    Who,
    close_open,
    illegal,
    log_closed,
    patient,
    refuse_closed,
)
from remand_app.store import dead_letters, operator_moves
from remand_app.store.workflows import lock_workflow
from remand_app.telemetry import log


@patient
def cancel(engine: Engine, workflow_id: UUID, who: Who, *, letter_id: UUID | None = None) -> Decided:
    """Cancel a workflow; late results of running steps are refused. `letter_id`: an entry that must be open.

    Idempotent: a cancelled one stays as it is.

    Raises:
        IllegalMove: the workflow has ended otherwise, or the entry is closed.
    """
    with engine.database.begin() as connection:
        workflow = lock_workflow(connection, workflow_id)
        now = engine.now(connection)
        if letter_id is not None:
            refuse_closed(dead_letters.lock_dead_letter(connection, letter_id), "cancel")
        if workflow.state is WorkflowState.CANCELLED:
            return Decided(workflow_id, workflow.state, workflow.state, changed=False)
        if not operator_moves.cancel(connection, workflow_id, by=who.by, reason=who.reason, now=now):
            raise illegal(workflow, "cancel", "only a workflow that has not ended can be cancelled")
        operation = Operation(connection, workflow, who, now)
        letter = close_open(operation, DeadLetterStatus.CANCELLED)
        operation.record(
            "workflow.cancel",
            kind="workflow",
            subject=workflow_id,
            before={"state": workflow.state},
            after={"state": WorkflowState.CANCELLED},
        )
    log("workflow.cancelled", workflow_id=str(workflow_id), by=who.by, reason=who.reason)
    log_closed(letter, workflow_id, DeadLetterStatus.CANCELLED, who)
    return Decided(workflow_id, workflow.state, WorkflowState.CANCELLED, closed_letter=letter)
