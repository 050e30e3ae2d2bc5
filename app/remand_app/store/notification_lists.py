"""The outbox of notices as people see it: list notices, send them again, delete old ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

import sqlalchemy as sa

from remand_app.domain.notifications import DeliveryState
from remand_app.domain.page import Page
from remand_app.store.counting import count_rows
from remand_app.store.database import Database
from remand_app.store.ids import read_cursor
from remand_app.store.rows import columns, read
from remand_app.store.tables import notification_targets, notifications

T = TypeVar("T")
_PRUNED = 5000
_GROWN = """
with large as materialized (
  select letter_group.*,
         letter_group.reopenings || ':' || rpad('1', length(letter_group.open_letters::text), '0')
           as occurrence
    from remand.dead_letter_groups letter_group
   where letter_group.state in ('open', 'investigating')
     and letter_group.open_letters >= :least
   order by letter_group.open_letters desc, letter_group.id desc
   limit :limit)
select large.id, large.namespace || '/' || large.template || ':' || large.version as ref, large.step,
       large.error_class, large.open_letters, large.occurrence
  from large
 where not exists (
         select
           from remand.notifications notification
          where notification.target = any(:targets)
            and notification.kind = 'group_grew'
            and notification.subject_id = large.id::text
            and notification.occurrence = large.occurrence)
"""


@dataclass(frozen=True, slots=True)
class TargetStatus:
    """How a target fares."""

    name: str
    pending: int
    given_up: int
    failures: int
    """Tries in a row that failed."""
    next_at: datetime | None
    sent_at: datetime | None


@dataclass(frozen=True, slots=True)
class Failing:
    """A sweep that fails each time since then."""

    name: str
    since: datetime
    failures: int
    error: str


@dataclass(frozen=True, slots=True)
class Grown:
    """A group whose open letters have reached the next power of ten."""

    id: UUID
    ref: str
    step: str
    error_class: str
    open_letters: int
    occurrence: str


def list_page(
    database: Database,
    kind: type[T],
    *,
    states: Sequence[DeliveryState] = (),
    target: str | None = None,
    after: str | None = None,
    limit: int = 50,
) -> Page[T]:
    """Return notices as values of `kind`, newest first; without states all. Transaction: own.

    Raises:
        InputInvalid: the cursor is none.
    """
    table = notifications.c
    in_states = [table.state.in_([str(state) for state in states])] if states else []
    of_target = [table.target == target] if target is not None else []
    query = sa.select(*columns(kind, notifications)).where(*in_states, *of_target)
    query = query.order_by(table.id.desc())
    if after is not None:
        query = query.where(table.id < read_cursor(after))
    with database.reading() as connection:
        rows: list[Any] = read(kind, connection.execute(query.limit(limit + 1)))
    return Page.of(
        rows,
        limit,
        after=after,
        cursor=lambda notice: str(notice.id),
        count=lambda: count_rows(database, notifications, in_states, of_target),
    )


def standings(database: Database, names: Sequence[str]) -> list[TargetStatus]:
    """Return the status of targets by name: those given, and any that still has notices. Transaction: own."""
    return database.read(
        TargetStatus,
        """
        with counted as (
          select target,
                 count(*) filter (where state = 'pending') as pending,
                 count(*) filter (where state = 'given_up') as given_up
            from remand.notifications
           where state in ('pending', 'given_up')
           group by target)
        select named.name,
               coalesce(counted.pending, 0) as pending,
               coalesce(counted.given_up, 0) as given_up,
               coalesce(target.failures, 0) as failures,
               target.next_at, target.sent_at
          from (select unnest(%s::text[]) union select counted.target from counted) named(name)
          left join counted on counted.target = named.name
          left join remand.notification_targets target on target.name = named.name
         order by 1
        """,
        (list(names),),
    )


def send_again(
    connection: sa.Connection, target: str, message_ids: Sequence[UUID] | None, now: datetime
) -> int:
    """Send given-up messages again, all of a target or those given; return the notices.

    They keep their ids, because a target may have received a message that it seemed to refuse.
    Transaction: joins.
    """
    table = notifications.c
    connection.execute(
        sa.update(notification_targets)
        .where(notification_targets.c.name == target)
        .values(next_at=sa.func.least(notification_targets.c.next_at, now), failures=0)
    )
    wanted = sa.and_(table.target == target, table.state == DeliveryState.GIVEN_UP)
    if message_ids is not None:
        wanted = sa.and_(wanted, table.message_id.in_(message_ids))
    moved = sa.update(notifications).where(wanted).values(state=DeliveryState.PENDING, due_at=now, attempts=0)
    changed: int = connection.execute(moved).rowcount
    return changed


def message_of(database: Database, notification_id: UUID) -> tuple[str, UUID | None, DeliveryState] | None:
    """Return target, message and state of a notice; None: there is none. Transaction: own."""
    rows = database.call(
        "select target, message_id, state from remand.notifications where id = %s", (notification_id,)
    )
    return None if not rows else (rows[0][0], rows[0][1], DeliveryState(rows[0][2]))


def grown_groups(connection: sa.Connection, targets: Sequence[str], least: int, limit: int) -> list[Grown]:
    """Return the largest groups of open letters whose size no target was told of yet."""
    rows = connection.execute(sa.text(_GROWN), {"least": least, "limit": limit, "targets": list(targets)})
    return read(Grown, rows)


def failing_sweeps(connection: sa.Connection, failures: int, since: datetime) -> list[Failing]:
    """Return the sweeps that failed so often in a row, and since before then. Transaction: joins."""
    rows = connection.execute(
        sa.text(
            """
            select name, failing_since as since, failures_in_a_row as failures, last_error as error
              from remand.sweep_runs
             where failures_in_a_row >= :failures
               and failing_since <= :since
             order by name
            """
        ),
        {"failures": failures, "since": since},
    )
    return read(Failing, rows)


def prune(database: Database, before: datetime) -> int:
    """Delete notices that are older, sent or not; return how many. Transaction: one for each 5 000."""
    deleted = 0
    while True:
        rows = database.call(
            """
            with old as (
              delete from remand.notifications
               where id in (
                       select id
                         from remand.notifications
                        where created_at < %s
                        order by created_at
                        limit %s
                          for update skip locked)
              returning 1)
            select count(*)
              from old
            """,
            (before, _PRUNED),
        )
        count = int(rows[0][0])
        deleted += count
        if count < _PRUNED:
            return deleted
