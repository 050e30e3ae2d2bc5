"""Make the tables of a period; live work waits only briefly for a lock, or the tables are not made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from remand_app.domain.errors import Busy
from remand_app.domain.partitions import Period
from remand_app.store.database import Connection, Database
from remand_app.store.ids import first_id_at
from remand_app.store.partitions import (
    LOCK_TIMEOUT_SECONDS,
    change_tables,
    key_of,
    limit_hold,
    limit_wait,
    ran_too_long,
)
from remand_app.store.tables import PARTITIONED

_PARENTS = ", only ".join(f"remand.{table}" for table in PARTITIONED)
_DEFAULTS = ", ".join(f"remand.{table}_default" for table in PARTITIONED)
_WEAK, _STRONG = (
    f"lock table only {_PARENTS} in {mode} mode" for mode in ("share update exclusive", "access exclusive")
)
_DEFAULTS_TOO = f"lock table {_DEFAULTS} in access exclusive mode"
_FALLEN = """
(select count(*)
   from (select
           from remand.{0}_default
          where {1} >= %(from)s
            and {1} < %(to)s
          limit %(most)s) fallen)
"""
_ALL_FALLEN = "select " + " + ".join(_FALLEN.format(table, key_of(table)) for table in PARTITIONED)


@dataclass(frozen=True, slots=True)
class Patience:
    """How long live work may be kept waiting for new partitions."""

    hold_seconds: float = 1.0
    """Longest time that a default partition is locked."""
    most_rows: int = 5_000
    """Most rows, of all four tables, that are moved out of the default partitions at once."""


@dataclass(frozen=True, slots=True)
class Made:
    """The tables of a period that were made; none: they were there."""

    tables: tuple[str, ...]
    moved: int
    """Rows that came out of the default partitions."""


@dataclass(frozen=True, slots=True)
class TooMuch:
    """Nothing was made: it would have kept live work waiting too long."""

    rows: int
    """Rows that would have had to move; no more than one above the limit."""


class _RowsToMoveError(Exception):
    """Rows must move, and the lock is too weak for that: the transaction is rolled back."""


def fallen_rows(database: Database, period: Period, limit: int) -> int:
    """Return how many rows of a period lie in the default partitions, up to `limit`. Transaction: own."""
    with database.begin() as connection:
        return _fallen(connection, period, limit)


def make_period(database: Database, period: Period, now: datetime, patience: Patience) -> Made | TooMuch:
    """Make the tables of a period that are missing, with the rows that fell into the default partitions.

    Where rows move, or may be inserted meanwhile, the whole tables are locked. Otherwise a statement that has
    looked up the partitions, and waits for the default one, would miss the moved rows or be refused.

    Raises:
        Busy: others held a table all the time.

    Transaction: own, one for all four tables. Idempotent: by name.
    """
    try:
        return _make(database, period, _WEAK if period.starts_at > now else _STRONG, patience)
    except _RowsToMoveError:
        return _make(database, period, _STRONG, patience)


def _make(database: Database, period: Period, lock: str, patience: Patience) -> Made | TooMuch:
    def act(connection: Connection) -> Made | TooMuch:
        fallen = _fallen(connection, period, patience.most_rows + 1)
        if fallen > patience.most_rows:
            return TooMuch(fallen)
        drafted = connection.exec_driver_sql("select remand.draft_period(%s)", (period.name,)).scalars().all()
        if not drafted:
            return Made((), 0)
        limit_wait(connection, LOCK_TIMEOUT_SECONDS / 2)
        connection.exec_driver_sql(lock)
        connection.exec_driver_sql(_DEFAULTS_TOO)
        limit_hold(connection, patience.hold_seconds)
        if lock is _WEAK and _fallen(connection, period, 1):
            raise _RowsToMoveError
        return Made(
            tuple(f"{table}_{period.name}" for table in drafted), _attach(connection, period, drafted)
        )

    try:
        return change_tables(database, act)
    except Busy as error:
        if not ran_too_long(error):
            raise
        return TooMuch(fallen_rows(database, period, patience.most_rows + 1))


def _attach(connection: Connection, period: Period, tables: Sequence[str]) -> int:
    moved: int = connection.exec_driver_sql(
        "select remand.attach_period(%s, %s, %s, %s)",
        (period.name, period.starts_at, period.ends_at, list(tables)),
    ).scalar_one()
    return moved


def _fallen(connection: Connection, period: Period, limit: int) -> int:
    bounds = {"from": first_id_at(period.starts_at), "to": first_id_at(period.ends_at), "most": limit}
    total: int = connection.exec_driver_sql(_ALL_FALLEN, bounds).scalar_one()
    return min(total, limit)
