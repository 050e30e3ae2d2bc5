"""Notifications, as every door shows them: messages to people outside, and the state of each target."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from app.domain.errors import NotificationNotFound
from app.store.ids import find_id
from app.store.notification_lists import Notification, TargetStatus, list_page
from app.store.session import Database

__all__ = ["Notification", "TargetStatus", "find_ids", "list_page"]


def find_ids(database: Database, typed: Iterable[str]) -> list[UUID]:
    """Return the ids of notifications from whole ids or ends of ids. Transaction: own, for each.

    Raises:
        NotificationNotFound: there is none of that id.
        IdAmbiguous: an end is that of several.
    """
    return [find_id(database, "notifications", text, NotificationNotFound) for text in typed]
