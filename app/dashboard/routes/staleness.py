"""The page of staleness: workflows without a sign of life."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.dashboard.views import engine_of, show
from app.domain.access import Permission
from app.domain.staleness import Health
from app.engine import staleness
from app.web.identity import require

router = APIRouter()
_SHOWN = 200


@router.get("/staleness")
def staleness_page(request: Request) -> Response:
    """Show which workflows show no sign of life, and which soon will be stale."""
    require(Permission.WORKFLOWS_READ)(request)
    engine = engine_of(request)
    standings = staleness.shown(engine, tuple(Health), limit=_SHOWN).items
    return show(request, "staleness.html", standings=standings, now=engine.instant())
