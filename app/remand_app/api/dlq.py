"""`/dlq`: dead letters, one at a time: find, show, take, note, send back, resolve, give up."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from fastapi import APIRouter
from pydantic import Field
from starlette.responses import Response

from remand_app.api.dependencies import (
    Body,
    DryRun,
    EngineOf,
    LetterId,
    LetterReader,
    LetterWriter,
    Prose,
    Reason,
    WorkflowId,
)
from remand_app.api.filters import QUESTION, LetterQuestion
from remand_app.api.idempotency import OnceOf
from remand_app.api.openapi import CHANGES, Page, errors
from remand_app.api.responses import answer, page_of_lines, whole
from remand_app.api.verbs import Action, bodies, body_of, carry_out
from remand_app.engine.engine import Engine
from remand_app.engine.operate import Decided, Preview
from remand_app.engine.suggest import Suggestion, suggestions_for
from remand_app.resources import letters
from remand_app.resources.verbs import verb_of
from remand_app.web.identity import Caller

router = APIRouter(tags=["dead letters"])
_ONE = "/dlq/{letter_id}"
_NOTE, _REQUEUE = verb_of("letter", "note"), verb_of("letter", "requeue")
if TYPE_CHECKING:
    LetterAction = Action
else:
    LetterAction = bodies("letter")


class NoteText(Body):
    """A note; it cannot be changed later."""

    text: Prose = Field(min_length=1, examples=["the card was never activated"])


class Why(Body):
    """Why something is decided."""

    reason: Reason = None
    dry_run: DryRun = False


@router.get(
    "/dlq", response_model=Page[letters.LetterRow], summary="List dead letters", openapi_extra=QUESTION
)
def list_letters(engine: EngineOf, caller: LetterReader, query: LetterQuestion) -> Response:
    """List dead letters, newest first: the open ones unless told otherwise; snapshots are in each entry."""
    lines = letters.list_lines(engine.database, query.wanted(), after=query.cursor, limit=query.limit)
    return page_of_lines(lines)


@router.get(
    "/dlq/investigation-queue",
    response_model=Page[letters.LetterRow],
    summary="List what to look at first",
    openapi_extra=QUESTION,
)
def list_investigation_queue(engine: EngineOf, caller: LetterReader, query: LetterQuestion) -> Response:
    """List open dead letters, most urgent first: by their age, and a head start for grave reasons."""
    lines = letters.triage_lines(engine.database, query.wanted(), after=query.cursor, limit=query.limit)
    return page_of_lines(lines)


@router.get(
    "/dlq/by-workflow/{workflow_id}",
    response_model=letters.LetterShown,
    summary="Show the dead letter of a workflow",
    responses=errors(404),
)
def show_letter_of_workflow(engine: EngineOf, caller: LetterReader, workflow_id: WorkflowId) -> Response:
    """Show the open dead letter of a workflow, else its newest."""
    return _shown(engine, letters.find_dead_letter(engine.database, str(workflow_id)))


@router.get(_ONE, response_model=letters.LetterShown, summary="Show a dead letter", responses=errors(404))
def show_letter(engine: EngineOf, caller: LetterReader, letter_id: LetterId) -> Response:
    """Show what happened, why it cannot go on, who looks at it, and what can be done now."""
    return _shown(engine, letters.get_dead_letter(engine.database, letter_id))


def _shown(engine: Engine, letter: letters.DeadLetter) -> Response:
    return answer(letters.show(engine, letter))


@router.patch(
    _ONE,
    response_model=letters.LetterDecision | Preview,
    summary="Take, mark, resolve, give up or cancel a dead letter",
    responses={**CHANGES, **errors(404, 409)},
)
def change_letter(
    engine: EngineOf, caller: LetterWriter, letter_id: LetterId, body: LetterAction
) -> Response:
    """Decide on a dead letter; where it does not stand so that this can be, 409 says how it stands."""
    return _decided(engine, letter_id, body, caller)


def _decided(engine: Engine, letter_id: UUID, body: Action, caller: Caller) -> Response:
    letter = letters.get_dead_letter(engine.database, letter_id)
    made = carry_out(engine, "letter", (letter_id,), body, caller, letter.workflow_id)
    return answer(letters.decided(engine.database, letter_id, made) if isinstance(made, Decided) else made)


@router.post(
    _ONE + "/requeue",
    response_model=letters.LetterDecision | Preview,
    summary="Send a dead letter back to work",
    responses={**CHANGES, **errors(404, 409)},
)
def requeue_letter(
    engine: EngineOf, caller: LetterWriter, once: OnceOf, letter_id: LetterId, body: Why
) -> Response:
    """Run the failed steps again with fresh attempts; the workflow goes on from there."""

    def act(_: UUID) -> Response:
        return _decided(engine, letter_id, body_of(_REQUEUE)(action="requeue", **body.model_dump()), caller)

    return once.run(body, act)


@router.get(
    _ONE + "/suggestions",
    response_model=Page[Suggestion],
    summary="Say what may be behind a dead letter",
    responses=errors(404),
)
def suggest_for_letter(engine: EngineOf, caller: LetterReader, letter_id: LetterId) -> Response:
    """Say what coincides with the failures of its group, each with the facts it comes from."""
    return whole(suggestions_for(engine, letters.get_dead_letter(engine.database, letter_id)))


@router.get(
    _ONE + "/notes",
    response_model=Page[letters.Note],
    summary="Read the notes of a dead letter",
    responses=errors(404),
)
def list_letter_notes(engine: EngineOf, caller: LetterReader, letter_id: LetterId) -> Response:
    """Read the notes of an investigation, oldest first."""
    letters.get_dead_letter(engine.database, letter_id)
    return whole(letters.notes_of(engine.database, letter_id))


@router.post(
    _ONE + "/notes",
    response_model=letters.NoteMade,
    status_code=201,
    summary="Add a note to a dead letter",
    responses={**CHANGES, **errors(404, 409)},
)
def add_letter_note(
    engine: EngineOf, caller: LetterWriter, once: OnceOf, letter_id: LetterId, body: NoteText
) -> Response:
    """Add a note to an investigation; a closed one takes notes, too."""

    def act(_: UUID) -> Response:
        _NOTE.act(engine, (letter_id,), caller.who(), {"text": body.text})
        return answer(letters.NoteMade(letter_id, caller.name, body.text.strip()), 201)

    return once.run(body, act)
