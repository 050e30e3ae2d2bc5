"""The first page: the state of the site; every number links to its list."""

from __future__ import annotations

from datetime import timedelta

from fastapi import APIRouter, Request
from starlette.responses import Response

from remand_app.dashboard.views import engine_of, show
from remand_app.domain.access import Permission
from remand_app.engine.worker_limits import live_workers
from remand_app.resources import groups
from remand_app.resources.breakers import breakers
from remand_app.resources.groups import GroupFilter
from remand_app.resources.overview import ended_lately, live_by_state, longest_standing, statistics
from remand_app.resources.queues import queues
from remand_app.web.identity import require

router = APIRouter()
_READ = require(Permission.WORKFLOWS_READ)
_STRETCH_SECONDS = 10
_STRETCHES = 30
_COUNTED = 10_000


@router.get("/")
def overview_page(request: Request) -> Response:
    """Show what moves, what waits, what is dead, who works."""
    _READ(request)
    engine = engine_of(request)
    with engine.database.begin() as connection:
        now = engine.now(connection)
    figures = statistics(engine)
    since = now - timedelta(seconds=_STRETCH_SECONDS * _STRETCHES)
    lately = ended_lately(engine.database, since, now, _STRETCH_SECONDS)
    return show(
        request,
        "overview.html",
        figures=figures,
        queues=queues(engine),
        breakers=breakers(engine),
        workers=live_workers(engine),
        states=live_by_state(engine.database, _COUNTED),
        counted=_COUNTED,
        still=longest_standing(engine.database, 5),
        largest=groups.list_page(engine.database, GroupFilter(order="largest"), limit=5).items,
        attempts=[stretch.attempts for stretch in lately],
        # The interval that has just begun is not complete yet.
        per_second=sum(stretch.attempts for stretch in lately[-7:-1]) / (_STRETCH_SECONDS * 6),
        failures=sum(stretch.failures for stretch in lately),
        now=now,
    )
