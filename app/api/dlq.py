"""`/dlq`: dead letters, each an investigation: find, look at, take, note, send back, resolve, give up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from fastapi import APIRouter
from pydantic import Field
from starlette.responses import Response

from app.api.answers import answer, page_of_lines, whole
from app.api.contract import CHANGES, Page, errors
from app.api.idempotency import OnceOf
from app.api.letter_actions import LetterAction, act_on
from app.api.parts import (
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
from app.api.selection import QUESTION, LetterQuestion
from app.api.views import Decision
from app.domain.dead_letters import possible_verbs
from app.engine import operate
from app.engine.context import Engine
from app.engine.masking import masked
from app.engine.operate import Decided, Preview
from app.engine.suggest import Suggestion, suggestions_for
from app.store.dead_letter_json import list_lines, triage_lines
from app.store.dead_letter_search import LetterRow
from app.store.dead_letters import DeadLetter, Note, find_dead_letter, get_dead_letter, notes_of
from app.store.steps import Attempt, attempts_of

router = APIRouter(tags=["dead letters"])
_ONE = "/dlq/{letter_id}"


@dataclass(frozen=True, slots=True)
class LetterShown(LetterRow):
    """A dead letter with what is needed to find out why."""

    source: str
    """What it was opened for: a step of a workflow, or what else may fail."""
    source_id: str
    metadata: dict[str, Any]
    snapshot: dict[str, Any]
    notes: list[Note]
    attempts_made: list[Attempt]
    verbs: list[str]
    """What can be done with it now."""


@dataclass(frozen=True, slots=True)
class LetterDecision(Decision):
    """What a verb did to a dead letter."""

    id: UUID


@dataclass(frozen=True, slots=True)
class NoteMade:
    """A note that was added."""

    id: UUID
    """Of the dead letter."""
    author: str
    text: str


class NoteText(Body):
    """A note; it cannot be changed later."""

    text: Prose = Field(min_length=1, examples=["the card was never activated"])


class Why(Body):
    """Why something is decided."""

    reason: Reason = None
    dry_run: DryRun = False


@router.get("/dlq", response_model=Page[LetterRow], summary="List dead letters", openapi_extra=QUESTION)
def list_letters(engine: EngineOf, caller: LetterReader, query: LetterQuestion) -> Response:
    """List dead letters, newest first: the open ones unless told otherwise; snapshots are in each entry."""
    found = list_lines(engine.database, query.wanted(), after=query.cursor, limit=query.limit)
    return page_of_lines(found)


@router.get(
    "/dlq/investigation-queue",
    response_model=Page[LetterRow],
    summary="List what to look at first",
    openapi_extra=QUESTION,
)
def list_investigation_queue(engine: EngineOf, caller: LetterReader, query: LetterQuestion) -> Response:
    """List open dead letters, most urgent first: by their age, and a head start for grave reasons."""
    found = triage_lines(engine.database, query.wanted(), after=query.cursor, limit=query.limit)
    return page_of_lines(found)


@router.get(
    "/dlq/by-workflow/{workflow_id}",
    response_model=LetterShown,
    summary="Show the dead letter of a workflow",
    responses=errors(404),
)
def show_letter_of_workflow(engine: EngineOf, caller: LetterReader, workflow_id: WorkflowId) -> Response:
    """Show the open dead letter of a workflow, else its newest."""
    return _shown(engine, find_dead_letter(engine.database, str(workflow_id)))


@router.get(_ONE, response_model=LetterShown, summary="Show a dead letter", responses=errors(404))
def show_letter(engine: EngineOf, caller: LetterReader, letter_id: LetterId) -> Response:
    """Show what happened, why it cannot go on, who looks at it, and what can be done now."""
    return _shown(engine, get_dead_letter(engine.database, letter_id))


def _shown(engine: Engine, letter: DeadLetter) -> Response:
    secret = engine.settings.redact_keys
    attempts = attempts_of(engine.database, letter.workflow_id, letter.step)
    return answer(
        {
            **{name: getattr(letter, name) for name in LetterRow.__slots__},
            "source": letter.source,
            "source_id": letter.source_id,
            "metadata": letter.metadata,
            "snapshot": letter.snapshot,
            "notes": notes_of(engine.database, letter.id),
            "attempts_made": [masked(one, secret) for one in attempts],
            "verbs": possible_verbs(letter.status, letter.claimed_by),
        }
    )


@router.patch(
    _ONE,
    response_model=LetterDecision | Preview,
    summary="Take, mark, resolve, give up or cancel a dead letter",
    responses={**CHANGES, **errors(404, 409)},
)
def change_letter(
    engine: EngineOf, caller: LetterWriter, letter_id: LetterId, body: LetterAction
) -> Response:
    """Decide on a dead letter; where it does not stand so that this can be, 409 says how it stands."""
    who = caller.who(body.reason)
    return _decided(engine, letter_id, body.dry_run, lambda tried: act_on(tried, letter_id, body, who))


def _decided(engine: Engine, letter_id: UUID, dry_run: bool, act: Callable[[Engine], Decided]) -> Response:
    if dry_run:
        letter = get_dead_letter(engine.database, letter_id)
        return answer(operate.preview(engine, letter.workflow_id, act))
    made = Decision.of(act(engine))
    return answer({"id": letter_id, **{name: getattr(made, name) for name in Decision.__slots__}})


@router.post(
    _ONE + "/requeue",
    response_model=LetterDecision | Preview,
    summary="Send a dead letter back to work",
    responses={**CHANGES, **errors(404, 409)},
)
def requeue_letter(
    engine: EngineOf, caller: LetterWriter, once: OnceOf, letter_id: LetterId, body: Why
) -> Response:
    """Run the failed steps again with fresh attempts; the workflow goes on from there."""
    who = caller.who(body.reason)

    def act(_: UUID) -> Response:
        return _decided(
            engine, letter_id, body.dry_run, lambda tried: operate.requeue_letter(tried, letter_id, who)
        )

    return once.run(body, act)


@router.get(
    _ONE + "/suggestions",
    response_model=Page[Suggestion],
    summary="Say what may be behind a dead letter",
    responses=errors(404),
)
def suggest_for_letter(engine: EngineOf, caller: LetterReader, letter_id: LetterId) -> Response:
    """Say what coincides with the failures of its group, each with the facts it comes from."""
    return whole(suggestions_for(engine, get_dead_letter(engine.database, letter_id)))


@router.get(
    _ONE + "/notes",
    response_model=Page[Note],
    summary="Read the notes of a dead letter",
    responses=errors(404),
)
def list_letter_notes(engine: EngineOf, caller: LetterReader, letter_id: LetterId) -> Response:
    """Read the notes of an investigation, oldest first."""
    get_dead_letter(engine.database, letter_id)
    return whole(notes_of(engine.database, letter_id))


@router.post(
    _ONE + "/notes",
    response_model=NoteMade,
    status_code=201,
    summary="Add a note to a dead letter",
    responses={**CHANGES, **errors(404, 409)},
)
def add_letter_note(
    engine: EngineOf, caller: LetterWriter, once: OnceOf, letter_id: LetterId, body: NoteText
) -> Response:
    """Add a note to an investigation; a closed one takes notes, too."""

    def act(_: UUID) -> Response:
        operate.note_letter(engine, letter_id, body.text, caller.who())
        return answer(NoteMade(letter_id, caller.name, body.text.strip()), 201)

    return once.run(body, act)
