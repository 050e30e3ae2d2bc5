"""Counts of attempts, failures and retries for each second: the input of breakers and retry budgets.

The counts are not exact: workers add what they ran about once a second, and a process that dies loses its
last second.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from app.clock import Clock
from app.store.session import Database

_ADD = (
    "insert into remand.traffic as x (namespace, handler, dependency, bucket, attempts, failures, retries)"
    " select n, h, d, date_trunc('second', {now}) - make_interval(secs => s), a, f, r"
    " from unnest({arrays}) g(n, h, d, s, a, f, r){more}"
    # One order for everybody: two processes that count the same handlers must not wait for each other.
    " order by d, h, n, s on conflict (dependency, handler, namespace, bucket) do update"
    " set attempts = x.attempts + excluded.attempts, failures = x.failures + excluded.failures,"
    " retries = x.retries + excluded.retries"
)
_COUNT = _ADD.format(
    now="coalesce(%s, clock_timestamp())",
    arrays="%s::text[], %s::text[], %s::text[], %s::int[], %s::int[], %s::int[], %s::int[]",
    # Counts may be lost: nobody waits for the disk, and the row all workers add to is free again at once.
    more=", (select set_config('synchronous_commit', 'off', true)) quick",
)
_JOIN = sa.text(
    _ADD.format(
        now="cast(:now as timestamptz)",
        arrays="cast(:n as text[]), cast(:h as text[]), cast(:d as text[]), cast(:s as int[]),"
        " cast(:a as int[]),"
        " cast(:f as int[]), cast(:r as int[])",
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
    database.call(_COUNT, (clock.fixed(), *names, ages, [attempts[one] for one in keys], zeros, zeros))


def add(connection: sa.Connection, counts: Mapping[Source, Counts], now: datetime) -> None:
    """Add failures and retries to the second of `now`. Transaction: joins."""
    if not counts:
        return
    sources = list(counts)
    namespaces, handlers, dependencies = _names(sources)
    values: dict[str, Any] = {"now": now, "n": namespaces, "h": handlers, "d": dependencies}
    values["s"] = [0] * len(sources)
    values["a"] = [counts[one].attempts for one in sources]
    values["f"] = [counts[one].failures for one in sources]
    values["r"] = [counts[one].retries for one in sources]
    connection.execute(_JOIN, values)


def forget(database: Database, clock: Clock, seconds: float) -> int:
    """Delete counts older than `seconds`; return how many. Transaction: own. Idempotent."""
    rows = database.call(
        "with gone as (delete from remand.traffic where bucket < coalesce(%s, clock_timestamp())"
        " - make_interval(secs => %s) returning 1) select count(*) from gone",
        (clock.fixed(), seconds),
    )
    return int(rows[0][0])


def _names(sources: Iterable[Source]) -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
    listed = list(sources)
    return (
        [one.namespace for one in listed],
        [one.handler for one in listed],
        [one.dependency for one in listed],
    )
