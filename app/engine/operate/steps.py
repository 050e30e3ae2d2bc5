"""What a person may do with one step: retry it, declare it done, complete it with a result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from app.domain.states import DeadLetterStatus, StepState, WorkflowState
from app.engine.context import Engine
from app.engine.operate.turn import (
    Decided,
    Turn,
    Who,
    close_open,
    end_by_hand,
    go_on,
    json_text,
    log_closed,
    refuse_held,
    reset,
    state_of,
)
from app.store import dlq, repairs
from app.store.workflows import lock_workflow
from app.telemetry import log


def retry_step(engine: Engine, workflow_id: UUID, step: str, who: Who, *, new_input: Any = None) -> Decided:
    """Run a failed step again, with another input if one is given; a waiting retry is due at once.

    Raises:
        IllegalMove: the step is in no state that can be retried; the message names it.
        HeldByBreaker: it waits, and a breaker would hold it again.
    """

    def act(turn: Turn) -> list[str]:
        state = state_of(turn.connection, workflow_id, step)
        if new_input is not None:
            text = json_text(new_input, "input", engine.settings.input_max_bytes)
            repairs.set_input(turn.connection, workflow_id, step, text)
        if state is StepState.WAITING_FOR_RETRY:
            refuse_held(turn, step)
            return repairs.wake(turn.connection, workflow_id, step, by=who.by, now=turn.now)
        reset(turn, step, state)
        return []

    return _decide(engine, workflow_id, step, who, act, verb="retry", closing=DeadLetterStatus.REQUEUED)


def resolve_step(engine: Engine, workflow_id: UUID, step: str, who: Who) -> Decided:
    """Declare a step done by hand, without a result; its children may start and find None.

    Raises:
        IllegalMove: the step has ended.
    """

    def act(turn: Turn) -> list[str]:
        end_by_hand(turn, step, "resolve_manually", StepState.RESOLVED_MANUALLY)
        return []

    return _decide(
        engine, workflow_id, step, who, act, verb="resolve", closing=DeadLetterStatus.MANUALLY_RESOLVED
    )


def complete_step(engine: Engine, workflow_id: UUID, step: str, who: Who, *, result: Any) -> Decided:
    """Complete a step by hand with a result, as if its handler had returned it.

    Raises:
        IllegalMove: the step has ended.
        InputInvalid: the result is not JSON or too large.
    """
    text = json_text(result, "result", engine.settings.result_max_bytes)

    def act(turn: Turn) -> list[str]:
        end_by_hand(turn, step, "complete_manually", StepState.COMPLETE)
        repairs.set_result(turn.connection, workflow_id, step, text)
        return []

    return _decide(
        engine, workflow_id, step, who, act, verb="complete", closing=DeadLetterStatus.MANUALLY_RESOLVED
    )


_Act = Callable[[Turn], Sequence[str]]


def _decide(
    engine: Engine,
    workflow_id: UUID,
    step: str,
    who: Who,
    act: _Act,
    *,
    verb: str,
    closing: DeadLetterStatus,
) -> Decided:
    with engine.database.begin() as connection:
        workflow = lock_workflow(connection, workflow_id)
        turn = Turn(connection, workflow, who, engine.now(connection))
        before = state_of(connection, workflow_id, step)
        rung = [*act(turn), *go_on(turn)]
        letter = None
        if not repairs.failed_steps(connection, workflow_id):
            letter = close_open(turn, closing)
        elif turn.workflow.state is WorkflowState.ERROR:
            _take_up_again(turn, step)
        after = state_of(connection, workflow_id, step)
        turn.record(
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


def _take_up_again(turn: Turn, step: str) -> None:
    """Open the entry of a given-up workflow again: it moves, and some of its steps are still broken."""
    letter_id = dlq.open_again(turn.connection, turn.workflow.id)
    text = f"given up before, taken up again with step {step}; other steps are still in error"
    dlq.add_note(turn.connection, letter_id, author=turn.who.by, text=text, now=turn.now)
