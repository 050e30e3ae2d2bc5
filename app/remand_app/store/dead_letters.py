"""Dead letters: opened by terminal failures, closed by people. Rows are read as values."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from remand_app.domain.errors import DeadLetterNotFound
from remand_app.domain.states import DeadLetterStatus
from remand_app.store.database import Database
from remand_app.store.ids import find_id, new_id
from remand_app.store.tables import dead_letter_notes, dead_letters

OPEN = ("pending", "investigating")
AT_ONCE_CHARACTERS = 8_000_000
# One value for many rows: the driver is spared a value for each of their columns.
_OPEN_LETTERS: Final = """
insert into remand.dead_letters as letter ({0})
select {0}
  from jsonb_populate_recordset(null::remand.dead_letters, cast(:rows as jsonb))
on conflict (source, source_id) do nothing
returning letter.id
"""
_RENEW = sa.text("""
update remand.dead_letters letter
   set snapshot = cast(renewed.snapshot as jsonb)
  from unnest(cast(:ids as uuid[]), cast(:snapshots as text[])) renewed(id, snapshot)
 where letter.id = renewed.id
""")


@dataclass(frozen=True, slots=True)
class LetterRow:
    """A dead letter in a list: without its snapshot and metadata."""

    id: UUID
    workflow_id: UUID
    source: str
    """What it was opened for: a step of a workflow, or what else may fail."""
    source_id: str
    group_id: UUID
    namespace: str
    template: str
    version: str
    step: str
    handler: str
    queue: str
    dead_queue: str
    attempts: int
    reason: str
    category: str
    policy: str
    rule: str
    error_class: str
    error_message: str
    worker: str
    status: DeadLetterStatus
    opened_at: datetime
    triage_at: datetime
    claimed_by: str | None
    claimed_at: datetime | None
    closed_by: str | None
    closed_at: datetime | None
    resolution: str | None
    labels: list[str]
    links: list[str]
    follows: UUID | None
    requeues: int
    requeue_at: datetime | None

    @property
    def ref(self) -> str:
        """The template, "namespace/name:version"."""
        return f"{self.namespace}/{self.template}:{self.version}"


@dataclass(frozen=True, slots=True)
class DeadLetter(LetterRow):
    """An investigation as stored."""

    snapshot: dict[str, Any]
    metadata: dict[str, Any]


ROW_COLUMNS = tuple(column.name for column in fields(LetterRow))


@dataclass(frozen=True, slots=True)
class Earlier:
    """The previous letter of a step, and how it was closed, if it is."""

    id: UUID
    requeues: int
    status: str
    closed_by: str | None


@dataclass(frozen=True, slots=True)
class Due:
    """A letter that is due to be requeued automatically."""

    id: UUID
    workflow_id: UUID
    step: str
    requeues: int
    template_id: int


@dataclass(frozen=True, slots=True)
class Note:
    """A note of an investigation."""

    at: datetime
    author: str
    text: str


def get_dead_letter(database: Database, letter_id: UUID) -> DeadLetter:
    """Read an entry. Transaction: own.

    Raises:
        DeadLetterNotFound: no entry has that id.
    """
    with database.reading() as connection:
        return _one(connection.execute(_select().where(dead_letters.c.id == letter_id)).first(), letter_id)


def find_dead_letter(database: Database, typed: str) -> DeadLetter:
    """Read an entry by its id, a prefix or suffix of it, or by its workflow's id.

    By workflow it is the open entry, else the newest one. Transaction: own.

    Raises:
        DeadLetterNotFound: nothing fits.
        AmbiguousId: several fit.
    """
    try:
        return get_dead_letter(database, find_id(database, "dead_letters", typed, DeadLetterNotFound))
    except DeadLetterNotFound as missing:
        try:
            workflow_id = find_id(database, "workflows", typed, DeadLetterNotFound)
        except DeadLetterNotFound:
            raise missing from None
        query = (
            _select()
            .where(dead_letters.c.workflow_id == workflow_id)
            .order_by(dead_letters.c.status.in_(OPEN).desc(), dead_letters.c.id.desc())
        )
        with database.begin() as connection:
            row = connection.execute(query.limit(1)).first()
        if row is None:
            raise missing from None
        return _letter(row)


def notes_of(database: Database, letter_id: UUID) -> list[Note]:
    """Read the notes of an entry, oldest first. Transaction: own."""
    query = sa.select(dead_letter_notes).where(dead_letter_notes.c.dead_letter_id == letter_id)
    with database.reading() as connection:
        rows = connection.execute(query.order_by(dead_letter_notes.c.id)).all()
    return [Note(row.at, row.author, row.text) for row in rows]


def lock_dead_letter(connection: sa.Connection, letter_id: UUID) -> DeadLetter:
    """Lock an entry and return it. Transaction: joins; lock the workflow first.

    Raises:
        DeadLetterNotFound: no entry has that id.
    """
    query = _select().where(dead_letters.c.id == letter_id).with_for_update()
    return _one(connection.execute(query).first(), letter_id)


def open_letter_of(connection: sa.Connection, workflow_id: UUID) -> DeadLetter | None:
    """Lock the workflow's open entry and return it, None if there is none. Transaction: joins."""
    query = _select().where(dead_letters.c.workflow_id == workflow_id, dead_letters.c.status.in_(OPEN))
    row = connection.execute(query.with_for_update()).first()
    return None if row is None else _letter(row)


def lock_open_of(connection: sa.Connection, workflow_ids: Collection[UUID]) -> dict[UUID, UUID]:
    """Lock the open entries of workflows; return them by workflow. Transaction: joins."""
    query = (
        sa.select(dead_letters.c.workflow_id, dead_letters.c.id)
        .where(
            dead_letters.c.workflow_id == sa.any_(sa.literal(list(workflow_ids), ARRAY(sa.Uuid))),
            dead_letters.c.status.in_(OPEN),
        )
        .order_by(dead_letters.c.id)
    )
    return {row.workflow_id: row.id for row in connection.execute(query.with_for_update())}


def newest_of_steps(
    connection: sa.Connection, of: Sequence[tuple[UUID, str]]
) -> dict[tuple[UUID, str], Earlier]:
    """Return the newest letter of each step that has one. Transaction: joins."""
    query = sa.text(
        """
        select distinct on (workflow_id, step) workflow_id, step, id, requeues, status, closed_by
          from remand.dead_letters
         where workflow_id = any(:ids)
         order by workflow_id, step, id desc
        """
    )
    rows = connection.execute(query, {"ids": [workflow_id for workflow_id, _ in of]})
    return {
        (row.workflow_id, row.step): Earlier(row.id, row.requeues, row.status, row.closed_by) for row in rows
    }


def take_due(connection: sa.Connection, now: datetime, limit: int, but: Collection[UUID] = ()) -> list[Due]:
    """Lock the workflows, then the letters, that are due to be requeued automatically. Transaction: joins.

    None of the workflows in `but`.

    Skips workflows that others have locked, and letters that somebody has claimed.
    """
    columns = dead_letters.c
    is_due = sa.and_(columns.requeue_at <= now, columns.status == "pending")
    due = sa.select(columns.workflow_id).where(is_due).order_by(columns.requeue_at).limit(limit)
    if but:
        due = due.where(columns.workflow_id.not_in(but))
    workflows = list(connection.scalars(due))
    if not workflows:
        return []
    lock = sa.text(
        "select id, template_id from remand.workflows where id = any(:ids) order by id for update skip locked"
    )
    held = {row.id: row.template_id for row in connection.execute(lock, {"ids": workflows})}
    query = (
        sa.select(columns.id, columns.workflow_id, columns.step, columns.requeues)
        .where(columns.workflow_id.in_(held), is_due)
        .order_by(columns.id)
        .with_for_update()
    )
    return [
        Due(row.id, row.workflow_id, row.step, row.requeues, held[row.workflow_id])
        for row in connection.execute(query)
    ]


def insert_letters(connection: sa.Connection, rows: Sequence[Mapping[str, Any]]) -> set[UUID]:
    """Open entries; return the ids of those that were stored, without those that existed before.

    `rows`: values by column, the same columns in each; `snapshot` is the text of a JSON object.

    Transaction: joins. Idempotent: by source id.
    """
    stored: set[UUID] = set()
    for some in _of_a_size([_row_text(row) for row in rows]):
        columns = ", ".join(dead_letters.c[name].name for name in rows[0])
        stored.update(
            connection.scalars(sa.text(_OPEN_LETTERS.format(columns)), {"rows": f"[{','.join(some)}]"})
        )
    return stored


def _row_text(row: Mapping[str, Any]) -> str:
    plain = {name: value for name, value in row.items() if name != "snapshot"}
    return f'{json.dumps(plain, default=str)[:-1]}, "snapshot": {row["snapshot"]}}}'


def _of_a_size(texts: Iterable[str]) -> Iterator[list[str]]:
    """Split texts so that no statement is too large for the server, even with large snapshots."""
    some: list[str] = []
    room = AT_ONCE_CHARACTERS
    for text in texts:
        if some and len(text) > room:
            yield some
            some, room = [], AT_ONCE_CHARACTERS
        some.append(text)
        room -= len(text)
    if some:
        yield some


def renew_snapshots(connection: sa.Connection, snapshots: Mapping[UUID, str]) -> None:
    """Replace the snapshots (JSON text) of entries that the caller has locked. Transaction: joins."""
    if snapshots:
        arguments = {"ids": list(snapshots), "snapshots": list(snapshots.values())}
        connection.execute(_RENEW, arguments)


def change_letter(connection: sa.Connection, letter_id: UUID, **values: Any) -> None:
    """Change columns of an entry that the caller has locked. Transaction: joins."""
    connection.execute(sa.update(dead_letters).where(dead_letters.c.id == letter_id).values(**values))


def workflows_with_open(connection: sa.Connection, workflow_ids: Sequence[UUID]) -> set[UUID]:
    """Return those workflows that have an open entry. Transaction: joins."""
    columns = dead_letters.c
    query = sa.select(columns.workflow_id).where(
        columns.workflow_id.in_(workflow_ids), columns.status.in_(OPEN)
    )
    return set(connection.scalars(query))


def open_again(connection: sa.Connection, workflow_id: UUID) -> UUID | None:
    """Open the newest entry of a workflow that has none open; None: it never had one. Transaction: joins."""
    newest = (
        sa.select(dead_letters.c.id)
        .where(dead_letters.c.workflow_id == workflow_id)
        .order_by(dead_letters.c.id.desc())
        .limit(1)
    )
    opened: UUID | None = connection.execute(
        sa.update(dead_letters)
        .where(dead_letters.c.id == newest.scalar_subquery())
        .values(
            status=DeadLetterStatus.PENDING,
            claimed_by=None,
            claimed_at=None,
            closed_by=None,
            closed_at=None,
            resolution=None,
        )
        .returning(dead_letters.c.id)
    ).scalar_one_or_none()
    return opened


def add_note(connection: sa.Connection, letter_id: UUID, *, author: str, text: str, now: datetime) -> None:
    """Append a note. Transaction: joins."""
    connection.execute(
        sa.insert(dead_letter_notes).values(
            id=new_id(), dead_letter_id=letter_id, at=now, author=author, text=text
        )
    )


def add_notes(
    connection: sa.Connection, notes: Sequence[tuple[UUID, str]], *, author: str, now: datetime
) -> None:
    """Append notes, each the id of an entry and a text. Transaction: joins."""
    if notes:
        rows = [
            {"id": new_id(), "dead_letter_id": letter_id, "at": now, "author": author, "text": text}
            for letter_id, text in notes
        ]
        connection.execute(sa.insert(dead_letter_notes), rows)


def add_group_note(
    connection: sa.Connection, group_id: UUID, *, author: str, text: str, now: datetime
) -> None:
    """Append a note to a group. Transaction: joins."""
    connection.execute(
        sa.insert(dead_letter_notes).values(id=new_id(), group_id=group_id, at=now, author=author, text=text)
    )


def _select() -> sa.Select[Any]:
    return sa.select(*(dead_letters.c[column.name] for column in fields(DeadLetter)))


def _one(row: Any, letter_id: UUID) -> DeadLetter:
    if row is None:
        raise DeadLetterNotFound(f"no dead letter {letter_id}", hint="see `remand dlq list`")
    return _letter(row)


def _letter(row: Any) -> DeadLetter:
    values = row._asdict()
    values["status"] = DeadLetterStatus(values["status"])
    return DeadLetter(**values)
