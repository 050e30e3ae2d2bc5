"""`/sweeps`: whether each sweep runs, and whether its runs succeed."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from remand_app.api.dependencies import EngineOf, QueueReader
from remand_app.api.openapi import Page
from remand_app.api.responses import whole
from remand_app.resources.sweeps import Sweep, sweeps

router = APIRouter(tags=["queues and workers"])


@router.get("/sweeps", response_model=Page[Sweep], summary="List the sweeps")
def list_sweeps(engine: EngineOf, caller: QueueReader) -> Response:
    """List what runs by itself: when each last went well, since when it fails, whether it is overdue."""
    return whole(sweeps(engine))
