"""The outbox of notices: rows made in the transaction of a fact, sent by a sweep, kept for a while.

Rows that are sent together share a message. Lock order: the target's row of
`notification_targets` first, then the rows of the outbox.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from remand_app.domain.notifications import DeliveryState
from remand_app.domain.webhook_messages import Message, Told
from remand_app.store.ids import new_id
from remand_app.store.tables import notification_targets, notifications

MOST_TOLD = 10_000
"""Notices that one message tells at most."""
_ONCE = ("target", "kind", "subject_id", "occurrence")
_PENDING = sa.text("notifications.state = 'pending'")


@dataclass(frozen=True, slots=True)
class Claimed:
    """A message that the caller is to send; `attempt` counts this try."""

    message: Message
    attempt: int


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of a try, and when the target gets anything again."""

    at: datetime
    state: DeliveryState
    next_at: datetime
    failures: int
    error: str | None = None
    due_at: datetime | None = None
    """Pending: when it is tried again."""


def add(connection: sa.Connection, rows: Sequence[dict[str, Any]]) -> int:
    """Store notices, each with its target, kind, subject_id, occurrence and payload; return how many are new.

    Rows are stored in a fixed order, so that two transactions with the same notices do not deadlock.
    Transaction: joins. Idempotent: by (target, kind, subject_id, occurrence).
    """
    if not rows:
        return 0
    ordered = sorted(rows, key=lambda row: tuple(row[name] for name in _ONCE))
    statement = insert(notifications).on_conflict_do_nothing(index_elements=_ONCE)
    made = connection.scalars(statement.returning(notifications.c.id), ordered)
    return len(made.all())


def claim(
    connection: sa.Connection, target: str, now: datetime, lease: datetime, shown: int
) -> Claimed | None:
    """Take the message of a target that has been due longest, or make one of notices that are in none yet.

    It is due again at `lease`, and nothing else goes to the target before, unless it is settled. None:
    nothing is due, or the target is not to be disturbed, or somebody else has it. Transaction: joins.
    """
    table = notifications.c
    due = sa.and_(table.target == target, _PENDING, table.due_at <= now)
    if not connection.scalar(sa.select(sa.exists().where(due))):
        return None
    if not _take_target(connection, target, now):
        return None
    # Read again now that the target's row is locked: its former holder may have taken what was due.
    first = connection.execute(
        sa.select(table.message_id).where(due).order_by(table.due_at, table.id).limit(1)
    ).first()
    if first is None:
        return None
    message_id = first.message_id or _gather(connection, due)
    attempts = connection.scalars(
        sa.update(notifications)
        .where(table.message_id == message_id, _PENDING)
        .values(attempts=table.attempts + 1, due_at=lease)
        .returning(table.attempts)
    ).all()
    connection.execute(
        sa.update(notification_targets).where(notification_targets.c.name == target).values(next_at=lease)
    )
    return Claimed(_message(connection, message_id, shown), max(attempts))


def _take_target(connection: sa.Connection, target: str, now: datetime) -> bool:
    table = notification_targets
    connection.execute(
        insert(table).values(name=target, next_at=now).on_conflict_do_nothing(index_elements=["name"])
    )
    query = sa.select(table.c.name).where(table.c.name == target, table.c.next_at <= now)
    return connection.execute(query.with_for_update(skip_locked=True)).first() is not None


def _gather(connection: sa.Connection, due: sa.ColumnElement[bool]) -> UUID:
    table = notifications.c
    message_id = new_id()
    loose = (
        sa.select(table.id)
        .where(due, table.message_id.is_(None))
        .order_by(table.due_at, table.id)
        .limit(MOST_TOLD)
        .with_for_update(skip_locked=True)
    )
    connection.execute(
        sa.update(notifications).where(table.id.in_(loose.scalar_subquery())).values(message_id=message_id)
    )
    return message_id


def _message(connection: sa.Connection, message_id: UUID, shown: int) -> Message:
    table = notifications.c
    of = table.message_id == message_id
    counted = connection.execute(
        sa.select(table.kind, sa.func.count().label("number"))
        .where(of)
        .group_by(table.kind)
        .order_by(sa.desc(sa.func.count()), table.kind)
    )
    rows = connection.execute(
        sa.select(table.kind, table.subject_id, table.payload, table.created_at)
        .where(of)
        .order_by(table.created_at, table.id)
        .limit(shown)
    )
    notices = [
        Told(
            row.kind,
            row.subject_id,
            row.payload["title"],
            row.payload["facts"],
            row.payload["link"],
            row.created_at,
        )
        for row in rows
    ]
    return Message(message_id, notices, {row.kind: row.number for row in counted})


def failures_of(connection: sa.Connection, target: str) -> int:
    """Lock a target and return how many tries in a row failed. Transaction: joins."""
    table = notification_targets.c
    query = sa.select(table.failures).where(table.name == target).with_for_update()
    return connection.scalar(query) or 0


def settle(connection: sa.Connection, target: str, message_id: UUID, attempt: int, ended: Settled) -> bool:
    """Record what became of a try; the caller holds the target. Return whether it still counted.

    A try that ended after another process had begun the next one counts only if the message was delivered.
    Transaction: joins. Idempotent.
    """
    table = notifications.c
    mine = sa.and_(table.message_id == message_id, _PENDING)
    values: dict[str, Any] = {"state": ended.state, "last_error": ended.error}
    if ended.state is DeliveryState.SENT:
        values["sent_at"] = ended.at
    else:
        mine = sa.and_(mine, table.attempts == attempt)
    if ended.due_at is not None:
        values["due_at"] = ended.due_at
    moved = connection.execute(sa.update(notifications).where(mine).values(**values)).rowcount
    if moved:
        sent = {"sent_at": ended.at} if ended.state is DeliveryState.SENT else {}
        connection.execute(
            sa.update(notification_targets)
            .where(notification_targets.c.name == target)
            .values(next_at=ended.next_at, failures=ended.failures, **sent)
        )
    return bool(moved)
