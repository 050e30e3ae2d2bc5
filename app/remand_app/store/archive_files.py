"""Rows of the archive as lines of JSON, and tables that are dropped once these lines are safe elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from remand_app.store.archive_runs import Run, add_run
from remand_app.store.database import Connection, Database
from remand_app.store.partitions import change_tables, key_of
from remand_app.store.tables import PARTITIONED

_IDENTITIES = """
delete from remand.identities identity
 using (select template.namespace, template.name, workflow.identity_key, workflow.id
          from remand.{table} workflow
          join remand.templates template on template.id = workflow.template_id
          join remand.identities own
            on own.namespace = template.namespace
           and own.name = template.name
           and own.key = workflow.identity_key
           and own.workflow_id = workflow.id
         where workflow.identity_key is not null) gone
 where identity.namespace = gone.namespace
   and identity.name = gone.name
   and identity.key = gone.identity_key
   and identity.workflow_id = gone.id
"""
_STATE = """
select count(*), coalesce(sum(workflows), 0)::bigint, max(ended_at)
  from remand.archive_runs
 where period = %s
"""
State = tuple[Any, ...]
"""Changes whenever rows come to a period of the archive, or leave it."""


@contextmanager
def frozen(database: Database) -> Iterator[Connection]:
    """Open a transaction that sees one state of the archive while others move rows. Reads only."""
    with database.begin() as connection:
        connection.exec_driver_sql("set transaction isolation level repeatable read, read only")
        yield connection


def lines(connection: Connection, table: str, of: str) -> Iterator[str]:
    """Yield each row of a table of the archive as one line of JSON; `of`: workflows, steps and so on.

    Transaction: joins; the rows are not held in memory.
    """
    rows = connection.execution_options(stream_results=True, max_row_buffer=1000).exec_driver_sql(
        f"""
        select row_to_json(archived)::text
          from remand.{table} archived
         order by archived.{key_of(of)}
        """
    )
    for row in rows:
        yield row[0]


def state_of(database: Database, period: str) -> State:
    """Return a value that changes when the period does. Transaction: own."""
    return tuple(database.call(_STATE, (period,))[0])


def drop(
    database: Database,
    run: Run,
    tables: Sequence[str],
    state: State,
    record: Callable[[Connection], None],
) -> bool:
    """Drop a period's tables, or empty the default ones; False: it has changed since `state` was read.

    The identities of its workflows go with it, and `record` writes down who decided it, in the same
    transaction. Live work does not wait, except submits that repeat such an identity or an old id.

    Raises:
        Busy: others read the archive all the time; nothing was changed.

    Transaction: own, one for all.
    """

    def act(connection: Connection) -> bool:
        connection.exec_driver_sql("select pg_advisory_xact_lock(hashtext('remand.archive'))")
        if tuple(connection.exec_driver_sql(_STATE, (run.period,)).one()) != state:
            return False
        connection.exec_driver_sql(_IDENTITIES.format(table=tables[0]))
        for table in reversed(tables):
            what = "delete from" if run.starts_at is None else "drop table"
            connection.exec_driver_sql(f"{what} remand.{table}")
        add_run(connection, run)
        record(connection)
        return True

    return change_tables(database, act)


def default_tables() -> tuple[str, ...]:
    """Return the archive's default tables, for workflows that it has no period for."""
    return tuple(f"{table}_archive_default" for table in PARTITIONED)
