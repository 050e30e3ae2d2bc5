"""The record of sweeps: each worker process adds its runs to the one row of the sweep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from uuid import UUID

from remand_app.clock import Clock
from remand_app.domain.queues import MAINTENANCE
from remand_app.store.database import Database

# Only columns without an index change: Postgres writes a new version of the row onto the same page.
_NOTE = """
with clock as materialized (
  select coalesce(%(now)s, clock_timestamp()) as now)
insert into remand.sweep_runs as sweep
  (name, last_started_at, last_success_at,
   last_duration_seconds, last_moved, last_moved_at, failures_in_a_row,
   failing_since, last_failed_at,
   last_error, last_error_message, runs, failures, moved, worker)
select %(name)s, clock.now - make_interval(secs => %(started_ago)s),
       clock.now - make_interval(secs => %(success_ago)s),
       %(duration_seconds)s, %(last_moved)s, case when %(last_moved)s > 0 then clock.now end,
       %(failures_in_a_row)s,
       clock.now - make_interval(secs => %(failing_ago)s), clock.now - make_interval(secs => %(failed_ago)s),
       %(error)s, %(error_message)s, %(runs)s, %(failures)s, %(moved)s, %(worker)s
  from clock
on conflict (name) do update
   set last_started_at = greatest(sweep.last_started_at, excluded.last_started_at),
       last_success_at = greatest(sweep.last_success_at, excluded.last_success_at),
       last_duration_seconds = excluded.last_duration_seconds,
       last_moved = case when excluded.last_moved > 0 then excluded.last_moved else sweep.last_moved end,
       last_moved_at = coalesce(excluded.last_moved_at, sweep.last_moved_at),
       failures_in_a_row = excluded.failures_in_a_row
         + case when excluded.last_success_at is null then sweep.failures_in_a_row else 0 end,
       failing_since = coalesce(case when excluded.last_success_at is null then sweep.failing_since end,
                                excluded.failing_since),
       last_failed_at = greatest(sweep.last_failed_at, excluded.last_failed_at),
       last_error = coalesce(excluded.last_error, sweep.last_error),
       last_error_message = coalesce(excluded.last_error_message, sweep.last_error_message),
       runs = sweep.runs + excluded.runs,
       failures = sweep.failures + excluded.failures,
       moved = sweep.moved + excluded.moved,
       worker = excluded.worker
"""


@dataclass(frozen=True, slots=True)
class Noted:
    """What one process has to say of its runs of a sweep since it last said something."""

    name: str
    worker: UUID
    runs: int
    failures: int
    failures_in_a_row: int
    """Since the last of these runs that went well."""
    moved: int
    last_moved: int
    """By the last of these runs that moved anything."""
    duration_seconds: float
    """Of the last of these runs."""
    started_ago: float
    """Seconds; as are the other `ago`s."""
    success_ago: float | None
    failing_ago: float | None
    failed_ago: float | None
    error: str | None
    error_message: str | None
    """Secrets masked."""


@dataclass(frozen=True, slots=True)
class SweepRun:
    """A sweep as its row tells it."""

    name: str
    last_started_at: datetime
    last_success_at: datetime | None
    last_duration_seconds: float
    last_moved: int
    last_moved_at: datetime | None
    failures_in_a_row: int
    failing_since: datetime | None
    last_failed_at: datetime | None
    last_error: str | None
    last_error_message: str | None
    runs: int
    failures: int
    moved: int
    worker: UUID
    hostname: str | None
    """Node name of that worker; None: it is no longer listed."""


_COLUMNS = ", ".join(f"sweep.{column.name}" for column in fields(SweepRun) if column.name != "hostname")


def note(database: Database, clock: Clock, noted: Noted) -> None:
    """Add to the row of a sweep. Transaction: own. Concurrent calls add up."""
    database.call(_NOTE, {**asdict(noted), "now": clock.fixed()})


def add_figures(database: Database, sweep: str, figures: Mapping[str, int]) -> None:
    """Add to the totals of a sweep. Transaction: own. Concurrent calls add up."""
    database.call(
        """
        insert into remand.sweep_figures as total (sweep, figure, amount)
        select %s, added.figure, added.amount
          from unnest(%s::text[], %s::bigint[]) added(figure, amount)
         order by added.figure
        on conflict (sweep, figure) do update
           set amount = total.amount + excluded.amount
        """,
        (sweep, list(figures), list(figures.values())),
    )


def figures(database: Database) -> dict[tuple[str, str], int]:
    """Return the totals of the sweeps, by sweep and figure. Transaction: own."""
    rows = database.call("select sweep, figure, amount from remand.sweep_figures order by 1, 2")
    return {(row[0], row[1]): row[2] for row in rows}


def sweep_runs(database: Database) -> list[SweepRun]:
    """Return the sweeps that ever ran, by name. Transaction: own."""
    return database.read(
        SweepRun,
        f"""
        select {_COLUMNS}, worker.hostname
          from remand.sweep_runs sweep
          left join remand.workers worker on worker.id = sweep.worker
         order by sweep.name
        """,
    )


def success_ages(database: Database) -> dict[str, float]:
    """Return how many seconds ago each sweep last went well; none that never did. Transaction: own."""
    rows = database.call(
        """
        select name, extract(epoch from clock_timestamp() - last_success_at)::float
          from remand.sweep_runs
         where last_success_at is not null
        """
    )
    return {row[0]: row[1] for row in rows}


def first_heard(database: Database) -> datetime | None:
    """Return since when workers have listened for sweeps, breaks included; None: none ever did.

    Transaction: own.
    """
    rows = database.call("select min(started_at) from remand.workers where %s = any(queues)", (MAINTENANCE,))
    first: datetime | None = rows[0][0]
    return first
