"""The page of dead queues: which there are, and which queues send their dead letters to them."""

from __future__ import annotations

import re

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import Response

from app.dashboard import forms
from app.dashboard.views import done, engine_of, show
from app.domain.access import Permission
from app.domain.errors import InputInvalid
from app.engine import dead_queues
from app.engine.queue_settings import set_queue
from app.web.identity import require

router = APIRouter()
_PAGE = "/dead-queues"


@router.get(_PAGE)
def dead_queues_page(request: Request) -> Response:
    """Show the dead queues: what lies in each, whose letters go there."""
    require(Permission.LETTERS_READ)(request)
    engine = engine_of(request)
    return show(
        request,
        "dead_queues.html",
        dead_queues=dead_queues.list_dead_queues(engine),
        size_limit=engine.settings.dlq.size_limit,
        warning_share=engine.settings.dlq.size_warning_share,
    )


@router.post(_PAGE)
async def create(request: Request) -> Response:
    """Make a dead queue."""
    caller = require(Permission.ADMIN_WRITE)(request)
    form = await forms.read(request)
    name = form.get("name", "")
    await run_in_threadpool(
        dead_queues.create_dead_queue,
        engine_of(request),
        name,
        caller.who(form.get("reason")),
        description=form.get("description", ""),
        size_limit=_whole(form.get("size_limit")),
    )
    return done(request, _PAGE, f"Dead queue {name} is made; now let a queue or a template name it.")


@router.post(_PAGE + "/set")
async def point(request: Request) -> Response:
    """Let letters of a queue's steps go to a dead queue."""
    caller = require(Permission.ADMIN_WRITE)(request)
    form = await forms.read(request)
    queue, target = form.get("queue", ""), form.get("dead_queue", "")
    who = caller.who(form.get("reason"))
    await run_in_threadpool(set_queue, engine_of(request), queue, who, dead_queue=target)
    return done(request, _PAGE, f"Dead letters of queue {queue} go to {target} from now on.")


@router.post(_PAGE + "/{name}/{verb}")
async def change(request: Request, name: str, verb: str) -> Response:
    """Change a dead queue, or delete it."""
    caller = require(Permission.ADMIN_WRITE)(request)
    form = await forms.read(request)
    who, engine = caller.who(form.get("reason")), engine_of(request)
    if verb == "change":
        limit = _whole(form.get("size_limit"))
        await run_in_threadpool(
            dead_queues.change_dead_queue,
            engine,
            name,
            who,
            description=form.get("description"),
            size_limit=limit,
        )
        return done(request, _PAGE, f"Dead queue {name} is changed.")
    if verb == "delete":
        target = form.get("move_to")
        moved = await run_in_threadpool(dead_queues.delete_dead_queue, engine, name, who, move_to=target)
        return done(request, _PAGE, f"Dead queue {name} is gone; {moved} letters moved.")
    raise HTTPException(404)


def _whole(text: str | None) -> int | None:
    if text is None:
        return None
    if not re.fullmatch(r"\d{1,9}", text):
        raise InputInvalid(f"a limit is a whole number of letters, not {text!r}")
    return int(text)
