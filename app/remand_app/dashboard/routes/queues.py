"""The page of queues: what waits in each, and pausing them."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from remand_app.dashboard import verbs
from remand_app.dashboard.views import engine_of, show
from remand_app.domain.access import Permission
from remand_app.resources import queues
from remand_app.web.identity import require

router = APIRouter()


@router.get("/queues")
def queues_page(request: Request) -> Response:
    """Show every queue: what is in it, for how long, who takes from it."""
    require(Permission.QUEUES_READ)(request)
    return show(request, "queues.html", queues=queues.queues(engine_of(request)))


@router.post("/queues/{queue}/{verb}")
async def change_queue(request: Request, queue: str, verb: str) -> Response:
    """Pause or resume a queue."""
    return await verbs.change(request, "queue", verb, (queue,), "/queues", only=("pause", "resume"))
