"""The record of what went into the archive and out of it, written in the transactions that do it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, Literal, TypeVar
from uuid import UUID

from remand_app.domain.page import Page
from remand_app.domain.partitions import Period
from remand_app.store.counting import count_rows
from remand_app.store.database import Connection, Database
from remand_app.store.ids import new_id, read_cursor
from remand_app.store.rows import names
from remand_app.store.tables import archive_runs

Kind = Literal["archive", "restore", "export", "drop"]
Path = Literal["period", "batch"]
DEFAULT = "default"
"""The name for workflows that belong to no period."""
_COLUMNS = tuple(column.name for column in archive_runs.columns)
_ADDED = ("workflows", "steps", "attempts", "history", "stayed", "checksum")
_SELECT = ", ".join(f'"{name}"' for name in _COLUMNS)
_ADD = f"""
insert into remand.archive_runs as run ({_SELECT})
values ({", ".join(f"%({name})s" for name in _COLUMNS)})
on conflict (id) do update
   set {", ".join(f"{name} = run.{name} + excluded.{name}" for name in _ADDED)},
       ended_at = excluded.ended_at, verified_at = excluded.verified_at
"""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Sums:
    """How many rows, and a sum of hashes over their ids and states."""

    counts: tuple[int, ...]
    """Of workflows, steps, attempts, history."""
    checksum: int


@dataclass(frozen=True, slots=True)
class Run:
    """A move into the archive or out of it."""

    id: UUID
    kind: Kind
    path: Path
    period: str
    starts_at: datetime | None
    ends_at: datetime | None
    workflows: int
    steps: int
    attempts: int
    history: int
    stayed: int
    """Workflows that stayed live and went to the default partition."""
    checksum: int
    bytes_before: int
    bytes: int
    """Size of the period's tables in the archive afterwards."""
    lock_ms: float | None
    """Milliseconds that live work was locked out; None: it was not."""
    started_at: datetime
    ended_at: datetime
    verified_at: datetime | None
    by: str
    """Who or what moved it."""
    place: str | None = None
    """The directory of an export."""

    @property
    def sums(self) -> Sums:
        """What was counted and hashed."""
        return Sums((self.workflows, self.steps, self.attempts, self.history), self.checksum)


def draft(kind: Kind, path: Path, period: Period | None, by: str, now: datetime) -> Run:
    """Return a run that has moved nothing yet; no period: what belongs to none."""
    name, starts_at, ends_at = (
        (DEFAULT, None, None) if period is None else (period.name, period.starts_at, period.ends_at)
    )
    return Run(
        new_id(), kind, path, name, starts_at, ends_at, 0, 0, 0, 0, 0, 0, 0, 0, None, now, now, None, by
    )


def counted(run: Run, moved: Sums) -> Run:
    """Return a run with what it moved."""
    workflows, steps, attempts, history = moved.counts
    return replace(
        run, workflows=workflows, steps=steps, attempts=attempts, history=history, checksum=moved.checksum
    )


def add_run(connection: Connection, run: Run) -> None:
    """Record a run, or add to it what another of its transactions moved. Transaction: joins."""
    connection.exec_driver_sql(_ADD, asdict(run))


def note_size(database: Database, run: Run, bytes_: int) -> None:
    """Write down how large the period's tables in the archive are after a run. Transaction: own."""
    database.call("update remand.archive_runs set bytes = %s where id = %s", (bytes_, run.id))


def note_verified(database: Database, run: Run, at: datetime) -> None:
    """Record that all rows a run moved were found again. Transaction: own. Idempotent."""
    database.call(
        "update remand.archive_runs set verified_at = %s where id = %s and verified_at is null", (at, run.id)
    )


def unverified(database: Database) -> list[Run]:
    """Return the runs whose rows nobody has counted since they moved, oldest first. Transaction: own."""
    return _runs(database, "where verified_at is null order by id", {})


def runs(database: Database, *, limit: int) -> list[Run]:
    """Return the newest runs, newest first. Transaction: own."""
    return list(list_page(database, limit=limit).items)


def list_page(database: Database, *, after: str | None = None, limit: int = 50) -> Page[Run]:
    """Return runs, newest first. Transaction: own.

    Raises:
        InputInvalid: the cursor is none.
    """
    where = "where (%(before)s::uuid is null or id < %(before)s) order by id desc limit %(limit)s"
    before = None if after is None else read_cursor(after)
    runs = _runs(database, where, {"before": before, "limit": limit + 1})
    return Page.of(
        runs,
        limit,
        after=after,
        cursor=lambda run: str(run.id),
        count=lambda: count_rows(database, archive_runs, []),
    )


def last_export(connection: Connection, period: str) -> Run | None:
    """Return the latest export of a period. Transaction: joins."""
    row = connection.exec_driver_sql(
        f"""
        select {_SELECT}
          from remand.archive_runs
         where kind = 'export'
           and period = %s
         order by id desc
         limit 1
        """,
        (period,),
    ).first()
    return None if row is None else _run(row)


def restored_at(database: Database) -> Mapping[str, datetime]:
    """Return when each period was last restored whole, by its name. Transaction: own."""
    return dict(
        database.call(
            """
            select period, max(ended_at)
              from remand.archive_runs
             where kind = 'restore'
               and path = 'period'
             group by period
            """
        )
    )


def statistics(database: Database, kind: type[T]) -> list[T]:
    """Return what the archive holds, a value of `kind` for each period, oldest first. Transaction: own."""
    return database.read(
        kind,
        f"select {names(kind)} from remand.v_archive_statistics order by starts_at nulls first, period",
    )


def unexported(database: Database) -> list[str]:
    """Return the periods that received rows after their last export had begun. Transaction: own."""
    rows = database.call(
        """
        select run.period
          from remand.archive_runs run
          join remand.v_archive_statistics held on held.period = run.period
         where held.workflows > 0
         group by run.period, held.starts_at
        having max(run.ended_at) filter (where run.kind = 'archive')
                 > coalesce(max(run.started_at) filter (where run.kind = 'export'), '-infinity')
         order by held.starts_at nulls first, run.period
        """
    )
    return [row[0] for row in rows]


def is_verified(database: Database, run: Run) -> bool:
    """Return whether the rows that a run moved were found again. Transaction: own."""
    rows = database.call("select verified_at is not null from remand.archive_runs where id = %s", (run.id,))
    return bool(rows and rows[0][0])


def _runs(database: Database, where: str, arguments: Mapping[str, Any]) -> list[Run]:
    rows = database.call(f"select {_SELECT} from remand.archive_runs {where}", arguments)
    return [_run(row) for row in rows]


def _run(row: Sequence[Any]) -> Run:
    values = dict(zip(_COLUMNS, row, strict=True))
    return Run(**{**values, "checksum": int(values["checksum"])})
