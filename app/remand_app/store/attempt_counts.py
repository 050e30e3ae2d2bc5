"""Counts of attempts, failures and retries for each second: the input of breakers and retry budgets.

The counts are not exact: workers add what they ran about once a second, and a process that dies loses its
last second.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from remand_app.clock import Clock
from remand_app.store.database import Database

# One order for everybody: two processes that count the same handlers must not wait for each other.
_ADD = """
insert into remand.traffic as counted (namespace, handler, dependency, bucket, attempts, failures, retries)
select added.namespace, added.handler, added.dependency,
       date_trunc('second', {now}) - make_interval(secs => added.age),
       added.attempts, added.failures, added.retries
  from unnest({arrays}) added(namespace, handler, dependency, age, attempts, failures, retries){more}
 order by added.dependency, added.handler, added.namespace, added.age
on conflict (dependency, handler, namespace, bucket) do update
   set attempts = counted.attempts + excluded.attempts,
       failures = counted.failures + excluded.failures,
       retries = counted.retries + excluded.retries
"""
_COUNT = _ADD.format(
    now="coalesce(%s, clock_timestamp())",
    arrays="%s::text[], %s::text[], %s::text[], %s::int[], %s::int[], %s::int[], %s::int[]",
    # Counts may be lost: nobody waits for the disk, and the row all workers add to is free again at once.
    more=", (select set_config('synchronous_commit', 'off', true)) quick",
)
_JOIN = sa.text(
    _ADD.format(
        now="cast(:now as timestamptz)",
        arrays="""
         cast(:namespaces as text[]), cast(:handlers as text[]), cast(:dependencies as text[]),
         cast(:ages as int[]), cast(:attempts as int[]), cast(:failures as int[]), cast(:retries as int[])
        """,
        more="",
    )
)


@dataclass(frozen=True, slots=True, order=True)
class Source:
    """What is counted together."""

    namespace: str
    handler: str
    dependency: str


@dataclass(frozen=True, slots=True)
class Counts:
    """How much of it there was."""

    attempts: int = 0
    failures: int = 0
    """Failures that count against the dependency."""
    retries: int = 0


def count(database: Database, clock: Clock, attempts: Mapping[tuple[Source, int], int]) -> None:
    """Add attempts that ended so many seconds ago. Transaction: own. Not idempotent."""
    keys = list(attempts)
    zeros = [0] * len(keys)
    names = _names(source for source, _ in keys)
    ages = [age for _, age in keys]
    database.call(_COUNT, (clock.fixed(), *names, ages, [attempts[key] for key in keys], zeros, zeros))


def add(connection: sa.Connection, counts: Mapping[Source, Counts], now: datetime) -> None:
    """Add failures and retries to the second of `now`. Transaction: joins."""
    if not counts:
        return
    sources = list(counts)
    namespaces, handlers, dependencies = _names(sources)
    connection.execute(
        _JOIN,
        {
            "now": now,
            "namespaces": namespaces,
            "handlers": handlers,
            "dependencies": dependencies,
            "ages": [0] * len(sources),
            "attempts": [counts[source].attempts for source in sources],
            "failures": [counts[source].failures for source in sources],
            "retries": [counts[source].retries for source in sources],
        },
    )


def forget(database: Database, clock: Clock, seconds: float) -> int:
    """Delete counts older than `seconds`; return how many. Transaction: own. Idempotent."""
    rows = database.call(
        """
        with gone as (
          delete from remand.traffic
           where bucket < coalesce(%s, clock_timestamp()) - make_interval(secs => %s)
          returning 1)
        select count(*)
          from gone
        """,
        (clock.fixed(), seconds),
    )
    return int(rows[0][0])


def _names(sources: Iterable[Source]) -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
    listed = list(sources)
    return (
        [source.namespace for source in listed],
        [source.handler for source in listed],
        [source.dependency for source in listed],
    )
