"""Open a dead letter by hand: a person takes a workflow out of work until it is sent back."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from remand_app.domain.errors import IllegalMove, InputInvalid
from remand_app.domain.states import DeadReason
from remand_app.engine.dead_letter_workflows import Cause, log_taken, take_out
from remand_app.engine.decided import Decided
from remand_app.engine.engine import Engine
from remand_app.engine.operate.context import Operation, Who, illegal, patient
from remand_app.store import dead_letters
from remand_app.store.workflows import lock_workflow

_CLASS: Final = "remand.errors.TakenOut"


@patient
def open_dead_letter(engine: Engine, workflow_id: UUID, who: Who) -> Decided:
    """Take a workflow out of work and into the dead letter queue; requeueing its letter sends it on.

    What waits is withdrawn, results of running steps are refused when they come.

    Raises:
        InputInvalid: no reason is given.
        IllegalMove: the workflow has ended, or has an open dead letter already.
    """
    if not who.reason:
        raise InputInvalid("a letter opened by hand needs a reason", hint="say why: --reason TEXT")
    with engine.database.begin() as connection:
        workflow = lock_workflow(connection, workflow_id)
        operation = Operation(connection, workflow, who, engine.now(connection))
        _refuse(operation)
        cause = Cause(DeadReason.MANUAL_DLQ, _CLASS, who.reason)
        died = take_out(
            engine, connection, [workflow_id], cause, by=who.by, now=operation.now, letters="always"
        )
        if not died.opened:
            raise illegal(workflow, "take out", "its last results are just being applied: try again")
        after = lock_workflow(connection, workflow_id).state
        letter = died.opened[0].letter_id
        operation.record(
            "dead_letter.open",
            kind="dead_letter",
            subject=letter,
            before={"workflow": workflow.state},
            after={"status": "pending", "workflow": after},
        )
    log_taken(died)
    return Decided(workflow_id, workflow.state, after)


def _refuse(operation: Operation) -> None:
    workflow = operation.workflow
    if workflow.state.is_final:
        raise illegal(workflow, "take out", "only a workflow that has not ended can be taken out of work")
    known = dead_letters.open_letter_of(operation.connection, workflow.id)
    if known is not None:
        raise IllegalMove(
            f"workflow {workflow.id} has an open dead letter already, {known.id}",
            hint="add a note to it: `remand dlq note`",
            details={"workflow_id": str(workflow.id), "dead_letter_id": str(known.id)},
        )
