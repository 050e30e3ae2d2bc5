"""The page of dead queues: which there are, and which queues send their dead letters to them."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from remand_app.dashboard import verbs
from remand_app.dashboard.views import engine_of, show
from remand_app.domain.access import Permission
from remand_app.engine import dead_queues
from remand_app.web.identity import require

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
    return await verbs.change(request, "dead_queue", "create", "name", _PAGE)


@router.post(_PAGE + "/set")
async def point(request: Request) -> Response:
    """Let letters of a queue's steps go to a dead queue."""
    return await verbs.change(request, "queue", "set", "queue", _PAGE, needs=("dead_queue",))


@router.post(_PAGE + "/{name}/{verb}")
async def change(request: Request, name: str, verb: str) -> Response:
    """Change a dead queue, or delete it."""
    return await verbs.change(request, "dead_queue", verb, (name,), _PAGE, only=("change", "delete"))
