"""Dead letters one by one: lists, the triage queue, and the page of an investigation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import Response

from app.dashboard import forms
from app.dashboard.views import done, engine_of, show
from app.domain.access import Permission
from app.domain.dead_letter_filter import LetterFilter
from app.domain.errors import WorkflowNotFound
from app.domain.states import CATEGORIES, DeadLetterStatus, DeadReason
from app.engine import operate
from app.engine.context import Engine
from app.engine.operate import Who
from app.engine.suggest import suggestions_for
from app.store import groups
from app.store.audit import Filter
from app.store.audit import list_page as audited
from app.store.dead_letter_search import count, list_page, triage_page
from app.store.dead_letters import DeadLetter, get_dead_letter, notes_of
from app.store.steps import attempts_of, steps_of
from app.store.workflows import get_workflow
from app.web.identity import require
from remand.errors import RemandError

router = APIRouter()
_READ = require(Permission.LETTERS_READ)
_WRITE = require(Permission.LETTERS_WRITE)
_WRITE_STEPS = require(Permission.WORKFLOWS_WRITE)
_COUNTED = 10_000
_SIMILAR = 6
_AUDITED = 20


@router.get("/dlq/letters")
def list_letters(request: Request) -> Response:
    """Show the letters that fit, newest first, and in words which these are."""
    return _list(request, "letters.html", list_page)


@router.get("/dlq/triage")
def triage(request: Request) -> Response:
    """Show open letters, most urgent first."""
    return _list(request, "letters.html", triage_page)


def _list(request: Request, template: str, read: Callable[..., Any]) -> Response:
    _READ(request)
    engine = engine_of(request)
    wanted = forms.letters(request.query_params)
    page = read(engine.database, wanted, after=request.query_params.get("cursor") or None, limit=50)
    return show(
        request,
        template,
        page=page,
        wanted=wanted,
        scope=forms.scope(wanted),
        count=count(engine.database, wanted, at_most=_COUNTED),
        counted=_COUNTED,
        reasons=list(DeadReason),
        categories=CATEGORIES,
        statuses=list(DeadLetterStatus),
        is_triage=read is triage_page,
    )


@router.get("/dlq/letters/{letter_id}")
def investigation(request: Request, letter_id: UUID) -> Response:
    """Show what happened, why it cannot go on, who looks at it, and what can be done now."""
    _READ(request)
    engine = engine_of(request)
    letter = get_dead_letter(engine.database, letter_id)
    similar = list_page(
        engine.database, LetterFilter(statuses=(), group_id=letter.group_id), limit=_SIMILAR + 1
    )
    steps = steps_of(engine.database, letter.workflow_id)
    return show(
        request,
        "letter.html",
        letter=letter,
        group=groups.get_group(engine.database, letter.group_id),
        attempts=attempts_of(engine.database, letter.workflow_id, letter.step),
        input=_input(engine, letter),
        step=next((one for one in steps if one.name == letter.step), None),
        notes=notes_of(engine.database, letter_id),
        similar=[one for one in similar.items if one.id != letter_id][:_SIMILAR],
        hints=suggestions_for(engine, letter),
        written=audited(
            engine.database, Filter(kind="dead_letter", subject=str(letter_id)), limit=_AUDITED
        ).items,
    )


def _input(engine: Engine, letter: DeadLetter) -> Any:
    try:
        return get_workflow(engine.database, letter.workflow_id).input
    except WorkflowNotFound:
        # A letter outlives its workflow.
        return letter.snapshot["workflow"]["input"] if letter.snapshot.get("workflow") else None


@router.post("/dlq/letters/{letter_id}/{verb}")
async def change_letter(request: Request, letter_id: UUID, verb: str) -> Response:
    """Carry out a verb on an investigation, or on the step that failed."""
    caller = (_WRITE_STEPS if verb in _OF_STEPS else _WRITE)(request)
    engine = engine_of(request)
    given = await forms.read(request)
    act = _VERBS.get(verb)
    if act is None:
        raise HTTPException(404)
    letter = await run_in_threadpool(get_dead_letter, engine.database, letter_id)
    await run_in_threadpool(act, engine, letter, given, caller.who(given.get("reason")))
    return done(request, f"/dlq/letters/{letter_id}", _TOLD[verb])


@router.post("/dlq/letters/{letter_id}/preview/{verb}")
async def preview_letter(request: Request, letter_id: UUID, verb: str) -> Response:
    """Show what a verb would do: before, after, and what would run again."""
    caller = (_WRITE_STEPS if verb in _OF_STEPS else _WRITE)(request)
    engine = engine_of(request)
    given = await forms.read(request)
    act = _VERBS.get(verb)
    if act is None or verb in _UNFORESEEN:
        raise HTTPException(404)
    letter = await run_in_threadpool(get_dead_letter, engine.database, letter_id)
    who = caller.who(given.get("reason"))
    return await run_in_threadpool(_preview, request, letter, lambda tried: act(tried, letter, given, who))


def _preview(request: Request, letter: DeadLetter, verb: Callable[[Engine], object]) -> Response:
    try:
        shown = operate.preview(engine_of(request), letter.workflow_id, verb)
    except RemandError as error:
        return show(request, "preview.html", live=False, shown=None, error=error)
    return show(request, "preview.html", live=False, shown=shown, error=None)


_Act = Callable[[Engine, DeadLetter, dict[str, str], Who], object]


def _note(engine: Engine, letter: DeadLetter, given: dict[str, str], who: Who) -> None:
    operate.note_letter(engine, letter.id, given.get("text", ""), who)


def _resolve(engine: Engine, letter: DeadLetter, given: dict[str, str], who: Who) -> object:
    return operate.resolve_letter(engine, letter.id, who, whole_workflow="whole_workflow" in given)


def _retry(engine: Engine, letter: DeadLetter, given: dict[str, str], who: Who) -> object:
    new_input = forms.edited_input(engine, letter.workflow_id, letter.step, given)
    return operate.retry_step(engine, letter.workflow_id, letter.step, who, new_input=new_input)


def _complete(engine: Engine, letter: DeadLetter, given: dict[str, str], who: Who) -> object:
    result = forms.parsed(given.get("result", "null"), "result")
    return operate.complete_step(engine, letter.workflow_id, letter.step, who, result=result)


def _assign(engine: Engine, letter: DeadLetter, given: dict[str, str], who: Who) -> object:
    take_over = "take_over" in given
    return operate.assign_letter(engine, letter.id, given.get("owner", ""), who, force=take_over)


def _release(engine: Engine, letter: DeadLetter, given: dict[str, str], who: Who) -> object:
    return operate.release_letter(engine, letter.id, who, force="take_over" in given)


def _label(engine: Engine, letter: DeadLetter, given: dict[str, str], who: Who) -> object:
    add, remove = given.get("add", "").split(), given.get("remove", "").split()
    return operate.label_letter(engine, letter.id, who, add=add, remove=remove)


def _link(engine: Engine, letter: DeadLetter, given: dict[str, str], who: Who) -> object:
    add, remove = given.get("add", "").split(), given.get("remove", "").split()
    return operate.link_letter(engine, letter.id, who, add=add, remove=remove)


def _skip(engine: Engine, letter: DeadLetter, _: dict[str, str], who: Who) -> object:
    return operate.skip_step(engine, letter.workflow_id, letter.step, who)


_OF_STEPS = ("retry", "complete", "skip")
"""What changes a step, whatever page asks for it."""
_UNFORESEEN = ("note", "claim", "assign", "release", "label", "link")
_VERBS: dict[str, _Act] = {
    "assign": _assign,
    "release": _release,
    "label": _label,
    "link": _link,
    "skip": _skip,
    "claim": lambda engine, letter, _, who: operate.claim_letter(engine, letter.id, who),
    "note": _note,
    "requeue": lambda engine, letter, _, who: operate.requeue_letter(engine, letter.id, who),
    "resolve": _resolve,
    "give-up": lambda engine, letter, _, who: operate.give_up_letter(engine, letter.id, who),
    "cancel": lambda engine, letter, _, who: operate.cancel_letter(engine, letter.id, who),
    "retry": _retry,
    "complete": _complete,
}
_TOLD = {
    "assign": "The investigation is theirs.",
    "release": "Anybody may take it now.",
    "label": "Its labels are as you wish.",
    "link": "Its links are as you wish.",
    "skip": "The step and what is behind it alone are skipped.",
    "claim": "The investigation is yours.",
    "note": "Noted.",
    "requeue": "Its failed steps are back at work.",
    "resolve": "Declared done by hand.",
    "give-up": "Closed as permanently failed.",
    "cancel": "The workflow is cancelled.",
    "retry": "The step runs again.",
    "complete": "The step is complete, with the result you gave.",
}
