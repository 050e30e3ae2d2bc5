"""The page of sweeps: which there are, and whether they run."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from remand_app.dashboard.views import engine_of, show
from remand_app.domain.access import Permission
from remand_app.resources.sweeps import sweeps
from remand_app.web.identity import require

router = APIRouter()


@router.get("/sweeps")
def sweeps_page(request: Request) -> Response:
    """Show what runs by itself: when each sweep last went well, and why not since."""
    require(Permission.QUEUES_READ)(request)
    return show(request, "sweeps.html", sweeps=sweeps(engine_of(request)))
