"""The outbox of notices: rows made in the transaction of a fact, sent by a sweep, kept for a while."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from app.store.tables import notifications

_ONCE = ("target", "kind", "subject_id", "occurrence")


def add(connection: sa.Connection, rows: Sequence[dict[str, Any]]) -> int:
    """Store notices, each with its target, kind, subject_id, occurrence and payload; return how many are new.

    In one order, so that two who store the same wait for each other and not in a circle.
    Transaction: joins. Idempotent: by (target, kind, subject_id, occurrence).
    """
    if not rows:
        return 0
    ordered = sorted(rows, key=lambda row: tuple(row[name] for name in _ONCE))
    statement = insert(notifications).on_conflict_do_nothing(index_elements=_ONCE)
    made = connection.scalars(statement.returning(notifications.c.id), ordered)
    return len(made.all())
