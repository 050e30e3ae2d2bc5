"""`/audit`: who decided what, when and why."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from starlette.responses import Response

from app.api.dependencies import AdminReader, After, EngineOf, Limit, Line
from app.api.openapi import Page
from app.api.responses import page
from app.domain.instants import Instant
from app.resources import audit
from app.resources.audit import Written

router = APIRouter(tags=["audit"])


@router.get("/audit", response_model=Page[Written], summary="List decisions")
def list_decisions(
    engine: EngineOf,
    caller: AdminReader,
    by: Annotated[Line | None, Query(description="Decided by whom.")] = None,
    verb: Annotated[Line | None, Query(description="`step.retry`; or a noun: all verbs of `step`.")] = None,
    kind: Annotated[Line | None, Query(description="Kind of thing it was about.")] = None,
    subject: Annotated[Line | None, Query(description="Id or name of what it was about.")] = None,
    workflow_id: Annotated[UUID | None, Query(description="About this workflow.")] = None,
    since: Annotated[Instant | None, Query(description="At this instant or later.")] = None,
    cursor: After = None,
    limit: Limit = 50,
) -> Response:
    """List what people decided, newest first: by whom, through which door, why, and what changed."""
    wanted = audit.Filter(by=by, verb=verb, kind=kind, subject=subject, workflow_id=workflow_id, since=since)
    found = audit.list_page(engine.database, wanted, after=cursor, limit=limit)
    return page(found)
