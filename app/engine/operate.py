"""What a person may do: repair a step, cancel, and work on an investigation.

Each verb is one transaction: the workflow is locked, the move is made, the workflow is reopened and evaluated
at once, and its dead letter closed when nothing is left in error, with who and why. Then the bell rings.
An illegal move raises and says in which state the thing is; nothing has changed then.
Source: C2, C6.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from app.domain.errors import HeldByBreaker, IllegalMove, InputInvalid, JsonInvalid, StepNotFound
from app.domain.jsonvalue import encode
from app.domain.states import BreakerState, DeadLetterStatus, StepState, WorkflowState
from app.engine.context import Engine
from app.store import dlq, repairs
from app.store.dlq import DeadLetter
from app.store.session import Connection
from app.store.steps import move_step
from app.store.workflows import Workflow, lock_workflow
from app.telemetry import log

LIVE_STEP = (*(state for state in StepState if not state.is_final), StepState.ERROR)


@dataclass(frozen=True, slots=True)
class Who:
    """Who decided, and why."""

    by: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Decided:
    """What a verb did: state before and after, and the entry it closed."""

    workflow_id: UUID
    before: str
    after: str
    changed: bool = True
    closed_letter: UUID | None = None


@dataclass(frozen=True, slots=True)
class _Turn:
    """What a verb holds while its transaction is open: the locked workflow, who decided, and the instant.

    The instant is taken after the lock: whoever waited acts after the one it waited for.
    """

    connection: Connection
    workflow: Workflow
    who: Who
    now: datetime


def retry_step(engine: Engine, workflow_id: UUID, step: str, who: Who, *, new_input: Any = None) -> Decided:
    """Run a failed step again, with another input if one is given; a waiting retry is due at once.

    Raises:
        IllegalMove: the step is in no state that can be retried; the message names it.
        HeldByBreaker: it waits, and a breaker would hold it again.
    """

    def act(turn: _Turn) -> list[str]:
        state = _state_of(turn.connection, workflow_id, step)
        if new_input is not None:
            text = _json(new_input, "input", engine.settings.input_max_bytes)
            repairs.set_input(turn.connection, workflow_id, step, text)
        if state is StepState.WAITING_FOR_RETRY:
            _refuse_held(turn, step)
            return repairs.wake(turn.connection, workflow_id, step, by=who.by, now=turn.now)
        _reset(turn, step, state)
        return []

    return _decide(engine, workflow_id, step, who, act, verb="retry", closing=DeadLetterStatus.REQUEUED)


def resolve_step(engine: Engine, workflow_id: UUID, step: str, who: Who) -> Decided:
    """Declare a step done by hand, without a result; its children may start and find None.

    Raises:
        IllegalMove: the step has ended.
    """

    def act(turn: _Turn) -> list[str]:
        _end_by_hand(turn, step, "resolve_manually", StepState.RESOLVED_MANUALLY)
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
    text = _json(result, "result", engine.settings.result_max_bytes)

    def act(turn: _Turn) -> list[str]:
        _end_by_hand(turn, step, "complete_manually", StepState.COMPLETE)
        repairs.set_result(turn.connection, workflow_id, step, text)
        return []

    return _decide(
        engine, workflow_id, step, who, act, verb="complete", closing=DeadLetterStatus.MANUALLY_RESOLVED
    )


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
            _refuse_closed(dlq.lock_dead_letter(connection, letter_id), "cancel")
        if workflow.state is WorkflowState.CANCELLED:
            return Decided(workflow_id, workflow.state, workflow.state, changed=False)
        if not repairs.cancel(connection, workflow_id, by=who.by, reason=who.reason, now=now):
            raise _illegal(workflow, "cancel", "only a workflow that has not ended can be cancelled")
        letter = _close_open(_Turn(connection, workflow, who, now), DeadLetterStatus.CANCELLED)
    log("workflow.cancelled", workflow_id=str(workflow_id), by=who.by, reason=who.reason)
    _log_closed(letter, workflow_id, DeadLetterStatus.CANCELLED, who)
    return Decided(workflow_id, workflow.state, WorkflowState.CANCELLED, closed_letter=letter)


def requeue_letter(engine: Engine, letter_id: UUID, who: Who) -> Decided:
    """Send every failed step of an entry's workflow back to work and close the entry as requeued.

    Raises:
        IllegalMove: the entry is closed already.
    """

    def act(turn: _Turn) -> list[str]:
        for step in repairs.failed_steps(turn.connection, turn.workflow.id):
            _reset(turn, step, StepState.ERROR)
        return []

    return _decide_letter(engine, letter_id, who, act, verb="requeue", closing=DeadLetterStatus.REQUEUED)


def resolve_letter(engine: Engine, letter_id: UUID, who: Who, *, whole_workflow: bool = False) -> Decided:
    """Declare the failed steps done by hand, so that the workflow goes on; or all of the workflow.

    Raises:
        IllegalMove: the entry is closed already.
    """

    def act(turn: _Turn) -> list[str]:
        if whole_workflow:
            repairs.resolve_workflow(
                turn.connection, turn.workflow.id, by=who.by, reason=who.reason, now=turn.now
            )
            return []
        for step in repairs.failed_steps(turn.connection, turn.workflow.id):
            _end_by_hand(turn, step, "resolve_manually", StepState.RESOLVED_MANUALLY)
        return []

    return _decide_letter(
        engine, letter_id, who, act, verb="resolve", closing=DeadLetterStatus.MANUALLY_RESOLVED
    )


def give_up_letter(engine: Engine, letter_id: UUID, who: Who) -> Decided:
    """Close an entry as permanently failed; a workflow with nothing left to do goes to `error`.

    Raises:
        IllegalMove: the entry is closed already, or the workflow still has steps under way.
    """
    with engine.database.begin() as connection:
        letter, workflow = _locked(connection, letter_id)
        now = engine.now(connection)
        _refuse_closed(letter, "give up")
        if not repairs.give_up(connection, workflow.id, by=who.by, reason=who.reason, now=now):
            raise _illegal(workflow, "give_up", "some of its steps are still under way: wait or cancel")
        _close(_Turn(connection, workflow, who, now), letter, DeadLetterStatus.PERMANENTLY_FAILED)
    _log_closed(letter_id, workflow.id, DeadLetterStatus.PERMANENTLY_FAILED, who)
    return Decided(workflow.id, workflow.state, WorkflowState.ERROR, closed_letter=letter_id)


def cancel_letter(engine: Engine, letter_id: UUID, who: Who) -> Decided:
    """Cancel the workflow of an entry and close the entry.

    Raises:
        IllegalMove: the entry is closed already.
    """
    letter = dlq.get_dead_letter(engine.database, letter_id)
    return cancel(engine, letter.workflow_id, who, letter_id=letter_id)


def claim_letter(engine: Engine, letter_id: UUID, who: Who) -> Decided:
    """Take an investigation. Idempotent for the one who has it.

    Raises:
        IllegalMove: somebody else has it, or it is closed; the message says who.
    """
    with engine.database.begin() as connection:
        letter, workflow = _locked(connection, letter_id)
        now = engine.now(connection)
        _refuse_closed(letter, "claim")
        if letter.claimed_by == who.by:
            return Decided(workflow.id, letter.status, letter.status, changed=False)
        if letter.claimed_by is not None:
            raise IllegalMove(
                f"dead letter {letter.id} is claimed by {letter.claimed_by}"
                f" since {letter.claimed_at:%Y-%m-%d %H:%M} UTC",
                hint="ask them, or add a note",
                details={"status": letter.status, "claimed_by": letter.claimed_by},
            )
        dlq.change_letter(
            connection, letter.id, status=DeadLetterStatus.INVESTIGATING, claimed_by=who.by, claimed_at=now
        )
        if who.reason:
            dlq.add_note(connection, letter.id, author=who.by, text=who.reason, now=now)
    log("dead_letter.claimed", dead_letter_id=str(letter.id), workflow_id=str(workflow.id), by=who.by)
    return Decided(workflow.id, letter.status, DeadLetterStatus.INVESTIGATING)


def note_letter(engine: Engine, letter_id: UUID, text: str, who: Who) -> None:
    """Add a note; a closed entry takes notes too.

    Raises:
        InputInvalid: the note is empty or not text that can be stored.
    """
    if not text.strip():
        raise InputInvalid("a note needs text")
    _json(text, "note", engine.settings.input_max_bytes)
    with engine.database.begin() as connection:
        dlq.lock_dead_letter(connection, letter_id)
        dlq.add_note(connection, letter_id, author=who.by, text=text.strip(), now=engine.now(connection))
    log("dead_letter.noted", dead_letter_id=str(letter_id), by=who.by)


_Act = Callable[[_Turn], Sequence[str]]


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
        turn = _Turn(connection, workflow, who, engine.now(connection))
        before = _state_of(connection, workflow_id, step)
        rung = [*act(turn), *_go_on(turn)]
        letter = None
        if not repairs.failed_steps(connection, workflow_id):
            letter = _close_open(turn, closing)
        elif turn.workflow.state is WorkflowState.ERROR:
            _take_up_again(turn, step)
        after = _state_of(connection, workflow_id, step)
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
    _log_closed(letter, workflow_id, closing, who)
    return Decided(workflow_id, before, after, closed_letter=letter)


def _decide_letter(
    engine: Engine, letter_id: UUID, who: Who, act: _Act, *, verb: str, closing: DeadLetterStatus
) -> Decided:
    with engine.database.begin() as connection:
        letter, workflow = _locked(connection, letter_id)
        _refuse_closed(letter, verb)
        turn = _Turn(connection, workflow, who, engine.now(connection))
        rung = [*act(turn), *_go_on(turn)]
        _close(turn, letter, closing)
        after = lock_workflow(connection, workflow.id).state
    engine.bell.ring(rung)
    _log_closed(letter_id, workflow.id, closing, who)
    return Decided(workflow.id, workflow.state, after, closed_letter=letter_id)


def _take_up_again(turn: _Turn, step: str) -> None:
    """Open the entry of a given-up workflow again: it moves, and some of its steps are still broken."""
    letter_id = dlq.open_again(turn.connection, turn.workflow.id)
    text = f"given up before, taken up again with step {step}; other steps are still in error"
    dlq.add_note(turn.connection, letter_id, author=turn.who.by, text=text, now=turn.now)


def _go_on(turn: _Turn) -> list[str]:
    """Reopen the workflow if it stands still, and enqueue what is ready now."""
    who, workflow_id = turn.who, turn.workflow.id
    repairs.reopen(turn.connection, workflow_id, by=who.by, reason=who.reason, now=turn.now)
    return repairs.evaluate(turn.connection, workflow_id, by=who.by, now=turn.now)


def _reset(turn: _Turn, step: str, state: StepState) -> None:
    if not _move(turn, step, [StepState.ERROR], "reset_for_retry", StepState.PENDING):
        raise _illegal_step(turn, step, state, "only a step in error or waiting for its retry can be retried")
    repairs.forget_failures(turn.connection, turn.workflow.id, step)


def _end_by_hand(turn: _Turn, step: str, event: str, to_state: StepState) -> None:
    # Run queue before step, as its worker takes them: the other way round they would wait for each other.
    repairs.leave_queue(turn.connection, turn.workflow.id, step)
    state = _state_of(turn.connection, turn.workflow.id, step)
    if not _move(turn, step, LIVE_STEP, event, to_state):
        raise _illegal_step(turn, step, state, "it has ended already")


def _move(turn: _Turn, step: str, from_states: Sequence[StepState], event: str, to_state: StepState) -> bool:
    return move_step(
        turn.connection,
        turn.workflow.id,
        step,
        from_states=from_states,
        event=event,
        to_state=to_state,
        by=turn.who.by,
        reason=turn.who.reason,
        now=turn.now,
    )


def _state_of(connection: Connection, workflow_id: UUID, step: str) -> StepState:
    state = repairs.step_state(connection, workflow_id, step)
    if state is None:
        raise StepNotFound(f"workflow {workflow_id} has no step {step!r}")
    return state


def _locked(connection: Connection, letter_id: UUID) -> tuple[DeadLetter, Workflow]:
    """Lock the workflow first, then its entry: the order everybody keeps."""
    workflow_id = repairs.workflow_of_letter(connection, letter_id)
    workflow = lock_workflow(connection, workflow_id)
    return dlq.lock_dead_letter(connection, letter_id), workflow


def _refuse_closed(letter: DeadLetter, verb: str) -> None:
    if not letter.status.is_open:
        raise IllegalMove(
            f"cannot {verb} dead letter {letter.id}: it was closed as {letter.status} by {letter.closed_by}"
            f" at {letter.closed_at:%Y-%m-%d %H:%M} UTC",
            details={"status": str(letter.status), "closed_by": letter.closed_by},
        )


def _refuse_held(turn: _Turn, step: str) -> None:
    gating = repairs.gating_breaker(turn.connection, turn.workflow.id, step)
    if gating is None:
        return
    name, state = gating
    if state is BreakerState.CLOSED:
        told, verb = "lets go of what it held in turn", "to let all of it out at once: remand breaker reset"
    else:
        told, verb = f"is {state}", "to let it go: remand breaker close"
    raise HeldByBreaker(
        f"step {step!r} cannot be retried now: the breaker of {name} {told}",
        hint=f"{verb} {shlex.quote(name)}",
        details={"workflow_id": str(turn.workflow.id), "step": step, "breaker": name, "state": str(state)},
    )


def _close_open(turn: _Turn, status: DeadLetterStatus) -> UUID | None:
    letter = dlq.open_letter_of(turn.connection, turn.workflow.id)
    if letter is None:
        return None
    _close(turn, letter, status)
    return letter.id


def _close(turn: _Turn, letter: DeadLetter, status: DeadLetterStatus) -> None:
    who = turn.who
    dlq.change_letter(
        turn.connection, letter.id, status=status, closed_by=who.by, closed_at=turn.now, resolution=who.reason
    )


def _log_closed(letter_id: UUID | None, workflow_id: UUID, status: DeadLetterStatus, who: Who) -> None:
    if letter_id is None:
        return
    log(
        "dead_letter.closed",
        dead_letter_id=str(letter_id),
        workflow_id=str(workflow_id),
        status=str(status),
        by=who.by,
        reason=who.reason,
    )


def _illegal(workflow: Workflow, verb: str, why: str) -> IllegalMove:
    return IllegalMove(
        f"cannot {verb} workflow {workflow.id}: it is {workflow.state}; {why}",
        details={"workflow_id": str(workflow.id), "state": str(workflow.state)},
    )


def _illegal_step(turn: _Turn, step: str, state: StepState, why: str) -> IllegalMove:
    return IllegalMove(
        f"step {step!r} is {state}: {why}",
        details={"workflow_id": str(turn.workflow.id), "step": step, "state": str(state)},
    )


def _json(value: Any, what: str, max_bytes: int) -> str:
    try:
        return encode(value, what=what, max_bytes=max_bytes)
    except JsonInvalid as problem:
        raise InputInvalid(problem.message, hint=problem.hint, details={"path": problem.path}) from None
