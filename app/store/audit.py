"""The audit log: what somebody decided, with before and after, written in the transaction that does it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from app.store.ids import new_id
from app.store.tables import audit_log


@dataclass(frozen=True, slots=True)
class Entry:
    """One decision, as it is recorded; `before` and `after` hold what changed, redacted already."""

    verb: str
    """noun.verb, as `step.retry`."""
    kind: str
    """What it was about: workflow, step, dead_letter, group, redrive, queue, breaker, token, …"""
    subject: str
    """Its id or name; a step is `<workflow id>/<step>`."""
    workflow_id: UUID | None = None
    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | None = None


def record(
    connection: sa.Connection, entry: Entry, *, by: str, via: str, reason: str | None, now: datetime
) -> None:
    """Append an entry. Transaction: joins the one that makes the change."""
    values = {name: getattr(entry, name) for name in Entry.__slots__}
    connection.execute(
        sa.insert(audit_log).values(id=new_id(), at=now, by=by, via=via, reason=reason, **values)
    )
