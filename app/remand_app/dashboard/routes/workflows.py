"""Workflows: the list with its filters in the address, and the page of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from remand_app.dashboard import forms, verbs
from remand_app.dashboard.drawing import gantt, graph
from remand_app.dashboard.drawing.fold import fold
from remand_app.dashboard.lookup import Place, places
from remand_app.dashboard.views import engine_of, show
from remand_app.domain.access import Permission
from remand_app.domain.dag import levels
from remand_app.domain.errors import AmbiguousId, WorkflowNotFound
from remand_app.engine.engine import Engine
from remand_app.resources import letters, workflows
from remand_app.resources.letters import LetterFilter, LetterRow
from remand_app.resources.steps import Step, stored_attempts, stored_steps
from remand_app.resources.verbs import Noun, Verb, possible, verb_of, verbs_of
from remand_app.resources.workflows import Workflow, WorkflowFilter, find_workflow, get_workflow, moves_of
from remand_app.web.identity import require

router = APIRouter()
_READ = require(Permission.WORKFLOWS_READ)
_STEPS = 200
_DIGITS = 7
_MOVES = 200
_ENDED_WELL = ("complete", "cancelled", "resolved_manually")
_RAN = ("complete", "error", "resolved_manually")
_ID_LETTERS = frozenset("0123456789abcdef-")


@router.get("/workflows")
def list_workflows(request: Request) -> Response:
    """Show the workflows that fit, the newest first; what has the id or name that was typed, at once."""
    caller = _READ(request)
    engine = engine_of(request)
    asked = forms.filter_of(WorkflowFilter, request.query_params)
    typed = request.query_params.get("q", "").strip()
    elsewhere = places(engine, caller, typed)
    try:
        workflow_id = _by_id(engine, typed)
    except AmbiguousId:
        wanted = WorkflowFilter(id_prefix=typed.lower())
    else:
        if workflow_id is not None and not elsewhere:
            return RedirectResponse(f"/workflows/{workflow_id}", 303)
        if workflow_id is None and len(elsewhere) == 1:
            return RedirectResponse(elsewhere[0].address, 303)
        wanted = _narrowed(asked, typed.split())
        if workflow_id is not None:
            elsewhere = [Place("workflow", str(workflow_id), f"/workflows/{workflow_id}"), *elsewhere]
    after = request.query_params.get("cursor") or None
    searched = workflows.search(engine.database, wanted, after=after, limit=50)
    return show(
        request,
        "workflows.html",
        page=searched.page,
        looked_back_to=searched.looked_back_to,
        asked=forms.fields_of(asked),
        typed=typed,
        elsewhere=elsewhere,
    )


def _by_id(engine: Engine, typed: str) -> UUID | None:
    if len(typed) < 4 or not set(typed.lower()) <= _ID_LETTERS:
        return None
    try:
        return find_workflow(engine.database, typed).id
    except WorkflowNotFound:
        return None


def _narrowed(asked: WorkflowFilter, words: list[str]) -> WorkflowFilter:
    """Return a filter with what was typed into the search field: a template, a tag, values of the input."""
    inputs = tuple(
        tuple(word.removeprefix("input.").split("=", 1))
        for word in words
        if word.startswith("input.") and "=" in word
    )
    tags = [word.removeprefix("tag:") for word in words if word.startswith("tag:")]
    templates = [word for word in words if not word.startswith(("input.", "tag:"))]
    return replace(
        asked,
        template=asked.template or next(iter(templates), None),
        tag=asked.tag or next(iter(tags), None),
        input=inputs,  # type: ignore[arg-type]  # split("=", 1) gives two
    )


@router.get("/workflows/{workflow_id}")
def workflow_page(request: Request, workflow_id: UUID) -> Response:
    """Show a workflow: its graph, its attempts along time, its steps, its moves."""
    caller = _READ(request)
    engine = engine_of(request)
    workflow = get_workflow(engine.database, workflow_id)
    steps = stored_steps(engine.database, workflow_id)
    chosen = request.query_params.get("step")
    step = next((step for step in steps if step.name == chosen), None)
    start = request.query_params.get("from", "")
    first = int(start) if start.isascii() and start.isdecimal() and len(start) < _DIGITS else 0
    attempts = stored_attempts(engine.database, workflow_id)
    by_state = Counter(str(step.state) for step in steps)
    wanted = request.query_params.get("state", "")
    chosen_state = wanted if wanted in by_state else ""
    listed = [step for step in steps if not chosen_state or step.state == chosen_state]
    # Failed steps first: nobody wants to look for them among thousands.
    listed.sort(key=lambda step: step.state != "error")
    drawn, folded = fold(
        {step.name: step.depends_on for step in steps}, {step.name: str(step.state) for step in steps}
    )
    with engine.database.begin() as connection:
        now = engine.now(connection)
    return show(
        request,
        "workflow.html",
        workflow=workflow,
        steps=listed[first : first + _STEPS],
        failed=[step for step in steps if step.state == "error"],
        by_state=by_state,
        chosen_state=chosen_state,
        folded=folded,
        first=first,
        next_step=first + _STEPS,
        more_steps=max(0, len(listed) - first - _STEPS),
        by_name={step.name: step for step in steps},
        step=step,
        verbs=possible("workflow", workflow),
        step_verbs=_verbs_of_step(workflow, step),
        drawing=graph.lay_out(drawn),
        by_layer=_by_layer(steps),
        gantt=gantt.lay_out(attempts, now),
        chart=gantt,
        attempts=[attempt for attempt in attempts if step is not None and attempt.step == step.name],
        moves=moves_of(engine.database, workflow_id)[-_MOVES:],
        letters=_letters(engine, workflow_id) if caller.may(Permission.LETTERS_READ) else [],
        now=now,
    )


def _letters(engine: Engine, workflow_id: UUID) -> Sequence[LetterRow]:
    return letters.list_page(
        engine.database, LetterFilter(statuses=(), workflow_id=workflow_id), limit=10
    ).items


def _verbs_of_step(workflow: Workflow, step: Step | None) -> list[Verb]:
    """Return what can be done with a step, to run the workflow anew from it among it."""
    if step is None:
        return []
    may_restart = workflow.state not in _ENDED_WELL and step.state in _RAN
    return [*possible("step", step), *([verb_of("workflow", "restart")] if may_restart else [])]


def _by_layer(steps: list[Step]) -> list[dict[str, int]]:
    depth = levels({step.name: step.depends_on for step in steps})
    counts: dict[int, Counter[str]] = {}
    for step in steps:
        counts.setdefault(depth[step.name], Counter())[str(step.state)] += 1
    return [dict(counts[level].most_common()) for level in sorted(counts)]


@router.post("/workflows/{workflow_id}/{verb}")
async def change_workflow(request: Request, workflow_id: UUID, verb: str) -> Response:
    """Carry out a verb on a workflow, or on one of its steps (`step` in the form)."""
    noun, key = await _target(request, workflow_id, verb)
    return await verbs.change(request, noun, verb, key, f"/workflows/{workflow_id}")


@router.post("/workflows/{workflow_id}/preview/{verb}")
async def preview_workflow(request: Request, workflow_id: UUID, verb: str) -> Response:
    """Show what a verb would do."""
    noun, key = await _target(request, workflow_id, verb)
    return await verbs.preview(request, noun, verb, key, lambda: workflow_id)


async def _target(request: Request, workflow_id: UUID, verb: str) -> tuple[Noun, tuple[Any, ...]]:
    if any(verb == known.name for known in verbs_of("workflow")):
        return "workflow", (workflow_id,)
    form = await forms.read(request)
    return "step", (workflow_id, form.get("step", ""))
