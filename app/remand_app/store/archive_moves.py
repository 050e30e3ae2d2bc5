"""Workflows go to the archive and come back: whole periods or batches of them.

Every move is one transaction, which writes its row of `archive_runs`, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal
from uuid import UUID

import sqlalchemy as sa

from remand_app.domain.errors import ArchiveMismatch, Busy
from remand_app.domain.partitions import Period
from remand_app.store.archive_candidates import Between, PeriodInspection, Rule
from remand_app.store.archive_runs import Run, Sums, add_run, counted
from remand_app.store.database import Connection, Database
from remand_app.store.ids import first_id_at
from remand_app.store.partitions import change_tables, limit_hold

_MISMATCH = "RM001"
_HAND_OVER = "select outcome, lock_ms, stayed from remand.archive_period(%s, %s, %s, %s::uuid[], %s, %s, %s)"
_HAND_BACK = "select outcome, lock_ms, stayed from remand.restore_period(%s, %s, %s, %s)"
_BATCH = "select moved, counts, checksum from remand.archive_batch(%s, %s, %s, %s, %s::text[], %s)"
_RESTORE = "select moved, counts, checksum from remand.restore_workflows(%s::uuid[], %s)"
Outcome = Literal["moved", "gone", "changed", "crowded", "late"]
"""What became of a try to let a period change hands; "late": it would have kept others waiting too long."""


@dataclass(frozen=True, slots=True)
class Handed:
    """How such a try ended; what it moved."""

    outcome: Outcome
    run: Run | None = None


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


def mismatch(difference: str) -> ArchiveMismatch:
    """Return the error that says which counts or sums differ after a move."""
    return ArchiveMismatch(
        f"the move was taken back: {difference}",
        hint="look at the log of Postgres and at its disks; nothing is lost",
    )
