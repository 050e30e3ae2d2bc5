"""The page of breakers: which dependencies are down, and opening and closing by hand."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from remand_app.dashboard import verbs
from remand_app.dashboard.views import engine_of, show
from remand_app.domain.access import Permission
from remand_app.resources import breakers
from remand_app.web.identity import require

router = APIRouter()


@router.get("/breakers")
def breakers_page(request: Request) -> Response:
    """Show the breakers: which dependencies are down, what they hold."""
    require(Permission.BREAKERS_READ)(request)
    every = "all" in request.query_params
    return show(
        request, "breakers.html", breakers=breakers.breakers(engine_of(request), unmoved=every), every=every
    )


@router.post("/breakers/{verb}")
async def change_breaker(request: Request, verb: str) -> Response:
    """Open, close or reset a breaker; its name is in the form, for it may hold slashes."""
    return await verbs.change(request, "breaker", verb, "name", "/breakers")
