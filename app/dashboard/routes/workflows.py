"""Workflows: the list with its filters in the address, and the page of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from app.dashboard import forms
from app.dashboard.drawing import gantt, graph
from app.dashboard.drawing.fold import fold
from app.dashboard.lookup import Place, places
from app.dashboard.views import done, engine_of, show
from app.domain.access import Permission
from app.domain.dag import levels
from app.domain.dead_letter_filter import LetterFilter
from app.domain.errors import AmbiguousId, InputInvalid, WorkflowNotFound
from app.domain.states import WorkflowState
from app.engine import operate
from app.engine.context import Engine
from app.engine.operate import Who
from app.store import workflow_search
from app.store.dead_letter_search import LetterRow
from app.store.dead_letter_search import list_page as letters_page
from app.store.steps import Step, attempts_of, get_step, steps_of
from app.store.workflow_search import WorkflowFilter
from app.store.workflows import find_workflow, get_workflow, moves_of
from app.web.identity import require
from remand.errors import RemandError

router = APIRouter()
_READ = require(Permission.WORKFLOWS_READ)
_WRITE = require(Permission.WORKFLOWS_WRITE)
_STEPS = 200
_DIGITS = 7
_MOVES = 200
_ID_LETTERS = frozenset("0123456789abcdef-")


@router.get("/workflows")
def list_workflows(request: Request) -> Response:
    """Show the workflows that fit, the newest first; what has the id or name that was typed, at once."""
    caller = _READ(request)
    engine = engine_of(request)
    given = request.query_params
    typed = given.get("q", "").strip()
    elsewhere = places(engine, caller, typed)
    try:
        found = _by_id(engine, typed)
    except AmbiguousId:
        wanted = WorkflowFilter(id_prefix=typed.lower())
    else:
        if found is not None and not elsewhere:
            return RedirectResponse(f"/workflows/{found}", 303)
        if found is None and len(elsewhere) == 1:
            return RedirectResponse(elsewhere[0].address, 303)
        wanted = _wanted(given)
        if found is not None:
            elsewhere = [Place("workflow", str(found), f"/workflows/{found}"), *elsewhere]
    searched = workflow_search.search(engine.database, wanted, after=given.get("cursor") or None, limit=50)
    return show(
        request,
        "workflows.html",
        page=searched.page,
        looked_back_to=searched.looked_back_to,
        states=list(WorkflowState),
        given=given,
        elsewhere=elsewhere,
    )


def _by_id(engine: Engine, typed: str) -> UUID | None:
    if len(typed) < 4 or not set(typed.lower()) <= _ID_LETTERS:
        return None
    try:
        return find_workflow(engine.database, typed).id
    except WorkflowNotFound:
        return None


def _wanted(given: QueryParams) -> WorkflowFilter:
    words = given.get("q", "").split()
    inputs = tuple(
        tuple(word.removeprefix("input.").split("=", 1))
        for word in words
        if word.startswith("input.") and "=" in word
    )
    tags = [word.removeprefix("tag:") for word in words if word.startswith("tag:")]
    plain = [word for word in words if not word.startswith(("input.", "tag:"))]
    try:
        states = tuple(WorkflowState(one) for one in given.getlist("state") if one)
    except ValueError as error:
        raise InputInvalid(str(error)) from None
    return WorkflowFilter(
        states=states,
        template=given.get("template") or (plain[0] if plain else None),
        tag=given.get("tag") or (tags[0] if tags else None),
        input=inputs,  # type: ignore[arg-type]  # split("=", 1) gives two
    )


@router.get("/workflows/{workflow_id}")
def workflow_page(request: Request, workflow_id: UUID) -> Response:
    """Show a workflow: its graph, its attempts along time, its steps, its moves."""
    caller = _READ(request)
    engine = engine_of(request)
    workflow = get_workflow(engine.database, workflow_id)
    steps = steps_of(engine.database, workflow_id)
    chosen = request.query_params.get("step")
    step = next((one for one in steps if one.name == chosen), None)
    given = request.query_params.get("from", "")
    first = int(given) if given.isascii() and given.isdecimal() and len(given) < _DIGITS else 0
    attempts = attempts_of(engine.database, workflow_id)
    by_state = Counter(str(one.state) for one in steps)
    wanted = request.query_params.get("state", "")
    chosen_state = wanted if wanted in by_state else ""
    listed = [one for one in steps if not chosen_state or one.state == chosen_state]
    # What failed first: nobody looks for it among thousands.
    listed.sort(key=lambda one: one.state != "error")
    drawn, folded = fold(
        {one.name: one.depends_on for one in steps}, {one.name: str(one.state) for one in steps}
    )
    with engine.database.begin() as connection:
        now = engine.now(connection)
    return show(
        request,
        "workflow.html",
        workflow=workflow,
        steps=listed[first : first + _STEPS],
        failed=[one for one in steps if one.state == "error"],
        by_state=by_state,
        chosen_state=chosen_state,
        folded=folded,
        first=first,
        next_step=first + _STEPS,
        more_steps=max(0, len(listed) - first - _STEPS),
        by_name={one.name: one for one in steps},
        step=step,
        drawing=graph.lay_out(drawn),
        by_layer=_by_layer(steps),
        gantt=gantt.lay_out(attempts, now),
        chart=gantt,
        attempts=[one for one in attempts if step is not None and one.step == step.name],
        moves=moves_of(engine.database, workflow_id)[-_MOVES:],
        letters=_letters(engine, workflow_id) if caller.may(Permission.LETTERS_READ) else [],
        now=now,
    )


def _letters(engine: Engine, workflow_id: UUID) -> Sequence[LetterRow]:
    return letters_page(engine.database, LetterFilter(statuses=(), workflow_id=workflow_id), limit=10).items


def _by_layer(steps: list[Step]) -> list[dict[str, int]]:
    depth = levels({one.name: one.depends_on for one in steps})
    counts: dict[int, Counter[str]] = {}
    for one in steps:
        counts.setdefault(depth[one.name], Counter())[str(one.state)] += 1
    return [dict(counts[level].most_common()) for level in sorted(counts)]


@router.post("/workflows/{workflow_id}/{verb}")
async def change_workflow(request: Request, workflow_id: UUID, verb: str) -> Response:
    """Carry out a verb on a workflow, or on one of its steps (`step` in the form)."""
    caller = _WRITE(request)
    given = await forms.read(request)
    act = _VERBS.get(verb)
    if act is None:
        raise HTTPException(404)
    who = caller.who(given.get("reason"))
    await run_in_threadpool(act, engine_of(request), workflow_id, given, who)
    return done(request, f"/workflows/{workflow_id}", _TOLD[verb])


@router.post("/workflows/{workflow_id}/preview/{verb}")
async def preview_workflow(request: Request, workflow_id: UUID, verb: str) -> Response:
    """Show what a verb would do."""
    caller = _WRITE(request)
    given = await forms.read(request)
    act = _VERBS.get(verb)
    if act is None:
        raise HTTPException(404)
    who = caller.who(given.get("reason"))
    return await run_in_threadpool(
        _preview, request, workflow_id, lambda tried: act(tried, workflow_id, given, who)
    )


def _preview(request: Request, workflow_id: UUID, verb: Callable[[Engine], object]) -> Response:
    try:
        shown = operate.preview(engine_of(request), workflow_id, verb)
    except RemandError as error:
        return show(request, "preview.html", live=False, shown=None, error=error)
    return show(request, "preview.html", live=False, shown=shown, error=None)


def _retry(engine: Engine, workflow_id: UUID, given: dict[str, str], who: Who) -> object:
    step = given.get("step", "")
    new_input = forms.edited_input(engine, workflow_id, step, given)
    return operate.retry_step(engine, workflow_id, step, who, new_input=new_input)


def _complete(engine: Engine, workflow_id: UUID, given: dict[str, str], who: Who) -> object:
    result = forms.parsed(given.get("result", "null"), "result")
    return operate.complete_step(engine, workflow_id, given.get("step", ""), who, result=result)


def _resolve(engine: Engine, workflow_id: UUID, given: dict[str, str], who: Who) -> object:
    get_step(engine.database, workflow_id, given.get("step", ""))
    return operate.resolve_step(engine, workflow_id, given.get("step", ""), who)


def _skip(engine: Engine, workflow_id: UUID, given: dict[str, str], who: Who) -> object:
    return operate.skip_step(engine, workflow_id, given.get("step", ""), who)


def _restart(engine: Engine, workflow_id: UUID, given: dict[str, str], who: Who) -> object:
    return operate.restart_from(engine, workflow_id, given.get("step", ""), who)


_Act = Callable[[Engine, UUID, dict[str, str], Who], Any]
_VERBS: dict[str, _Act] = {
    "pause": lambda engine, workflow_id, _, who: operate.pause_workflow(engine, workflow_id, who),
    "resume": lambda engine, workflow_id, _, who: operate.resume_workflow(engine, workflow_id, who),
    "skip": _skip,
    "restart": _restart,
    "cancel": lambda engine, workflow_id, _, who: operate.cancel(engine, workflow_id, who),
    "retry": _retry,
    "resolve": _resolve,
    "complete": _complete,
}
_TOLD = {
    "pause": "The workflow is paused: what runs ends, nothing more starts.",
    "resume": "The workflow goes on.",
    "skip": "The step and what is behind it alone are skipped.",
    "restart": "The step and everything behind it run anew.",
    "cancel": "The workflow is cancelled.",
    "retry": "The step runs again.",
    "resolve": "The step is declared done by hand.",
    "complete": "The step is complete, with the result you gave.",
}
