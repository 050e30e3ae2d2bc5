"""Groups of dead letters with one cause: made with their first letter, opened again by a later one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from remand_app.domain.errors import GroupNotFound
from remand_app.domain.states import GroupState
from remand_app.store.database import Database
from remand_app.store.dead_letters import Note
from remand_app.store.ids import find_id, new_id
from remand_app.store.tables import dead_letter_groups, dead_letter_notes, dead_letters

_EARLIER = 10


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
    reopenings: int
    """This time included."""
    cause: Cause


@dataclass(frozen=True, slots=True)
class Ensured:
    """The groups of causes, by fingerprint."""

    ids: dict[str, UUID]
    reopened: list[Reopened]
    empty: frozenset[str]
    """Those in which no letter was counted yet."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group as stored, counts as last folded: call `group_counts.fold` before where it must be exact."""

    id: UUID
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
    state: GroupState
    state_since: datetime
    owner: str | None
    due_at: datetime | None
    first_at: datetime
    last_at: datetime
    letters: int
    open_letters: int
    resolved_at: datetime | None
    resolved_by: str | None
    resolution: str | None
    reopenings: int

    @property
    def ref(self) -> str:
        """The template, "namespace/name:version"."""
        return f"{self.namespace}/{self.template}:{self.version}"


COLUMNS = tuple(dead_letter_groups.c[name] for name in Group.__slots__)


def ensure_groups(connection: sa.Connection, causes: Iterable[Cause], now: datetime) -> Ensured:
    """Return the groups of causes, new ones made, resolved ones opened again.

    Rows are written in the order of fingerprints, and only if they must be: a storm of failures with one
    cause does not queue up behind its group. Transaction: joins. Idempotent: by fingerprint.
    """
    wanted = {cause.fingerprint: cause for cause in sorted(causes, key=lambda cause: cause.fingerprint)}
    known = _known(connection, wanted)
    missing = [cause for cause in wanted.values() if cause.fingerprint not in known]
    if missing:
        connection.execute(
            insert(dead_letter_groups).on_conflict_do_nothing(index_elements=["fingerprint"]),
            [_row(cause, now) for cause in missing],
        )
        known = _known(connection, wanted)
    closed = [row.id for row in known.values() if row.state == GroupState.RESOLVED]
    reopened = _reopen(connection, closed, now) if closed else []
    empty = frozenset(fingerprint for fingerprint, row in known.items() if row.letters == 0)
    return Ensured({fingerprint: row.id for fingerprint, row in known.items()}, reopened, empty)


def reopen(connection: sa.Connection, letter_id: UUID, now: datetime) -> list[Reopened]:
    """Open a resolved group again because one of its letters was opened again. Transaction: joins."""
    table = dead_letter_groups.c
    of = sa.select(dead_letters.c.group_id).where(dead_letters.c.id == letter_id).scalar_subquery()
    # Locked before it is read: a concurrent resolve either saw the letter or is seen here.
    query = sa.select(table.id, table.state).where(table.id == of).with_for_update(key_share=True)
    group = connection.execute(query).one()
    return _reopen(connection, [group.id], now) if group.state == GroupState.RESOLVED else []


def get_group(database: Database, group_id: UUID) -> Group:
    """Read a group. Transaction: own.

    Raises:
        GroupNotFound: no group has that id.
    """
    with database.reading() as connection:
        return _one(
            connection.execute(sa.select(*COLUMNS).where(dead_letter_groups.c.id == group_id)).first(),
            group_id,
        )


def find_group(database: Database, typed: str) -> Group:
    """Read a group by its id, or enough of either end of it. Transaction: own.

    Raises:
        GroupNotFound: nothing fits.
        AmbiguousId: several fit.
    """
    return get_group(database, find_id(database, "dead_letter_groups", typed, GroupNotFound))


def lock_group(connection: sa.Connection, group_id: UUID) -> Group:
    """Lock a group against letters that are being opened, and return it. Transaction: joins.

    Raises:
        GroupNotFound: no group has that id.
    """
    query = sa.select(*COLUMNS).where(dead_letter_groups.c.id == group_id).with_for_update()
    return _one(connection.execute(query).first(), group_id)


def change_group(connection: sa.Connection, group_id: UUID, **values: object) -> None:
    """Change columns of a group that the caller has locked. Transaction: joins."""
    connection.execute(
        sa.update(dead_letter_groups).where(dead_letter_groups.c.id == group_id).values(**values)
    )


def earlier(database: Database, group: Group) -> list[Group]:
    """Return other groups with the same cause, newest first: other steps, versions. Transaction: own."""
    table = dead_letter_groups.c
    query = sa.select(*COLUMNS).where(table.cause == group.cause, table.id != group.id)
    with database.reading() as connection:
        rows = connection.execute(query.order_by(table.last_at.desc()).limit(_EARLIER))
        return [made(row) for row in rows]


def notes_of_group(database: Database, group_id: UUID) -> list[Note]:
    """Read the notes of a group, oldest first. Transaction: own."""
    query = sa.select(dead_letter_notes).where(dead_letter_notes.c.group_id == group_id)
    with database.reading() as connection:
        rows = connection.execute(query.order_by(dead_letter_notes.c.id)).all()
    return [Note(row.at, row.author, row.text) for row in rows]


def made(row: Any) -> Group:
    """Return a row of these columns as a value."""
    return Group(**{**row._asdict(), "state": GroupState(row.state)})


def _known(connection: sa.Connection, wanted: Iterable[str]) -> dict[str, Any]:
    table = dead_letter_groups.c
    # The foreign key's lock, taken a little earlier: resolving a group waits for letters being opened.
    rows = connection.execute(
        sa.select(table.fingerprint, table.id, table.state, table.letters)
        .where(table.fingerprint.in_(list(wanted)))
        .with_for_update(read=True, key_share=True)
    )
    return {row.fingerprint: row for row in rows}


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
    # In the order of ids, as `aggregate_letter_counts` takes them.
    connection.execute(
        sa.select(table.c.id).where(table.c.id.in_(ids)).order_by(table.c.id).with_for_update(key_share=True)
    )
    rows = connection.execute(
        sa.update(table)
        .where(table.c.id.in_(ids), table.c.state == GroupState.RESOLVED)
        .values(state=GroupState.OPEN, state_since=now, owner=None, reopenings=table.c.reopenings + 1)
        .returning(table)
    )
    return [
        Reopened(
            row.id,
            row.resolved_at,
            row.resolved_by,
            row.resolution,
            row.reopenings,
            Cause(**{name: getattr(row, name) for name in Cause.__slots__}),
        )
        for row in rows
    ]


def _one(row: Any, group_id: UUID) -> Group:
    if row is None:
        raise GroupNotFound(f"no group of dead letters {group_id}", hint="see `remand dlq groups`")
    return made(row)
