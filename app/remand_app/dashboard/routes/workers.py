"""The page of workers: which are alive, which stopped lately."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from remand_app.dashboard.views import engine_of, show
from remand_app.domain.access import Permission
from remand_app.resources import workers
from remand_app.web.identity import require

router = APIRouter()
_STOPPED = 20


@router.get("/workers")
def workers_page(request: Request) -> Response:
    """Show the workers that live, and those that stopped lately."""
    require(Permission.QUEUES_READ)(request)
    engine = engine_of(request)
    rows = workers.workers(engine, ended=True)
    with engine.database.begin() as connection:
        now = engine.now(connection)
    alive = [worker for worker in rows if worker.stopped_at is None]
    stopped = [worker for worker in rows if worker.stopped_at is not None]
    stopped.sort(key=lambda worker: worker.stopped_at or worker.started_at, reverse=True)
    return show(
        request,
        "workers.html",
        alive=alive,
        stopped=stopped[:_STOPPED],
        silent_seconds=workers.silent_seconds(engine),
        now=now,
    )
