"""The audit log, as every door shows it: who decided what, when and why."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from remand_app.domain.audit_filter import AuditFilter
from remand_app.domain.page import Page
from remand_app.store import audit
from remand_app.store.database import Database

__all__ = ["AuditFilter", "Written", "list_page"]


@dataclass(frozen=True, slots=True)
class Written:
    """An entry as it was written."""

    id: UUID
    at: datetime
    by: str
    via: str
    verb: str
    kind: str
    subject: str
    workflow_id: UUID | None
    reason: str | None
    before: Any
    after: Any


def list_page(
    database: Database, wanted: AuditFilter, *, after: str | None = None, limit: int = 50
) -> Page[Written]:
    """Return entries, newest first, those behind `after`. Transaction: own.

    Raises:
        InputInvalid: `after` is no cursor.
    """
    return audit.list_page(database, Written, wanted, after=after, limit=limit)
