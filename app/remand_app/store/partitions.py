"""The partitions of the live tables in the catalogue, and DDL that never keeps live work waiting long.

The table of a period is called `<table>_<name of the period>`; its bounds are the smallest UUIDv7 of the
period's first instant and of the first instant after it.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar
from uuid import UUID

import psycopg2

from remand_app.domain.errors import Busy
from remand_app.domain.partition_check import MANY, DefaultRows, Home, Partition
from remand_app.domain.partitions import Period
from remand_app.store.database import Connection, Database
from remand_app.store.ids import first_id_at, instant_of
from remand_app.store.tables import PARTITIONED

T = TypeVar("T")
LOCK_TIMEOUT_SECONDS = 0.2
"""Longest wait for a lock: all later requests queue behind one for an exclusive lock."""
HOLD_SECONDS = 1.0
"""Longest statement once the lock is held."""
ATTEMPTS = 5
TURN_SECONDS = 10.0
"""Longest wait for another such change to end; nobody waits behind that."""

_CATALOGUE = """
select parent.relname::text, period.relname::text, pg_get_expr(period.relpartbound, period.oid),
       holder.relname::text, greatest(period.reltuples, 0)::bigint, pg_total_relation_size(period.oid)
  from unnest(%s::text[]) parent(relname)
  join pg_class period
    on period.relname ~ ('^' || parent.relname || '_[0-9]{4}_[0-9a-z_]+$')
   and period.relkind = 'r'
   and period.relnamespace = to_regnamespace('remand')
  left join pg_inherits inherited on inherited.inhrelid = period.oid
  left join pg_class holder on holder.oid = inherited.inhparent
 order by array_position(%s::text[], parent.relname), period.relname
"""
# The words of the partial index, so that it answers.
_LIVE = """
select '{0}', count(*)
  from remand.workflows_{0}
 where state not in ('complete', 'error', 'cancelled', 'resolved_manually')
"""
_DEFAULTS = """
select parent.relname::text, period.relname::text
  from pg_inherits inherited
  join pg_class period on period.oid = inherited.inhrelid
  join pg_class parent on parent.oid = inherited.inhparent
 where pg_get_expr(period.relpartbound, period.oid) = 'DEFAULT'
   and parent.relnamespace = to_regnamespace('remand')
"""
_BOUNDS = re.compile(r"FOR VALUES FROM \('([0-9a-f-]{36})'\) TO \('([0-9a-f-]{36})'\)")


@dataclass(frozen=True, slots=True)
class PartitionStatus:
    """A period that at least one live table has."""

    name: str
    starts_at: datetime
    ends_at: datetime
    attached: bool
    """Whether it is attached to all four tables."""
    tables: tuple[str, ...]
    """The tables it is attached to."""
    workflows: int
    """Rows, as the last analyze estimated them."""
    bytes: int
    """The size of all its tables, with indexes and TOAST."""

    @property
    def period(self) -> Period:
        """Its name and bounds alone."""
        return Period(self.name, self.starts_at, self.ends_at)


def catalogue(database: Database) -> list[Partition]:
    """Return every table of a period: live, archived or attached nowhere. Transaction: own."""
    tables = list(PARTITIONED)
    records = database.call(_CATALOGUE, (tables, tables))
    return [
        Partition(table, name.removeprefix(f"{table}_"), _home(table, parent), *bounds(bound), rows, size)
        for table, name, bound, parent, rows, size in records
    ]


def periods(database: Database) -> list[PartitionStatus]:
    """Return the periods that the live tables have, in order of time. Transaction: own."""
    them: dict[tuple[datetime, datetime, str], list[Partition]] = {}
    for partition in catalogue(database):
        if partition.home == "live" and partition.starts_at and partition.ends_at:
            them.setdefault((partition.starts_at, partition.ends_at, partition.name), []).append(partition)
    return [
        PartitionStatus(
            name=name,
            starts_at=starts_at,
            ends_at=ends_at,
            attached=len(tables) == len(PARTITIONED),
            tables=tuple(partition.table for partition in tables),
            workflows=sum(partition.rows for partition in tables if partition.table == "workflows"),
            bytes=sum(partition.bytes for partition in tables),
        )
        for (starts_at, ends_at, name), tables in sorted(them.items(), key=lambda item: item[0])
    ]


def live_workflows(database: Database, names: Sequence[str]) -> dict[str, int]:
    """Return how many workflows of each period are in no final state. Transaction: own.

    Reads live work only, from the partial index of each period.
    """
    return dict(database.call(" union all ".join(_LIVE.format(name) for name in names))) if names else {}


def default_rows(database: Database, ends_at: datetime) -> list[DefaultRows]:
    """Return what the default partitions hold from before `ends_at`, and from then on. Transaction: own.

    Reads by index, and no more than one row above `MANY` of each kind. A table without one is not named.
    """
    known = dict(database.call(_DEFAULTS))
    bound = first_id_at(ends_at)
    spilled: list[DefaultRows] = []
    for table in (name for name in PARTITIONED if name in known):
        some = f"select from remand.{known[table]} where {key_of(table)} {{}} %s limit {MANY + 1}"
        counts = [f"(select count(*) from ({some.format(sign)}) as first_rows)" for sign in ("<", ">=")]
        [(behind, beyond)] = database.call(f"select {', '.join(counts)}", (bound, bound))
        spilled.append(DefaultRows(table, behind, beyond))
    return spilled


def key_of(table: str) -> str:
    """Return the column by which a live table is partitioned."""
    return "id" if table == "workflows" else "workflow_id"


def bounds(expression: str | None) -> tuple[datetime | None, datetime | None]:
    """Return the instants between which a partition lies, from the catalogue's text; None: it has none."""
    matched = _BOUNDS.fullmatch(expression or "")
    return (instant_of(UUID(matched[1])), instant_of(UUID(matched[2]))) if matched else (None, None)


def change_tables(
    database: Database,
    act: Callable[[Connection], T],
    *,
    wait_seconds: float = LOCK_TIMEOUT_SECONDS,
    attempts: int = ATTEMPTS,
    pause: Callable[[float], None] = time.sleep,
) -> T:
    """Run DDL in a transaction that waits for no lock longer than `wait_seconds`; try again after a timeout.

    One such change at a time: two sweeps, or a sweep and the archive, take turns. `act` may run repeatedly.

    Raises:
        Busy: others held the locks at each try, or its turn never came; nothing was changed.

    Transaction: own.
    """
    for left in reversed(range(attempts)):
        try:
            with database.begin() as connection:
                limit_wait(connection, TURN_SECONDS)
                connection.exec_driver_sql("select pg_advisory_xact_lock(hashtext('remand.change_tables'))")
                limit_wait(connection, wait_seconds)
                return act(connection)
        except Busy as busy:
            if not left or ran_too_long(busy):
                raise
            pause(wait_seconds * random.uniform(0.5, 2.0))
    raise AssertionError("attempts must be at least 1")


def limit_wait(connection: Connection, seconds: float) -> None:
    """Let no later statement of this transaction wait longer for a lock."""
    connection.exec_driver_sql("select set_config('lock_timeout', %s, true)", (f"{seconds * 1000:.0f}ms",))


def limit_hold(connection: Connection, seconds: float = HOLD_SECONDS) -> None:
    """Let no later statement of this transaction run longer: call it once the locks are held."""
    connection.exec_driver_sql(
        "select set_config('statement_timeout', %s, true)", (f"{seconds * 1000:.0f}ms",)
    )


def ran_too_long(error: BaseException) -> bool:
    """Tell whether a statement was ended because of `limit_hold`; its transaction changed nothing."""
    return isinstance(error, Busy) and error.details.get("cause") == psycopg2.errors.QueryCanceled.__name__


def _home(table: str, parent: str | None) -> Home:
    if parent is None:
        return "none"
    return "live" if parent == table else "archive"
