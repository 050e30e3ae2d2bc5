"""The page of the archive: what it holds, and its last moves."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from remand_app.dashboard.views import engine_of, show
from remand_app.domain.access import Permission
from remand_app.resources import archive
from remand_app.web.identity import require

router = APIRouter()
_RUNS = 50


@router.get("/archive")
def archive_page(request: Request) -> Response:
    """Show what the archive holds, and what was moved last."""
    require(Permission.QUEUES_READ)(request)
    return show(request, "archive.html", archive=archive.status(engine_of(request).database, _RUNS))
