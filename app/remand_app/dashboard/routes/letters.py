"""Dead letters one by one: lists, the triage queue, and the page of an investigation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from fastapi import APIRouter, Request
from starlette.responses import Response

from remand_app.dashboard import forms, verbs
from remand_app.dashboard.views import engine_of, show
from remand_app.domain import filters
from remand_app.domain.access import Permission
from remand_app.domain.errors import WorkflowNotFound
from remand_app.engine.engine import Engine
from remand_app.resources import groups, letters
from remand_app.resources.audit import AuditFilter
from remand_app.resources.audit import list_page as audited
from remand_app.resources.letters import DeadLetter, LetterFilter
from remand_app.resources.steps import Step, stored_steps
from remand_app.resources.verbs import Verb, possible
from remand_app.resources.workflows import get_workflow
from remand_app.web.identity import require

router = APIRouter()
_READ = require(Permission.LETTERS_READ)
_COUNTED = 10_000
_SIMILAR = 6
_AUDITED = 20


@router.get("/dlq/letters")
def list_letters(request: Request) -> Response:
    """Show the letters that fit, newest first, and in words which these are."""
    return _list(request, "letters.html", letters.list_page)


@router.get("/dlq/triage")
def triage(request: Request) -> Response:
    """Show open letters, most urgent first."""
    return _list(request, "letters.html", letters.triage_page)


def _list(request: Request, template: str, read: Callable[..., Any]) -> Response:
    _READ(request)
    engine = engine_of(request)
    wanted = forms.filter_of(LetterFilter, request.query_params)
    page = read(engine.database, wanted, after=request.query_params.get("cursor") or None, limit=50)
    return show(
        request,
        template,
        page=page,
        wanted=wanted,
        scope=filters.written(wanted),
        asked=forms.fields_of(wanted),
        count=letters.count(engine.database, wanted, at_most=_COUNTED),
        counted=_COUNTED,
        is_triage=read is letters.triage_page,
    )


@router.get("/dlq/letters/{letter_id}")
def investigation(request: Request, letter_id: UUID) -> Response:
    """Show what happened, why it cannot go on, who looks at it, and what can be done now."""
    _READ(request)
    engine = engine_of(request)
    letter = letters.show(engine, letters.get_dead_letter(engine.database, letter_id))
    similar = letters.list_page(
        engine.database, LetterFilter(statuses=(), group_id=letter.group_id), limit=_SIMILAR + 1
    )
    step = next(
        (step for step in stored_steps(engine.database, letter.workflow_id) if step.name == letter.step), None
    )
    return show(
        request,
        "letter.html",
        letter=letter,
        group=groups.get_group(engine.database, letter.group_id),
        input=_input(engine, letter),
        step=step,
        verbs=[verb for verb in possible("letter", letter) if not _waits_for_step(verb, step)],
        similar=[other for other in similar.items if other.id != letter_id][:_SIMILAR],
        written=audited(
            engine.database, AuditFilter(kind="dead_letter", subject=str(letter_id)), limit=_AUDITED
        ).items,
    )


def _waits_for_step(verb: Verb, step: Step | None) -> bool:
    return verb.permission is Permission.WORKFLOWS_WRITE and (step is None or step.state != "error")


def _input(engine: Engine, letter: DeadLetter) -> Any:
    try:
        return get_workflow(engine.database, letter.workflow_id).input
    except WorkflowNotFound:
        # A letter outlives its workflow.
        return letter.snapshot["workflow"]["input"] if letter.snapshot.get("workflow") else None


@router.post("/dlq/letters/{letter_id}/{verb}")
async def change_letter(request: Request, letter_id: UUID, verb: str) -> Response:
    """Carry out a verb on an investigation, or on the step that failed."""
    return await verbs.change(request, "letter", verb, (letter_id,), f"/dlq/letters/{letter_id}")


@router.post("/dlq/letters/{letter_id}/preview/{verb}")
async def preview_letter(request: Request, letter_id: UUID, verb: str) -> Response:
    """Show what a verb would do: before, after, and what would run again."""
    database = engine_of(request).database
    return await verbs.preview(
        request,
        "letter",
        verb,
        (letter_id,),
        lambda: letters.get_dead_letter(database, letter_id).workflow_id,
    )
