"""The archive as the catalogue has it, and how workflows go there and come back.

A period's tables either changed hands whole, `workflows_2026_10`, or were made for what came in batches,
`workflows_archive_2026_10`. Every move is one transaction, which writes its row of `archive_runs`, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Literal
from uuid import UUID

import sqlalchemy as sa

from app.domain.errors import ArchiveMismatch, Busy
from app.domain.partitions import Period
from app.domain.retention import Census, Stay
from app.store.archive_runs import Run, Sums, add_run, counted
from app.store.ids import first_id_at
from app.store.partitions import (
    LOCK_TIMEOUT_SECONDS,
    bounds,
    change_tables,
    key_of,
    limit_hold,
    limit_wait,
)
from app.store.session import Connection, Database
from app.store.tables import PARTITIONED

_CLOCKS_DIFFER = timedelta(hours=1)
_MISMATCH = "RM001"
_CATALOGUE = """
select parent.relname::text, period.relname::text, pg_get_expr(period.relpartbound, period.oid),
       pg_total_relation_size(period.oid)
  from pg_inherits inherited
  join pg_class period on period.oid = inherited.inhrelid
  join pg_class parent on parent.oid = inherited.inhparent
 where parent.relnamespace = to_regnamespace('remand')
   and parent.relname = any(%s)
"""
_LOOK = """
with open_letters as materialized (
  select distinct letter.workflow_id
    from remand.dead_letters letter
   where letter.status in ('pending', 'investigating')
     and letter.workflow_id >= %(begin)s
     and letter.workflow_id < %(end)s),
judged as materialized (
  select workflow.id,
         coalesce(
           remand.archive_verdict(
             workflow.state, workflow.template_id, workflow.state_since, workflow.restored_at, %(cutoff)s,
             %(kept)s),
           case when open_letters.workflow_id is not null then 'letter' end) as why
    from remand.{table} workflow
    left join open_letters on open_letters.workflow_id = workflow.id
   where workflow.id >= %(begin)s
     and workflow.id < %(end)s)
select (select coalesce(jsonb_object_agg(coalesce(counted.why, 'go'), counted.workflows), '{{}}')
          from (select judged.why, count(*) as workflows
                  from judged
                 group by judged.why) counted),
       array(select judged.id
               from judged
              where judged.why is not null
              limit %(most)s),
       (select count(*)
          from remand.audit_log entry
         where entry.id >= %(audited_from)s
           and entry.workflow_id >= %(begin)s
           and entry.workflow_id < %(end)s)
"""
_HAND_OVER = "select outcome, lock_ms, stayed from remand.archive_period(%s, %s, %s, %s::uuid[], %s, %s, %s)"
_HAND_BACK = "select outcome, lock_ms, stayed from remand.restore_period(%s, %s, %s, %s)"
_BATCH = "select moved, counts, checksum from remand.archive_batch(%s, %s, %s, %s, %s::text[], %s)"
_RESTORE = "select moved, counts, checksum from remand.restore_workflows(%s::uuid[], %s)"
Between = tuple[UUID, UUID]
"""Ids, both exclusive."""
_FIRST, _LAST = UUID(int=0), UUID(int=(1 << 128) - 1)


@dataclass(frozen=True, slots=True)
class Archived:
    """A period of the archive."""

    name: str
    starts_at: datetime
    ends_at: datetime
    tables: tuple[str, ...]
    """Names of its tables of workflows, steps, attempts and history."""
    is_whole: bool
    """Its partitions changed hands; False: what it holds came in batches."""
    bytes: int
    """The size of all four tables, with indexes and TOAST."""

    @property
    def period(self) -> Period:
        """Its name and bounds alone."""
        return Period(self.name, self.starts_at, self.ends_at)

    def holds(self, workflow_id: UUID) -> bool:
        """Tell whether a workflow with that id belongs here."""
        return first_id_at(self.starts_at) <= workflow_id < first_id_at(self.ends_at)


@dataclass(frozen=True, slots=True)
class Rule:
    """Which workflows may go to the archive."""

    cutoff: datetime
    """Workflows that ended, or were restored, after this instant stay."""
    kept: tuple[str, ...]
    """The outcomes that stay for good, as "template id:outcome"."""


@dataclass(frozen=True, slots=True)
class PeriodInspection:
    """What a look at a period found."""

    census: Census
    staying: tuple[UUID, ...]
    """The workflows that stay; no more than asked for."""
    audited_from: UUID
    audited: int
    """Entries of the audit log about its workflows, from the id `audited_from` on."""


Outcome = Literal["moved", "gone", "changed", "crowded", "late"]
"""What became of a try to let a period change hands; "late": it would have kept others waiting too long."""


@dataclass(frozen=True, slots=True)
class Handed:
    """How such a try ended; what it moved."""

    outcome: Outcome
    run: Run | None = None


def archived_periods(database: Database) -> list[Archived]:
    """Return the periods of the archive, in order of time. Transaction: own."""
    parents = [f"{table}_archive" for table in PARTITIONED]
    found: dict[tuple[datetime, datetime, str, bool], dict[str, tuple[str, int]]] = {}
    for parent, table, bound, size in database.call(_CATALOGUE, (parents,)):
        starts_at, ends_at = bounds(bound)
        if starts_at is None or ends_at is None:
            continue
        live = parent.removesuffix("_archive")
        is_whole = not table.startswith(f"{parent}_")
        name = table.removeprefix(f"{live if is_whole else parent}_")
        found.setdefault((starts_at, ends_at, name, is_whole), {})[live] = (table, size)
    return [
        Archived(
            name,
            starts_at,
            ends_at,
            tuple(tables[table][0] for table in PARTITIONED),
            is_whole,
            sum(size for _, size in tables.values()),
        )
        for (starts_at, ends_at, name, is_whole), tables in sorted(found.items())
        if len(tables) == len(PARTITIONED)
    ]


def is_spilled(database: Database, period: Period) -> bool:
    """Tell whether the archive's default tables hold workflows of this period: it cannot be made then."""
    [(found,)] = database.call(
        """
        select exists (
          select
            from remand.workflows_archive_default workflow
           where workflow.id >= %s
             and workflow.id < %s)
        """,
        (first_id_at(period.starts_at), first_id_at(period.ends_at)),
    )
    return bool(found)


def live_tables(name: str) -> tuple[str, ...]:
    """Return the names of the tables of a period that moves whole."""
    return tuple(f"{table}_{name}" for table in PARTITIONED)


def look(database: Database, period: Period, rule: Rule, most: int, now: datetime) -> PeriodInspection:
    """Count a live period's workflows that go and that stay; name up to `most` that stay. Transaction: own.

    Reads every workflow of the period, locks nothing. `now` is the server's clock.
    """
    audited_from = first_id_at(now - _CLOCKS_DIFFER)
    [(counts, staying, audited)] = database.call(
        _LOOK.format(table=f"workflows_{period.name}"),
        {
            "begin": first_id_at(period.starts_at),
            "end": first_id_at(period.ends_at),
            "cutoff": rule.cutoff,
            "kept": list(rule.kept),
            "most": most,
            "audited_from": audited_from,
        },
    )
    stay = {Stay(why): count for why, count in counts.items() if why != "go"}
    return PeriodInspection(Census(counts.get("go", 0), stay), tuple(staying), audited_from, audited)


def count_default(database: Database, between: Between, rule: Rule) -> int:
    """Count the workflows of the live default partition that may go. Transaction: own."""
    [(counted,)] = database.call(
        """
        select count(*)
          from remand.workflows_default workflow
         where workflow.id > %s
           and workflow.id < least(%s, remand.uuid7_floor(%s))
           and remand.archive_verdict(
                 workflow.state, workflow.template_id, workflow.state_since, workflow.restored_at, %s,
                 %s::text[]) is null
           and not exists (
                 select
                   from remand.dead_letters letter
                  where letter.workflow_id = workflow.id
                    and letter.status in ('pending', 'investigating'))
        """,
        (*between, rule.cutoff, rule.cutoff, list(rule.kept)),
    )
    found: int = counted
    return found


def sums(database: Database, tables: Sequence[str], but: Sequence[UUID] = ()) -> Sums:
    """Count and hash all rows of four tables, except those of some workflows. Transaction: own."""
    rows = database.call(
        "select counts, checksum from remand.archive_sums(%s, null, %s::uuid[])", (list(tables), list(but))
    )
    [(counts, checksum)] = rows
    return _sums(counts, checksum)


def sums_of(connection: Connection, tables: Sequence[str]) -> Sums:
    """Count and hash all rows of four tables. Transaction: joins."""
    row = connection.exec_driver_sql(
        "select counts, checksum from remand.archive_sums(%s, null, '{}')", (list(tables),)
    ).one()
    return _sums(row.counts, row.checksum)


def size(database: Database, tables: Sequence[str]) -> int:
    """Return the bytes of some tables, with indexes and TOAST. Transaction: own."""
    found: int = database.call(
        """
        select coalesce(sum(pg_total_relation_size(to_regclass('remand.' || named.name))), 0)::bigint
          from unnest(%s::text[]) named(name)
        """,
        (list(tables),),
    )[0][0]
    return found


def promise_bounds(database: Database, period: Period) -> None:
    """Add a check of the period's bounds to its tables, so that no attach needs to scan them.

    The check is added as not valid and then validated, while others read and write. Idempotent: by its name.

    Raises:
        Busy: others held a table all the time.

    Transaction: two for each table.
    """
    low, high = first_id_at(period.starts_at), first_id_at(period.ends_at)
    for table in PARTITIONED:
        name, key = f"{table}_{period.name}", key_of(table)
        standing = database.call(
            "select convalidated from pg_constraint where conrelid = to_regclass(%s) and conname = %s",
            (f"remand.{name}", "within_period"),
        )
        if not standing:
            check = f"check ({key} >= '{low}' and {key} < '{high}') not valid"
            _change(database, f"alter table remand.{name} add constraint within_period {check}")
        if not standing or not standing[0][0]:
            # Takes long, but blocks nobody: it need not wait for its turn.
            with database.begin() as connection:
                limit_wait(connection, LOCK_TIMEOUT_SECONDS)
                connection.exec_driver_sql(f"alter table remand.{name} validate constraint within_period")


def _change(database: Database, ddl: str) -> None:
    change_tables(database, lambda connection: connection.exec_driver_sql(ddl))


def hand_over(
    database: Database, run: Run, looked: PeriodInspection, before: Sums, hold_seconds: float, *, attach: bool
) -> Handed:
    """Move a live period to the archive, as `look` found it; what stays goes to the default partitions.

    `attach` false: all its workflows stay, so its tables are dropped. `before`: the sums of what goes.

    Transaction: own, one for all. Everybody waits meanwhile, for `hold_seconds` at most.
    """
    period = _period(run)
    arguments = (
        period.name, first_id_at(period.starts_at), first_id_at(period.ends_at), list(looked.staying),
        looked.audited_from, looked.audited, attach,
    )  # fmt: skip
    return _swap(database, _HAND_OVER, arguments, run, before, hold_seconds=hold_seconds)


def hand_back(
    database: Database,
    run: Run,
    before: Sums,
    *,
    most: int,
    hold_seconds: float,
    record: Callable[[Connection], None] | None = None,
) -> Handed:
    """Make a whole period of the archive live again, together with at most `most` workflows that stayed live.

    `record` writes down who decided it, in the same transaction.

    Transaction: own, one for all. Everybody waits meanwhile, for `hold_seconds` at most.
    """
    period = _period(run)
    arguments = (period.name, first_id_at(period.starts_at), first_id_at(period.ends_at), most)
    return _swap(database, _HAND_BACK, arguments, run, before, hold_seconds=hold_seconds, record=record)


def _swap(
    database: Database,
    call: str,
    arguments: Sequence[Any],
    run: Run,
    before: Sums,
    *,
    hold_seconds: float,
    record: Callable[[Connection], None] | None = None,
) -> Handed:
    def act(connection: Connection) -> Handed:
        limit_hold(connection, hold_seconds)
        outcome, lock_ms, stayed = connection.exec_driver_sql(call, tuple(arguments)).one()
        if outcome != "moved":
            return Handed(outcome)
        done = replace(counted(run, before), stayed=stayed[0], lock_ms=lock_ms)
        add_run(connection, done)
        if record is not None:
            record(connection)
        return Handed("moved", done)

    try:
        return change_tables(database, act, wait_seconds=hold_seconds)
    except Busy:
        return Handed("late")
    except sa.exc.DBAPIError as error:
        raise _told(error) from error


def begin_period(database: Database, period: Period) -> None:
    """Make the tables of a period for what comes to the archive in batches. Idempotent: by name.

    Transaction: own, one for all.
    """
    low, high = first_id_at(period.starts_at), first_id_at(period.ends_at)

    def act(connection: Connection) -> None:
        for table in PARTITIONED:
            connection.exec_driver_sql(
                f"create table if not exists remand.{table}_archive_{period.name} partition of"
                f" remand.{table}_archive for values from ('{low}') to ('{high}')"
            )

    change_tables(database, act)


def between(starts_at: datetime | None, ends_at: datetime | None) -> Between:
    """Return the ids between which the workflows of a stretch of time lie; None: no bound on that side."""
    low = _FIRST if starts_at is None else UUID(int=first_id_at(starts_at).int - 1)
    return low, _LAST if ends_at is None else first_id_at(ends_at)


@dataclass(frozen=True, slots=True)
class Batched:
    """A batch that was moved."""

    last: UUID
    """The greatest id of it."""
    run: Run


def move_batch(
    database: Database,
    run: Run,
    partition: str,
    between: Between,
    rule: Rule,
    *,
    limit: int,
    now: datetime | None,
) -> Batched | None:
    """Copy workflows of a live partition to the archive and delete them; None: none is left to move.

    What it moved is added to the run's row.

    Raises:
        ArchiveMismatch: what arrived is not what left; nothing has happened.

    Transaction: own.
    """
    with _checking(), database.begin() as connection:
        arguments = (partition, *between, rule.cutoff, list(rule.kept), limit)
        row = connection.exec_driver_sql(_BATCH, arguments).first()
        if row is None:
            return None
        at = now or _clock(connection)
        done = replace(counted(run, _sums(row.counts, row.checksum)), ended_at=at, verified_at=at)
        add_run(connection, done)
        return Batched(max(row.moved), done)


def due_of(database: Database, partition: str, between: Between, rule: Rule, limit: int) -> list[UUID]:
    """Return the first workflows of a live partition that a batch may move. Transaction: own; no lock."""
    rows = database.call(
        f"""
        select workflow.id
          from remand.workflows_{partition} workflow
         where workflow.id > %s
           and workflow.id < least(%s, remand.uuid7_floor(%s))
           and remand.archive_verdict(
                 workflow.state, workflow.template_id, workflow.state_since, workflow.restored_at, %s,
                 %s::text[]) is null
         order by workflow.id
         limit %s
        """,
        (*between, rule.cutoff, rule.cutoff, list(rule.kept), limit),
    )
    return [row[0] for row in rows]


def restore_batch(
    connection: Connection, run: Run, ids: Sequence[UUID], now: datetime
) -> tuple[list[UUID], Run]:
    """Copy workflows back to the live tables; return those that were archived, and the run with them in.

    Raises:
        ArchiveMismatch: what arrived is not what left, or one of them is live as well.

    Transaction: joins.
    """
    with _checking():
        row = connection.exec_driver_sql(_RESTORE, (list(ids), now)).first()
    if row is None or row.moved is None:
        return [], run
    done = replace(counted(run, _sums(row.counts, row.checksum)), ended_at=now, verified_at=now)
    add_run(connection, done)
    return list(row.moved), done


def ids_in(database: Database, found: Archived, limit: int) -> list[UUID]:
    """Return ids of workflows of a period of the archive. Transaction: own."""
    return [row[0] for row in database.call(f"select id from remand.{found.tables[0]} limit %s", (limit,))]


def _sums(counts: Sequence[int], checksum: Decimal) -> Sums:
    return Sums(tuple(counts), int(checksum))


def _period(run: Run) -> Period:
    assert run.starts_at is not None
    assert run.ends_at is not None
    return Period(run.period, run.starts_at, run.ends_at)


def _clock(connection: Connection) -> datetime:
    at: datetime = connection.exec_driver_sql("select clock_timestamp()").scalar_one()
    return at


@contextmanager
def _checking() -> Iterator[None]:
    """Translate a mismatch that the SQL functions report into `ArchiveMismatch`."""
    try:
        yield
    except sa.exc.DBAPIError as error:
        raise _told(error) from error


def _told(error: sa.exc.DBAPIError) -> Exception:
    if getattr(error.orig, "pgcode", None) != _MISMATCH:
        return error
    return mismatch(str(error.orig).splitlines()[0])


def mismatch(told: str) -> ArchiveMismatch:
    """Return the error that says which counts or sums differ after a move."""
    return ArchiveMismatch(
        f"the move was taken back: {told}",
        hint="look at the log of Postgres and at its disks; nothing is lost",
    )
