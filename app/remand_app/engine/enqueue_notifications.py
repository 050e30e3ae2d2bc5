"""Enqueue notices for people outside, in the transaction of the fact that they report.

A notice is as durable as the fact itself; the sweep `notify` sends it later. If no target wants a kind of
notice, nothing is stored.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote

from remand.redact import redact_json
from remand_app.config import Settings
from remand_app.domain.notifications import Notice, NotificationKind
from remand_app.store import notification_outbox
from remand_app.store.database import Connection
from remand_app.store.ids import new_id

_PAGES: Final = {
    NotificationKind.WORKFLOW_STALE_SOON: "workflows",
    NotificationKind.WORKFLOW_STALE: "workflows",
    NotificationKind.DEAD_LETTER_OPENED: "dlq/letters",
    NotificationKind.GROUP_OPENED: "dlq/groups",
    NotificationKind.GROUP_GREW: "dlq/groups",
    NotificationKind.GROUP_REOPENED: "dlq/groups",
    NotificationKind.REDRIVE_STOPPED: "redrives",
}
_LONGEST_TITLE = 300


def wanted(settings: Settings, kind: NotificationKind) -> bool:
    """Return whether any target wants that kind: ask before gathering facts that only a notice needs."""
    return any(kind in target.kinds for target in settings.notify.targets)


def enqueue(connection: Connection, settings: Settings, notice: Notice, now: datetime) -> int:
    """Store a notice for every target that wants its kind; return for how many targets it is new.

    Transaction: joins that of the fact. Idempotent: by kind, subject and occurrence.
    """
    return enqueue_many(connection, settings, [notice], now)


def enqueue_many(connection: Connection, settings: Settings, notices: Iterable[Notice], now: datetime) -> int:
    """Like `enqueue`, for many notices."""
    targets = settings.notify.targets
    if not targets:
        return 0
    unique = {(notice.kind, str(notice.subject_id), notice.occurrence): notice for notice in notices}
    rows = [
        {
            "id": new_id(),
            "target": target.name,
            "kind": notice.kind,
            "subject_id": str(notice.subject_id),
            "occurrence": notice.occurrence,
            "payload": payload,
            "created_at": now,
            "due_at": now,
        }
        for notice in unique.values()
        if wanted(settings, notice.kind)
        for payload in (_payload(notice, settings),)
        for target in targets
        if notice.kind in target.kinds
    ]
    return notification_outbox.add(connection, rows)


def _payload(notice: Notice, settings: Settings) -> dict[str, Any]:
    payload = {
        "title": " ".join(notice.title.split())[:_LONGEST_TITLE],
        "facts": dict(notice.facts),
        "link": link(notice, settings),
    }
    redacted: dict[str, Any] = redact_json(payload, settings.redact_keys)
    return redacted


def link(notice: Notice, settings: Settings) -> str | None:
    """Return the dashboard page about a notice's subject; None: the dashboard's address is not set."""
    base = settings.web.dashboard_url
    if base is None:
        return None
    if notice.kind is NotificationKind.BREAKER_OPENED:
        return f"{base}/breakers"
    page = _PAGES.get(notice.kind)
    return base if page is None else f"{base}/{page}/{quote(str(notice.subject_id), safe='')}"
