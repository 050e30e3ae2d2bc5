"""How much lies in each queue."""

from __future__ import annotations

from dataclasses import dataclass

from remand_app.clock import Clock
from remand_app.store.database import Database

# The instant is read once: in a plain sub-select Postgres may read it again for each row and group.
_WAITING = """
with clock as materialized (
  select coalesce(%s, clock_timestamp()) as now)
select seen.queue,
       count(*) filter (where seen.phase = 'ready') as ready,
       count(*) filter (where seen.phase = 'failed') as failed,
       count(*) filter (where seen.phase = 'waiting' and seen.gate is null) as waiting,
       count(*) filter (where seen.gate = 'held') as held,
       count(*) filter (where seen.phase in ('claimed', 'settling')) as claimed,
       count(*) filter (where seen.due) as due,
       extract(epoch from seen.now - min(seen.due_at) filter (where seen.due))::float as oldest_seconds
  from (select queued.*, clock.now,
               queued.due_at <= clock.now
                 and queued.gate is distinct from 'held'
                 and queued.phase in ('ready', 'failed', 'waiting') as due
          from remand.run_queue queued, clock) seen
 group by seen.queue, seen.now
 order by seen.queue
"""


@dataclass(frozen=True, slots=True)
class Waiting:
    """The live work of one queue."""

    queue: str
    ready: int
    """Steps that may be claimed."""
    failed: int
    """Attempts that a worker of this retry queue decides on."""
    waiting: int
    """Steps that wait for their back-off."""
    held: int
    """Steps held by breakers."""
    claimed: int
    """Steps that a worker has claimed."""
    due: int
    """Of the ready, failed and waiting: those whose instant has come."""
    oldest_seconds: float | None
    """How long the oldest of them has been due; None: none is."""


def waiting(database: Database, clock: Clock) -> list[Waiting]:
    """Return the queues that have live work, by name. Transaction: own. Reads live work only."""
    return database.read(Waiting, _WAITING, (clock.fixed(),))


def step_queues(database: Database) -> list[str]:
    """Return the queues that published templates name. Transaction: own."""
    return [row[0] for row in database.call("select distinct queue from remand.template_steps order by 1")]
