"""Verbs on an investigation: claim it, note, send back, resolve, give up, cancel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import UUID

from remand.redact import redact_text
from remand_app.domain.errors import IllegalMove, InputInvalid
from remand_app.domain.states import DeadLetterStatus, StepState, WorkflowState
from remand_app.domain.text import MAX_PROSE, check_text
from remand_app.engine.decided import Decided
from remand_app.engine.engine import Engine
from remand_app.engine.operate.context import (
    Operation,
    Who,
    close,
    end_by_hand,
    go_on,
    illegal,
    locked,
    log_closed,
    patient,
    refuse_closed,
    reset,
)
from remand_app.engine.operate.workflows import cancel
from remand_app.store import audit, dead_letters, operator_moves
from remand_app.store.dead_letters import DeadLetter
from remand_app.store.workflows import lock_workflow
from remand_app.telemetry import log


@patient
def requeue_letter(engine: Engine, letter_id: UUID, who: Who) -> Decided:
    """Send every failed step of an entry's workflow back to work and close the entry as requeued.

    Raises:
        IllegalMove: the entry is closed already.
    """

    def act(operation: Operation) -> list[str]:
        for step in operator_moves.failed_steps(operation.connection, operation.workflow.id):
            reset(operation, step, StepState.ERROR)
        return []

    return _decide_letter(engine, letter_id, who, act, verb="requeue", closing=DeadLetterStatus.REQUEUED)


@patient
def resolve_letter(engine: Engine, letter_id: UUID, who: Who, *, whole_workflow: bool = False) -> Decided:
    """Declare the failed steps done by hand, so that the workflow goes on; or all of the workflow.

    Raises:
        IllegalMove: the entry is closed already.
    """

    def act(operation: Operation) -> list[str]:
        if whole_workflow:
            operator_moves.resolve_workflow(
                operation.connection, operation.workflow.id, by=who.by, reason=who.reason, now=operation.now
            )
            return []
        for step in operator_moves.failed_steps(operation.connection, operation.workflow.id):
            end_by_hand(operation, step, "resolve_manually", StepState.RESOLVED_MANUALLY)
        return []

    return _decide_letter(
        engine, letter_id, who, act, verb="resolve", closing=DeadLetterStatus.MANUALLY_RESOLVED
    )


@patient
def give_up_letter(engine: Engine, letter_id: UUID, who: Who) -> Decided:
    """Close an entry as permanently failed; a workflow with nothing left to do goes to `error`.

    Raises:
        IllegalMove: the entry is closed already, or the workflow still has steps under way.
    """
    with engine.database.begin() as connection:
        letter, workflow = locked(connection, letter_id)
        now = engine.now(connection)
        refuse_closed(letter, "give up")
        if not operator_moves.give_up(connection, workflow.id, by=who.by, reason=who.reason, now=now):
            raise illegal(workflow, "give_up", "some of its steps are still under way: wait or cancel")
        operation = Operation(connection, workflow, who, now)
        close(operation, letter, DeadLetterStatus.PERMANENTLY_FAILED)
        _record(
            operation,
            letter,
            "give_up",
            status=DeadLetterStatus.PERMANENTLY_FAILED,
            workflow=(workflow.state, WorkflowState.ERROR),
        )
    log_closed(letter_id, workflow.id, DeadLetterStatus.PERMANENTLY_FAILED, who)
    return Decided(workflow.id, workflow.state, WorkflowState.ERROR, closed_letter=letter_id)


@patient
def cancel_letter(engine: Engine, letter_id: UUID, who: Who) -> Decided:
    """Cancel the workflow of an entry and close the entry.

    Raises:
        IllegalMove: the entry is closed already.
    """
    letter = dead_letters.get_dead_letter(engine.database, letter_id)
    return cancel(engine, letter.workflow_id, who, letter_id=letter_id)


@patient
def claim_letter(engine: Engine, letter_id: UUID, who: Who) -> Decided:
    """Take an investigation. Idempotent for the one who has it.

    Raises:
        IllegalMove: somebody else has it, or it is closed; the message says who.
    """
    with engine.database.begin() as connection:
        letter, workflow = locked(connection, letter_id)
        now = engine.now(connection)
        refuse_closed(letter, "claim")
        if letter.claimed_by == who.by:
            return Decided(workflow.id, letter.status, letter.status, changed=False)
        if letter.claimed_by is not None:
            raise IllegalMove(
                f"dead letter {letter.id} is claimed by {letter.claimed_by}"
                f" since {letter.claimed_at:%Y-%m-%d %H:%M} UTC",
                hint="ask them, or add a note",
                details={"status": letter.status, "claimed_by": letter.claimed_by},
            )
        dead_letters.change_letter(
            connection, letter.id, status=DeadLetterStatus.INVESTIGATING, claimed_by=who.by, claimed_at=now
        )
        operation = Operation(connection, workflow, who, now)
        _record(operation, letter, "claim", status=DeadLetterStatus.INVESTIGATING)
        if who.reason:
            dead_letters.add_note(connection, letter.id, author=who.by, text=who.reason, now=now)
    log("dead_letter.claimed", dead_letter_id=str(letter.id), workflow_id=str(workflow.id), by=who.by)
    return Decided(workflow.id, letter.status, DeadLetterStatus.INVESTIGATING)


@patient
def note_letter(engine: Engine, letter_id: UUID, text: str, who: Who) -> None:
    """Add a note, what looks like a secret in it masked; a closed entry takes notes too.

    Raises:
        InputInvalid: the note is empty or not text that can be stored.
    """
    if not text.strip():
        raise InputInvalid("a note needs text")
    check_text(text, "note", longest=MAX_PROSE)
    masked = redact_text(text.strip(), engine.settings.redact_keys)
    with engine.database.begin() as connection:
        letter = dead_letters.lock_dead_letter(connection, letter_id)
        now = engine.now(connection)
        dead_letters.add_note(connection, letter_id, author=who.by, text=masked, now=now)
        entry = audit.Entry(
            "dead_letter.note",
            "dead_letter",
            str(letter_id),
            letter.workflow_id,
            after={"note": masked},
        )
        audit.record(connection, entry, by=who.by, via=who.via, reason=None, now=now)
    log("dead_letter.noted", dead_letter_id=str(letter_id), by=who.by)


_Act = Callable[[Operation], Sequence[str]]


def _decide_letter(
    engine: Engine, letter_id: UUID, who: Who, act: _Act, *, verb: str, closing: DeadLetterStatus
) -> Decided:
    with engine.database.begin() as connection:
        letter, workflow = locked(connection, letter_id)
        refuse_closed(letter, verb)
        operation = Operation(connection, workflow, who, engine.now(connection))
        rung = [*act(operation), *go_on(operation)]
        close(operation, letter, closing)
        after = lock_workflow(connection, workflow.id).state
        _record(operation, letter, verb, status=closing, workflow=(workflow.state, after))
    engine.bell.ring(rung)
    log_closed(letter_id, workflow.id, closing, who)
    return Decided(workflow.id, workflow.state, after, closed_letter=letter_id)


def _record(
    operation: Operation,
    letter: DeadLetter,
    verb: str,
    *,
    status: DeadLetterStatus,
    workflow: tuple[WorkflowState, WorkflowState] | None = None,
) -> None:
    before: dict[str, object] = {"status": letter.status, "claimed_by": letter.claimed_by}
    after: dict[str, object] = {"status": status}
    if workflow is not None:
        before["workflow"], after["workflow"] = workflow
    operation.record(f"dead_letter.{verb}", kind="dead_letter", subject=letter.id, before=before, after=after)
