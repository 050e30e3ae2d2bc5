"""The periods of the archive as the catalogue has them: listed, measured, made.

A period's tables either changed hands whole, `workflows_2026_10`, or were made for what came in batches,
`workflows_archive_2026_10`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from remand_app.domain.partitions import Period
from remand_app.store.database import Connection, Database
from remand_app.store.ids import first_id_at
from remand_app.store.partitions import LOCK_TIMEOUT_SECONDS, bounds, change_tables, key_of, limit_wait
from remand_app.store.tables import PARTITIONED

_CATALOGUE = """
select parent.relname::text, period.relname::text, pg_get_expr(period.relpartbound, period.oid),
       pg_total_relation_size(period.oid)
  from pg_inherits inherited
  join pg_class period on period.oid = inherited.inhrelid
  join pg_class parent on parent.oid = inherited.inhparent
 where parent.relnamespace = to_regnamespace('remand')
   and parent.relname = any(%s)
"""


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


def listed(database: Database) -> list[Archived]:
    """Return the periods of the archive, in order of time. Transaction: own."""
    parents = [f"{table}_archive" for table in PARTITIONED]
    by_period: dict[tuple[datetime, datetime, str, bool], dict[str, tuple[str, int]]] = {}
    for parent, table, bound, size in database.call(_CATALOGUE, (parents,)):
        starts_at, ends_at = bounds(bound)
        if starts_at is None or ends_at is None:
            continue
        live = parent.removesuffix("_archive")
        is_whole = not table.startswith(f"{parent}_")
        name = table.removeprefix(f"{live if is_whole else parent}_")
        by_period.setdefault((starts_at, ends_at, name, is_whole), {})[live] = (table, size)
    return [
        Archived(
            name,
            starts_at,
            ends_at,
            tuple(tables[table][0] for table in PARTITIONED),
            is_whole,
            sum(size for _, size in tables.values()),
        )
        for (starts_at, ends_at, name, is_whole), tables in sorted(by_period.items())
        if len(tables) == len(PARTITIONED)
    ]


def is_spilled(database: Database, period: Period) -> bool:
    """Tell whether the archive's default tables hold workflows of this period: it cannot be made then."""
    [(is_spilled,)] = database.call(
        """
        select exists (
          select
            from remand.workflows_archive_default workflow
           where workflow.id >= %s
             and workflow.id < %s)
        """,
        (first_id_at(period.starts_at), first_id_at(period.ends_at)),
    )
    return bool(is_spilled)


def live_tables(name: str) -> tuple[str, ...]:
    """Return the names of the tables of a period that moves whole."""
    return tuple(f"{table}_{name}" for table in PARTITIONED)


def size(database: Database, tables: Sequence[str]) -> int:
    """Return the bytes of some tables, with indexes and TOAST. Transaction: own."""
    total: int = database.call(
        """
        select coalesce(sum(pg_total_relation_size(to_regclass('remand.' || named.name))), 0)::bigint
          from unnest(%s::text[]) named(name)
        """,
        (list(tables),),
    )[0][0]
    return total


def ids_in(database: Database, period: Archived, limit: int) -> list[UUID]:
    """Return ids of workflows of a period of the archive. Transaction: own."""
    return [row[0] for row in database.call(f"select id from remand.{period.tables[0]} limit %s", (limit,))]


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
