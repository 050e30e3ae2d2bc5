"""Groups of dead letters with one cause: made with their first letter, opened again by a later one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from app.domain.states import GroupState
from app.store.ids import new_id
from app.store.tables import dead_letter_groups


@dataclass(frozen=True, slots=True)
class Cause:
    """What letters of one group have in common."""

    fingerprint: str
    cause: str
    namespace: str
    template: str
    version: str
    step: str
    handler: str
    error_class: str
    message: str
    category: str


@dataclass(frozen=True, slots=True)
class Reopened:
    """A group whose cause came back, and how it had been resolved."""

    id: UUID
    resolved_at: datetime
    resolved_by: str
    resolution: str | None


def ensure_groups(
    connection: sa.Connection, causes: Iterable[Cause], now: datetime
) -> tuple[dict[str, UUID], list[Reopened]]:
    """Return the groups of causes by fingerprint, new ones made, resolved ones opened again.

    Rows are written in the order of fingerprints, and only if they must be: a storm of failures with one
    cause does not queue up behind its group. Transaction: joins. Idempotent: by fingerprint.
    """
    wanted = {one.fingerprint: one for one in sorted(causes, key=lambda one: one.fingerprint)}
    known = _known(connection, wanted)
    missing = [one for one in wanted.values() if one.fingerprint not in known]
    if missing:
        connection.execute(
            insert(dead_letter_groups).on_conflict_do_nothing(index_elements=["fingerprint"]),
            [_row(one, now) for one in missing],
        )
        known = _known(connection, wanted)
    closed = [known[one] for one in wanted if known[one][1] == GroupState.RESOLVED]
    reopened = _reopen(connection, [one[0] for one in closed], now) if closed else []
    return {fingerprint: row[0] for fingerprint, row in known.items()}, reopened


def _known(connection: sa.Connection, wanted: Iterable[str]) -> dict[str, tuple[UUID, str]]:
    table = dead_letter_groups.c
    rows = connection.execute(
        sa.select(table.fingerprint, table.id, table.state).where(table.fingerprint.in_(list(wanted)))
    )
    return {row.fingerprint: (row.id, row.state) for row in rows}


def _row(cause: Cause, now: datetime) -> dict[str, object]:
    return {
        "id": new_id(),
        **{name: getattr(cause, name) for name in Cause.__slots__},
        "state": GroupState.OPEN,
        "state_since": now,
        "first_at": now,
        "last_at": now,
    }


def _reopen(connection: sa.Connection, ids: list[UUID], now: datetime) -> list[Reopened]:
    table = dead_letter_groups
    rows = connection.execute(
        sa.update(table)
        .where(table.c.id.in_(ids), table.c.state == GroupState.RESOLVED)
        .values(state=GroupState.OPEN, state_since=now, owner=None, reopenings=table.c.reopenings + 1)
        .returning(table.c.id, table.c.resolved_at, table.c.resolved_by, table.c.resolution)
    )
    return [Reopened(*row) for row in rows]
