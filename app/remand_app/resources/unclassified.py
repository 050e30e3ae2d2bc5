"""Failures that no rule knew, as every door shows them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from remand_app.domain.page import Page
from remand_app.store import unclassified
from remand_app.store.database import Database
from remand_app.store.unclassified import forget

__all__ = ["Unclassified", "forget", "list_unclassified"]


@dataclass(frozen=True, slots=True)
class Unclassified:
    """All failures of one fingerprint; workflow, step, attempt, handler and message are those of the last."""

    fingerprint: str
    error_class: str
    message: str
    count: int
    first_at: datetime
    last_at: datetime
    workflow_id: UUID
    step: str
    attempt: int
    handler: str


def list_unclassified(
    database: Database, *, after: str | None = None, limit: int = 100
) -> Page[Unclassified]:
    """Return what no rule knew, the last seen first. Transaction: own.

    Raises:
        InputInvalid: `after` is no cursor of this list.
    """
    return unclassified.list_page(database, Unclassified, after=after, limit=limit)
