"""Notifications, as every door shows them: messages to people outside, and the state of each target."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from remand_app.domain.errors import NotificationNotFound
from remand_app.domain.notifications import DeliveryState
from remand_app.domain.page import Page
from remand_app.store import notification_lists
from remand_app.store.database import Database
from remand_app.store.ids import find_id
from remand_app.store.notification_lists import TargetStatus

__all__ = ["Notification", "TargetStatus", "find_ids", "list_page"]


@dataclass(frozen=True, slots=True)
class Notification:
    """A notice on its way to a target, as stored."""

    id: UUID
    target: str
    kind: str
    subject_id: str
    payload: dict[str, Any]
    state: DeliveryState
    message_id: UUID | None
    created_at: datetime
    due_at: datetime
    attempts: int
    last_error: str | None
    sent_at: datetime | None


def list_page(
    database: Database,
    *,
    states: Sequence[DeliveryState] = (),
    target: str | None = None,
    after: str | None = None,
    limit: int = 50,
) -> Page[Notification]:
    """Return notices, newest first; without states all. Transaction: own.

    Raises:
        InputInvalid: the cursor is none.
    """
    page = notification_lists.list_page(
        database, Notification, states=states, target=target, after=after, limit=limit
    )
    return page.each(lambda notice: replace(notice, state=DeliveryState(notice.state)))


def find_ids(database: Database, typed: Iterable[str]) -> list[UUID]:
    """Return the ids of notifications from whole ids or ends of ids. Transaction: own, for each.

    Raises:
        NotificationNotFound: there is none of that id.
        IdAmbiguous: an end is that of several.
    """
    return [find_id(database, "notifications", text, NotificationNotFound) for text in typed]
