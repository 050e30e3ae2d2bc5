"""Metrics of the whole site for Prometheus, from a few statements that read only live work and counters."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from remand_app.clock import Clock
from remand_app.store.database import Database

# In the words of the index of live workflows.
_WORKFLOWS = """
select state, count(*)
  from remand.workflows
 where state not in ('complete', 'error', 'cancelled', 'resolved_manually')
 group by state
 order by state
"""
_BUSY = "select count(distinct (worker, pid)) from remand.run_queue where phase = 'claimed'"
_LETTERS = """
select reason, category, policy, dead_queue, status,
       sum(now)::bigint as now,
       sum(opened)::bigint as opened,
       sum(closed)::bigint as closed,
       sum(returned)::bigint as returned,
       sum(closed_seconds) as closed_seconds
  from remand.dead_letter_counts
 group by 1, 2, 3, 4, 5
"""
_GROUPS = """
with clock as materialized (
  select coalesce(%s, clock_timestamp()) as now)
select letter_group.state, count(*) as count,
       count(*) filter (where letter_group.due_at < clock.now) as overdue
  from remand.dead_letter_groups letter_group, clock
 where letter_group.state in ('open', 'investigating')
 group by letter_group.state
"""
_REDRIVES = "select state, count(*) from remand.redrives where ended_at is null group by state"


@dataclass(frozen=True, slots=True)
class Letters:
    """Dead letters that have these things in common."""

    reason: str
    category: str
    policy: str
    dead_queue: str
    status: str
    now: int
    opened: int
    """Since the beginning, as the other counts."""
    closed: int
    returned: int
    """Of those opened: their step had one before."""
    closed_seconds: float
    """From opened to closed, added up."""


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups of one state."""

    state: str
    count: int
    overdue: int


def live_workflows(database: Database) -> dict[str, int]:
    """Count live workflows by state. Transaction: own. Reads an index of live workflows alone."""
    return dict(database.call(_WORKFLOWS))


def busy_processes(database: Database) -> int:
    """Count processes that hold claims. Transaction: own."""
    return int(database.call(_BUSY)[0][0])


def letters(database: Database) -> list[Letters]:
    """Return the counts of letters, as last folded. Transaction: own."""
    return database.read(Letters, _LETTERS)


def groups(database: Database, clock: Clock) -> list[Groups]:
    """Return the groups that are not resolved, by state. Transaction: own."""
    return database.read(Groups, _GROUPS, (clock.fixed(),))


def redrives(database: Database) -> dict[str, int]:
    """Count redrives that have not ended, by state. Transaction: own."""
    return dict(database.call(_REDRIVES))


def now(database: Database, clock: Clock) -> datetime:
    """Return the current instant of the database. Transaction: own."""
    instant: datetime = database.call("select coalesce(%s, clock_timestamp())", (clock.fixed(),))[0][0]
    return instant
