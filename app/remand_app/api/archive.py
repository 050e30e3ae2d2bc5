"""`/archive`: what it holds, by period, and what went in and out of it."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from remand_app.api.dependencies import After, EngineOf, Limit, QueueReader
from remand_app.api.openapi import Page
from remand_app.api.responses import page, whole
from remand_app.resources.archive import ArchivedPeriod, ArchiveRun, periods, runs

router = APIRouter(tags=["queues and workers"])


@router.get("/archive", response_model=Page[ArchivedPeriod], summary="Show what the archive holds")
def show_archive(engine: EngineOf, caller: QueueReader) -> Response:
    """Tell of each period how many workflows are archived, how large they are, whether they are exported."""
    return whole(periods(engine.database))


@router.get("/archive/runs", response_model=Page[ArchiveRun], summary="List what was archived and restored")
def list_archive_runs(
    engine: EngineOf, caller: QueueReader, cursor: After = None, limit: Limit = 50
) -> Response:
    """List the moves into the archive and out of it, newest first."""
    return page(runs(engine.database, after=cursor, limit=limit))
