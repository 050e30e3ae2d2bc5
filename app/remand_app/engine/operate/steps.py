"""Verbs on one step: retry it, resolve it by hand, complete it with a result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final
from uuid import UUID

from remand_app.domain.errors import InputInvalid
from remand_app.domain.states import DeadLetterStatus, StepState, WorkflowState
from remand_app.domain.template import check_result, validate_input
from remand_app.engine.dead_letters import note_reopened
from remand_app.engine.decided import Decided
from remand_app.engine.engine import Engine
from remand_app.engine.operate.context import (
    Operation,
    Who,
    close_open,
    end_by_hand,
    go_on,
    json_text,
    log_closed,
    patient,
    refuse_held,
    reset,
    state_of,
)
from remand_app.engine.pauses import check_step_queue
from remand_app.store import dead_letters, groups, operator_moves
from remand_app.store.workflows import lock_workflow
from remand_app.telemetry import log

KEEP: Final = object()
"""Stands for "no new input": the step keeps its input."""


@patient
def retry_step(
    engine: Engine,
    workflow_id: UUID,
    step: str,
    who: Who,
    *,
    new_input: Any = KEEP,
    queue: str | None = None,
    priority: int | None = None,
) -> Decided:
    """Run a failed step again, or make a waiting retry due now. What is not given stays as it is.

    Null is an input like any other. A new input for a step without parents must match the template's schema
    of inputs, as a submitted one must, unless the template gives the step an input of another kind.

    Raises:
        InputInvalid: the input or the priority will not do.
        QueueNotFound: no template has steps in that queue.
        IllegalMove: the step is in no state that can be retried; the message names it.
        HeldByBreaker: it waits, and a breaker would hold it again.
    """
    _check_place(engine, queue, priority)

    def act(operation: Operation) -> list[str]:
        state = state_of(operation.connection, workflow_id, step)
        if new_input is not KEEP:
            operator_moves.set_input(
                operation.connection, workflow_id, step, _input_text(engine, operation, step, new_input)
            )
        if queue is not None or priority is not None:
            _move_place(operation, step, queue, priority)
        if state is StepState.WAITING_FOR_RETRY:
            refuse_held(operation, step)
            return operator_moves.wake(operation.connection, workflow_id, step, by=who.by, now=operation.now)
        reset(operation, step, state)
        return []

    return decide(engine, workflow_id, step, who, act, verb="retry", closing=DeadLetterStatus.REQUEUED)


@patient
def resolve_step(engine: Engine, workflow_id: UUID, step: str, who: Who) -> Decided:
    """Declare a step done by hand, without a result; its children may start and find None.

    Raises:
        IllegalMove: the step has ended.
    """

    def act(operation: Operation) -> list[str]:
        end_by_hand(operation, step, "resolve_manually", StepState.RESOLVED_MANUALLY)
        return []

    return decide(
        engine, workflow_id, step, who, act, verb="resolve", closing=DeadLetterStatus.MANUALLY_RESOLVED
    )


@patient
def complete_step(engine: Engine, workflow_id: UUID, step: str, who: Who, *, result: Any) -> Decided:
    """Complete a step by hand with a result, as if its handler had returned it.

    Raises:
        IllegalMove: the step has ended.
        InputInvalid: the result is not JSON, too large, or does not meet the step's schema of results.
    """
    text = json_text(result, "result", engine.settings.result_max_bytes)

    def act(operation: Operation) -> list[str]:
        check_result(
            engine.templates.get(operation.workflow.template_id, operation.connection).template, step, result
        )
        end_by_hand(operation, step, "complete_manually", StepState.COMPLETE)
        operator_moves.set_result(operation.connection, workflow_id, step, text)
        return []

    return decide(
        engine, workflow_id, step, who, act, verb="complete", closing=DeadLetterStatus.MANUALLY_RESOLVED
    )


_Act = Callable[[Operation], Sequence[str]]


def _check_place(engine: Engine, queue: str | None, priority: int | None) -> None:
    if priority is not None and not 0 <= priority <= 9:
        raise InputInvalid(f"priority {priority} is not 0 to 9")
    if queue is not None:
        check_step_queue(engine, queue)


def _move_place(operation: Operation, step: str, queue: str | None, priority: int | None) -> None:
    before = operator_moves.move_place(
        operation.connection, operation.workflow.id, step, queue=queue, priority=priority
    )
    operation.record(
        "step.move",
        kind="step",
        subject=f"{operation.workflow.id}/{step}",
        before={"queue": before[0], "priority": before[1]},
        after={
            "queue": queue or before[0],
            "priority": before[1] if priority is None else priority,
        },
    )


def _input_text(engine: Engine, operation: Operation, step: str, value: Any) -> str:
    most = engine.settings.input_max_bytes
    template = engine.templates.get(operation.workflow.template_id, operation.connection).template
    spec = template.step(step)
    if spec is not None and not spec.depends_on and not spec.has_input:
        return validate_input(template, value, most)
    return json_text(value, "input", most)


def decide(
    engine: Engine,
    workflow_id: UUID,
    step: str,
    who: Who,
    act: _Act,
    *,
    verb: str,
    closing: DeadLetterStatus,
) -> Decided:
    """Act on a step, let the workflow go on, and close its letter when nothing is left in error."""
    with engine.database.begin() as connection:
        workflow = lock_workflow(connection, workflow_id)
        operation = Operation(connection, workflow, who, engine.now(connection))
        before = state_of(connection, workflow_id, step)
        rung = [*act(operation), *go_on(operation)]
        letter = None
        if not operator_moves.failed_steps(connection, workflow_id):
            letter = close_open(operation, closing)
        elif operation.workflow.state is WorkflowState.ERROR:
            _take_up_again(operation, step)
        after = state_of(connection, workflow_id, step)
        operation.record(
            f"step.{verb}",
            kind="step",
            subject=f"{workflow_id}/{step}",
            before={"state": before},
            after={"state": after},
        )
    engine.bell.ring(rung)
    log(
        "step.decided",
        workflow_id=str(workflow_id),
        step=step,
        verb=verb,
        from_state=before,
        to_state=after,
        by=who.by,
        reason=who.reason,
    )
    log_closed(letter, workflow_id, closing, who)
    return Decided(workflow_id, before, after, closed_letter=letter)


def _take_up_again(operation: Operation, step: str) -> None:
    """Reopen the entry of a given-up workflow: it moves again, and some of its steps are still in error."""
    letter_id = dead_letters.open_again(operation.connection, operation.workflow.id)
    if letter_id is None:  # dead letters are disabled for it
        return
    text = f"given up before, taken up again with step {step}; other steps are still in error"
    dead_letters.add_note(
        operation.connection, letter_id, author=operation.who.by, text=text, now=operation.now
    )
    note_reopened(
        operation.connection, groups.reopen(operation.connection, letter_id, operation.now), operation.now
    )
