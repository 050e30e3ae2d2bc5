"""The parts of every verb of a person: the locked workflow, who decides, the moves, the end of the entry.

Each verb is one transaction. It locks the workflow, makes the move, and reopens and evaluates the workflow at
once. If nothing is left in error, it closes the dead letter, with who and why. The audit entry is written in
the same transaction. Then the bell rings. An illegal move raises an error that names the present state;
nothing has changed then. Source: C2, C6.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar
from uuid import UUID

from remand.redact import redact_text
from remand_app.domain.errors import Busy, HeldByBreaker, IllegalMove, InputInvalid, JsonInvalid, StepNotFound
from remand_app.domain.jsonvalue import encode
from remand_app.domain.states import BreakerState, DeadLetterStatus, StepState
from remand_app.domain.text import MAX_PROSE, check_text
from remand_app.store import audit, dead_letters, operator_moves
from remand_app.store.database import Connection
from remand_app.store.dead_letters import DeadLetter
from remand_app.store.steps import move_step
from remand_app.store.workflows import Workflow, lock_workflow
from remand_app.telemetry import log

_P = ParamSpec("_P")
_R = TypeVar("_R")
_TRIES: Final = 3

LIVE_STEP = (*(state for state in StepState if not state.is_final), StepState.ERROR)


@dataclass(frozen=True, slots=True)
class Who:
    """Who decided, why, and through which interface."""

    by: str
    reason: str | None = None
    via: str = "cli"
    """cli, api, dashboard, celery or sweep."""

    def __post_init__(self) -> None:
        check_text(self.by, "name of who decides")
        # People paste what they see, and everybody who looks at the decision is shown the reason.
        if self.reason is not None:
            check_text(self.reason, "reason", longest=MAX_PROSE)
            object.__setattr__(self, "reason", redact_text(self.reason))


def patient(verb: Callable[_P, _R]) -> Callable[_P, _R]:
    """Try a verb again after a deadlock with others; the third deadlock raises Busy."""

    @wraps(verb)
    def tried(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        for _ in range(_TRIES - 1):
            try:
                return verb(*args, **kwargs)
            except Busy:
                continue
        return verb(*args, **kwargs)

    return tried


@dataclass(frozen=True, slots=True)
class Operation:
    """What a verb holds while its transaction is open: the locked workflow, who decided, and the instant.

    The instant is taken after the lock: a verb that waited acts after the one it waited for.
    """

    connection: Connection
    workflow: Workflow
    who: Who
    now: datetime

    def record(
        self,
        verb: str,
        *,
        kind: str,
        subject: object,
        before: Mapping[str, Any] | None = None,
        after: Mapping[str, Any] | None = None,
    ) -> None:
        """Write the decision to the audit log."""
        entry = audit.Entry(verb, kind, str(subject), self.workflow.id, before, after)
        who = self.who
        audit.record(self.connection, entry, by=who.by, via=who.via, reason=who.reason, now=self.now)


def go_on(operation: Operation) -> list[str]:
    """Reopen the workflow if it stands still and enqueue ready steps; return the queues that got work."""
    who, workflow_id = operation.who, operation.workflow.id
    operator_moves.reopen(operation.connection, workflow_id, by=who.by, reason=who.reason, now=operation.now)
    return operator_moves.evaluate(operation.connection, workflow_id, by=who.by, now=operation.now)


def reset(operation: Operation, step: str, state: StepState) -> None:
    """Send a step in error back to pending and forget its counts of failures.

    Raises:
        IllegalMove: it is not in error.
    """
    if not move(operation, step, [StepState.ERROR], "reset_for_retry", StepState.PENDING):
        raise illegal_step(
            operation, step, state, "only a step in error or waiting for its retry can be retried"
        )
    operator_moves.forget_failures(operation.connection, operation.workflow.id, step)
    rearm(operation, [step])


def end_by_hand(operation: Operation, step: str, event: str, to_state: StepState) -> None:
    """End a step that has not ended, whoever runs it.

    Raises:
        IllegalMove: it has ended.
    """
    # Lock the run queue before the step, as its worker does: the other order would be a deadlock.
    operator_moves.leave_queue(operation.connection, operation.workflow.id, step)
    state = state_of(operation.connection, operation.workflow.id, step)
    if not move(operation, step, LIVE_STEP, event, to_state):
        raise illegal_step(operation, step, state, "it has ended already")
    if state is StepState.ERROR:
        rearm(operation, [step])


def rearm(operation: Operation, steps: Sequence[str]) -> None:
    """Let the steps that followed the failure of these steps wait for their new end."""
    operator_moves.rearm_conditional(
        operation.connection,
        operation.workflow.id,
        steps,
        by=operation.who.by,
        reason=operation.who.reason,
        now=operation.now,
    )


def move(
    operation: Operation, step: str, from_states: Sequence[StepState], event: str, to_state: StepState
) -> bool:
    """Move a step; False if it is in none of the states."""
    return move_step(
        operation.connection,
        operation.workflow.id,
        step,
        from_states=from_states,
        event=event,
        to_state=to_state,
        by=operation.who.by,
        reason=operation.who.reason,
        now=operation.now,
    )


def state_of(connection: Connection, workflow_id: UUID, step: str) -> StepState:
    """Return the state of a step.

    Raises:
        StepNotFound: the workflow has none of that name.
    """
    state = operator_moves.step_state(connection, workflow_id, step)
    if state is None:
        raise StepNotFound(f"workflow {workflow_id} has no step {step!r}")
    return state


def locked(connection: Connection, letter_id: UUID) -> tuple[DeadLetter, Workflow]:
    """Lock the workflow first, then its entry: the order everybody keeps."""
    workflow_id = operator_moves.workflow_of_letter(connection, letter_id)
    workflow = lock_workflow(connection, workflow_id)
    return dead_letters.lock_dead_letter(connection, letter_id), workflow


def refuse_closed(letter: DeadLetter, verb: str) -> None:
    """Refuse a verb on an entry that is closed; the message says by whom. Raises IllegalMove."""
    if not letter.status.is_open:
        raise IllegalMove(
            f"cannot {verb} dead letter {letter.id}: it was closed as {letter.status} by {letter.closed_by}"
            f" at {letter.closed_at:%Y-%m-%d %H:%M} UTC",
            details={"status": str(letter.status), "closed_by": letter.closed_by},
        )


def refuse_held(operation: Operation, step: str) -> None:
    """Refuse to wake a step that a breaker would hold again. Raises HeldByBreaker."""
    gating = operator_moves.gating_breaker(operation.connection, operation.workflow.id, step)
    if gating is None:
        return
    name, state = gating
    if state is BreakerState.CLOSED:
        why, verb = "lets go of what it held in turn", "to let all of it out at once: remand breaker reset"
    else:
        why, verb = f"is {state}", "to let it go: remand breaker close"
    raise HeldByBreaker(
        f"step {step!r} cannot be retried now: the breaker of {name} {why}",
        hint=f"{verb} {shlex.quote(name)}",
        details={
            "workflow_id": str(operation.workflow.id),
            "step": step,
            "breaker": name,
            "state": str(state),
        },
    )


def close_open(operation: Operation, status: DeadLetterStatus) -> UUID | None:
    """Close the workflow's open entry and return its id; None if it has none."""
    letter = dead_letters.open_letter_of(operation.connection, operation.workflow.id)
    if letter is None:
        return None
    close(operation, letter, status)
    return letter.id


def close(operation: Operation, letter: DeadLetter, status: DeadLetterStatus) -> None:
    """Close an entry that the verb has locked, with who and why."""
    who = operation.who
    dead_letters.change_letter(
        operation.connection,
        letter.id,
        status=status,
        closed_by=who.by,
        closed_at=operation.now,
        resolution=who.reason,
        requeue_at=None,
    )


def log_closed(letter_id: UUID | None, workflow_id: UUID, status: DeadLetterStatus, who: Who) -> None:
    """Say after the commit which entry was closed, if one was."""
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


def illegal(workflow: Workflow, verb: str, why: str) -> IllegalMove:
    """Return the error that says in which state the workflow is."""
    return IllegalMove(
        f"cannot {verb} workflow {workflow.id}: it is {workflow.state}; {why}",
        details={"workflow_id": str(workflow.id), "state": str(workflow.state)},
    )


def illegal_step(operation: Operation, step: str, state: StepState, why: str) -> IllegalMove:
    """Return the error that says in which state the step is."""
    return IllegalMove(
        f"step {step!r} is {state}: {why}",
        details={"workflow_id": str(operation.workflow.id), "step": step, "state": str(state)},
    )


def json_text(value: Any, what: str, max_bytes: int) -> str:
    """Return the JSON text of what a person gave.

    Raises:
        InputInvalid: it is not JSON, or too large.
    """
    try:
        return encode(value, what=what, max_bytes=max_bytes)
    except JsonInvalid as problem:
        raise InputInvalid(problem.message, hint=problem.hint, details={"path": problem.path}) from None
