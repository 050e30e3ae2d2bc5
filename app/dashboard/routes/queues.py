"""The page of queues: what waits in each, and pausing them."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import Response

from app.dashboard import forms
from app.dashboard.views import done, engine_of, show
from app.domain.access import Permission
from app.resources import queues
from app.web.identity import require

router = APIRouter()


@router.get("/queues")
def queues_page(request: Request) -> Response:
    """Show every queue: what is in it, for how long, who takes from it."""
    require(Permission.QUEUES_READ)(request)
    return show(request, "queues.html", queues=queues.queues(engine_of(request)))


@router.post("/queues/{queue}/{verb}")
async def change_queue(request: Request, queue: str, verb: str) -> Response:
    """Pause or resume a queue."""
    caller = require(Permission.QUEUES_WRITE)(request)
    form = await forms.read(request)
    if verb not in {"pause", "resume"}:
        raise HTTPException(404)
    who = caller.who(form.get("reason"))
    await run_in_threadpool(queues.set_paused, engine_of(request), queue, who, paused=verb == "pause")
    how = "is paused: what runs ends, nothing more starts" if verb == "pause" else "goes on"
    return done(request, "/queues", f"{queue} {how}.")
