"""The page of the audit log: who decided what."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from remand_app.dashboard import forms
from remand_app.dashboard.views import engine_of, show
from remand_app.domain.access import Permission
from remand_app.resources.audit import AuditFilter
from remand_app.resources.audit import list_page as audited
from remand_app.web.identity import require

router = APIRouter()


@router.get("/audit")
def audit_page(request: Request) -> Response:
    """Show who decided what, the newest first."""
    require(Permission.ADMIN_READ)(request)
    wanted = forms.filter_of(AuditFilter, request.query_params)
    after = request.query_params.get("cursor") or None
    page = audited(engine_of(request).database, wanted, after=after, limit=50)
    return show(request, "audit.html", page=page, asked=forms.fields_of(wanted))
