"""Bulk verbs on dead letters: fix the set, see the forecast, start, watch, pause, resume, cancel."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response

from remand_app.dashboard import forms, verbs
from remand_app.dashboard.views import engine_of, show
from remand_app.domain import filters
from remand_app.domain.access import Permission
from remand_app.domain.errors import InputInvalid
from remand_app.domain.redrive import RedriveState, RedriveVerb
from remand_app.engine import redrive
from remand_app.engine.redrive import Options
from remand_app.resources.letters import LetterFilter, count
from remand_app.web.identity import require

router = APIRouter()
_READ = require(Permission.LETTERS_READ)
_WRITE = require(Permission.LETTERS_WRITE)
_COUNTED = 100_000
_ITEMS = 50


@router.get("/redrives")
def list_redrives(request: Request) -> Response:
    """Show redrives, the newest first."""
    _READ(request)
    page = redrive.list_page(engine_of(request), after=request.query_params.get("cursor") or None, limit=50)
    return show(request, "redrives.html", page=page)


@router.get("/redrives/new")
def new_redrive(request: Request) -> Response:
    """Ask what is to be done with the letters of a filter; it says which, and how many there are now."""
    _WRITE(request)
    engine = engine_of(request)
    wanted = forms.filter_of(LetterFilter, request.query_params)
    return show(
        request,
        "redrive_new.html",
        live=False,
        wanted=wanted,
        scope=filters.written(wanted),
        count=count(engine.database, wanted, at_most=_COUNTED),
        counted=_COUNTED,
        verbs=list(RedriveVerb),
    )


@router.post("/redrives/new")
async def plan_redrive(request: Request) -> Response:
    """Fix the exact set and forecast; nothing is done with any letter yet."""
    caller = _WRITE(request)
    engine = engine_of(request)
    form = await forms.read(request)
    made = await run_in_threadpool(
        redrive.plan,
        engine,
        forms.filter_of(LetterFilter, form),
        caller.who(form.get("why")),
        _options(form),
        everything="everything" in form,
    )
    return RedirectResponse(f"/redrives/{made.redrive.id}", 303)


def _options(form: Mapping[str, str]) -> Options:
    try:
        sizes = tuple(int(size) for size in form.get("canary", "").replace(",", " ").split())
        verb = RedriveVerb(form.get("verb", "requeue"))
    except ValueError:
        raise InputInvalid("a canary is some numbers of letters, such as 1, 10") from None
    share = forms.number(form.get("success_percent"), "the share that must succeed")
    priority = forms.number(form.get("priority"), "the priority")
    return Options(
        verb=verb,
        canary=sizes,
        success_share=1.0 if share is None else share / 100,
        rate_per_second=forms.number(form.get("rate"), "the rate"),
        include_claimed="include_claimed" in form,
        queue=form.get("to_queue"),
        priority=None if priority is None else int(priority),
    )


@router.get("/redrives/{redrive_id}")
def redrive_page(request: Request, redrive_id: UUID) -> Response:
    """Show a redrive: before the start its scope and forecast, then how far it is and what came of it."""
    _READ(request)
    engine = engine_of(request)
    progress = redrive.progress(engine, redrive_id)
    order = progress.redrive
    return show(
        request,
        "redrive.html",
        progress=progress,
        one=order,
        forecast=redrive.forecast(engine, redrive_id) if order.state is RedriveState.PLANNED else None,
        now=engine.instant(),
        items=redrive.items_page(
            engine, redrive_id, after=request.query_params.get("cursor") or None, limit=_ITEMS
        ),
    )


@router.post("/redrives/{redrive_id}/{verb}")
async def change_redrive(request: Request, redrive_id: UUID, verb: str) -> Response:
    """Start, pause, resume or cancel a redrive."""
    return await verbs.change(request, "redrive", verb, (redrive_id,), f"/redrives/{redrive_id}")
