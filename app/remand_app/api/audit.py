"""`/audit`: who decided what, when and why."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from remand_app.api.dependencies import AdminReader, After, EngineOf, Limit
from remand_app.api.filters import with_filter
from remand_app.api.openapi import Page
from remand_app.api.responses import page
from remand_app.resources import audit
from remand_app.resources.audit import AuditFilter, Written

router = APIRouter(tags=["audit"])


@router.get("/audit", response_model=Page[Written], summary="List decisions")
@with_filter(AuditFilter)
def list_decisions(
    engine: EngineOf, caller: AdminReader, asked: AuditFilter, cursor: After = None, limit: Limit = 50
) -> Response:
    """List what people decided, newest first: by whom, through which door, why, and what changed."""
    return page(audit.list_page(engine.database, asked, after=cursor, limit=limit))
