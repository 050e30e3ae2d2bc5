"""The page of staleness: workflows without a sign of life."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from remand_app.dashboard.views import engine_of, show
from remand_app.domain.access import Permission
from remand_app.domain.staleness import Health
from remand_app.engine import staleness
from remand_app.web.identity import require

router = APIRouter()
_SHOWN = 200


@router.get("/staleness")
def staleness_page(request: Request) -> Response:
    """Show which workflows show no sign of life, and which soon will be stale."""
    require(Permission.WORKFLOWS_READ)(request)
    engine = engine_of(request)
    standings = staleness.shown(engine, tuple(Health), limit=_SHOWN).items
    return show(request, "staleness.html", standings=standings, now=engine.instant())
