"""Groups of dead letters with one cause: made with their first letter, opened again by a later one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from app.domain.errors import GroupNotFound, InputInvalid, InstantInvalid
from app.domain.group_filter import OPEN, GroupFilter
from app.domain.instants import read_instant
from app.domain.page import Page
from app.domain.states import GroupState
from app.store.conditions import conditions
from app.store.counting import count_rows
from app.store.dead_letters import Note
from app.store.ids import find_id, first_id_at, new_id
from app.store.session import Database
from app.store.tables import dead_letter_groups, dead_letter_notes, dead_letters

HOURS = 24
"""Hours of a trend."""
_FOLDED = 5000
_EARLIER = 10
_LONGEST_CURSOR = 18


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


def ensure_groups(connection: sa.Connection, causes: Iterable[Cause], now: datetime) -> Ensured:
    """Return the groups of causes, new ones made, resolved ones opened again.

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
    closed = [known[one].id for one in wanted if known[one].state == GroupState.RESOLVED]
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


@dataclass(frozen=True, slots=True)
class Group:
    """A group as stored, counts as last folded: call `fold` before where it must be exact."""

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


_OPEN_ONES = GroupFilter()
_ORDERS = {"recent": dead_letter_groups.c.last_at, "largest": dead_letter_groups.c.open_letters}


def fold(database: Database) -> None:
    """Count every change of letters not counted yet. Transaction: one for each 5 000. Idempotent."""
    while database.call("select remand.aggregate_letter_counts(%s)", (_FOLDED,))[0][0] == _FOLDED:
        pass


def get_group(database: Database, group_id: UUID) -> Group:
    """Read a group. Transaction: own.

    Raises:
        GroupNotFound: no group has that id.
    """
    with database.reading() as connection:
        return _one(
            connection.execute(_select().where(dead_letter_groups.c.id == group_id)).first(), group_id
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
    query = _select().where(dead_letter_groups.c.id == group_id).with_for_update()
    return _one(connection.execute(query).first(), group_id)


def change_group(connection: sa.Connection, group_id: UUID, **values: object) -> None:
    """Change columns of a group that the caller has locked. Transaction: joins."""
    connection.execute(
        sa.update(dead_letter_groups).where(dead_letter_groups.c.id == group_id).values(**values)
    )


def list_page(
    database: Database, wanted: GroupFilter = _OPEN_ONES, *, after: str | None = None, limit: int = 50
) -> Page[Group]:
    """Return a page of groups in the order that is asked for. Transaction: own.

    Raises:
        InputInvalid: the cursor is none.
    """
    with database.reading() as connection:
        rows = [_group(row) for row in connection.execute(ranked(_select(), wanted, after).limit(limit + 1))]
    return Page.of(
        rows,
        limit,
        after=after,
        cursor=lambda group: rank(group.id, group.last_at, group.open_letters, wanted.order),
        count=lambda: total(database, wanted),
    )


def total(database: Database, wanted: GroupFilter) -> int | None:
    """Return how many groups are wanted; None where there are too many to look at. Transaction: own."""
    states, others = _matching(wanted)
    return count_rows(database, dead_letter_groups, states, others)


def ranked(query: sa.Select[Any], wanted: GroupFilter, after: str | None) -> sa.Select[Any]:
    """Return a query of groups, narrowed to those that are wanted, in their order, behind a cursor.

    Raises:
        InputInvalid: the cursor is none.
    """
    table = dead_letter_groups.c
    key = _ORDERS[wanted.order]
    states, others = _matching(wanted)
    query = query.where(*states, *others).order_by(key.desc(), table.id.desc())
    return query if after is None else query.where(sa.tuple_(key, table.id) < _place(after, wanted.order))


def _matching(wanted: GroupFilter) -> tuple[list[sa.ColumnElement[bool]], list[sa.ColumnElement[bool]]]:
    """Return the conditions that an index answers, and the others."""
    states = conditions(dead_letter_groups, GroupFilter(states=wanted.states))
    if set(wanted.states) == set(OPEN):
        # In the words of the partial indexes: Postgres does not know that a parameter means the same.
        states = [sa.literal_column("dead_letter_groups.state IN ('open', 'investigating')", sa.Boolean)]
    return states, conditions(dead_letter_groups, replace(wanted, states=()))


def rank(group_id: UUID, last_at: datetime, open_letters: int, order: str) -> str:
    """Return the cursor of a group in a list of that order."""
    return f"{last_at.isoformat() if order == 'recent' else open_letters}_{group_id}"


def earlier(database: Database, group: Group) -> list[Group]:
    """Return other groups with the same cause, newest first: other steps, versions. Transaction: own."""
    table = dead_letter_groups.c
    query = _select().where(table.cause == group.cause, table.id != group.id)
    with database.reading() as connection:
        rows = connection.execute(query.order_by(table.last_at.desc()).limit(_EARLIER))
        return [_group(row) for row in rows]


def trends(database: Database, ids: Sequence[UUID], now: datetime) -> dict[UUID, list[int]]:
    """Return the letters of each group by hour, the last 24 hours, oldest first. Transaction: own."""
    last = now.replace(minute=0, second=0, microsecond=0)
    first = last - timedelta(hours=HOURS - 1)
    rows = database.call(
        """
        select group_id, array_agg((extract(epoch from hour - %s) / 3600)::int), array_agg(opened)
          from remand.dead_letter_hours
         where group_id = any(%s::uuid[])
           and hour between %s and %s
         group by 1
        """,
        (first, list(ids), first, last),
    )
    counted = {one: [0] * HOURS for one in ids}
    for group_id, places, opened in rows:
        for place, letters in zip(places, opened, strict=True):
            counted[group_id][place] = letters
    return counted


def notes_of_group(database: Database, group_id: UUID) -> list[Note]:
    """Read the notes of a group, oldest first. Transaction: own."""
    query = sa.select(dead_letter_notes).where(dead_letter_notes.c.group_id == group_id)
    with database.reading() as connection:
        rows = connection.execute(query.order_by(dead_letter_notes.c.id)).all()
    return [Note(row.at, row.author, row.text) for row in rows]


def open_letters_of(connection: sa.Connection, group_id: UUID, at_most: int) -> int:
    """Count the open letters of a group, as they are now, up to `at_most`. Transaction: joins."""
    some = (
        sa.select(sa.literal(1))
        .select_from(dead_letters)
        .where(
            dead_letters.c.group_id == group_id,
            sa.text("dead_letters.status IN ('pending', 'investigating')"),
        )
        .limit(at_most)
    )
    return int(connection.scalar(sa.select(sa.func.count()).select_from(some.subquery())) or 0)


def statuses_of(database: Database, group_id: UUID, at_most: int) -> dict[str, int]:
    """Count the newest `at_most` letters of a group by status. Transaction: own."""
    rows = database.call(
        """
        select newest.status, count(*)
          from (select status
                  from remand.dead_letters
                 where group_id = %s
                 order by id desc
                 limit %s) newest
         group by newest.status
        """,
        (group_id, at_most),
    )
    return {row[0]: row[1] for row in rows}


def hit_share(database: Database, group: Group, since: datetime, at_most: int) -> float | None:
    """Return which share of the template's workflows came into a group, all its versions; None: it had none.

    Looks at the workflows submitted since then, the newest `at_most` of all templates. Transaction: own.
    """
    with database.cursor() as cursor:
        cursor.execute(
            _HIT,
            {
                "since": first_id_at(since),
                "at_most": at_most,
                "namespace": group.namespace,
                "template": group.template,
                "group": group.id,
            },
        )
        [(of_template, hit)] = cursor.fetchall()
    return min(1.0, hit / of_template) if of_template else None


# A letter is younger than its workflow: ids bound the scan of the group's letters, too.
_HIT = """
with looked as materialized (
  select workflow.id, workflow.template_id
    from remand.workflows workflow
   where workflow.id >= %(since)s
   order by workflow.id desc
   limit %(at_most)s),
edge as (
  select looked.id
    from looked
   order by looked.id
   limit 1)
select (select count(*)
          from looked
         where looked.template_id in (
                 select template.id
                   from remand.templates template
                  where template.namespace = %(namespace)s
                    and template.name = %(template)s)),
       (select count(*)
          from (select
                  from remand.dead_letters letter, edge
                 where letter.group_id = %(group)s
                   and letter.id > edge.id
                   and letter.workflow_id >= edge.id
                 limit %(at_most)s) hit)
"""


def _select() -> sa.Select[Any]:
    return sa.select(*(dead_letter_groups.c[name] for name in Group.__slots__))


def _one(row: Any, group_id: UUID) -> Group:
    if row is None:
        raise GroupNotFound(f"no group of dead letters {group_id}", hint="see `remand dlq groups`")
    return _group(row)


def _group(row: Any) -> Group:
    return Group(**{**row._asdict(), "state": GroupState(row.state)})


def _place(after: str, order: str) -> sa.Tuple:
    value, _, last = after.partition("_")
    try:
        key: object = read_instant(value) if order == "recent" else int(value[:_LONGEST_CURSOR])
        return sa.tuple_(sa.literal(key), sa.literal(UUID(last)))
    except (ValueError, InstantInvalid):
        raise InputInvalid("this is no cursor of this list", hint="begin without one") from None
