"""What the sweeps look for. Every query reads live work only: its cost does not grow with history."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from remand_app.clock import Clock
from remand_app.store.database import Database

_WAITING_QUEUES = """
with recursive ready as (
  (select first.queue
     from remand.run_queue first
    where first.phase = 'ready'
    order by first.queue
    limit 1)
  union all
  select (select next.queue
            from remand.run_queue next
           where next.phase = 'ready'
             and next.queue > ready.queue
           order by next.queue
           limit 1)
    from ready
   where ready.queue is not null),
failed as (
  (select first.queue
     from remand.run_queue first
    where first.phase = 'failed'
    order by first.queue
    limit 1)
  union all
  select (select next.queue
            from remand.run_queue next
           where next.phase = 'failed'
             and next.queue > failed.queue
           order by next.queue
           limit 1)
    from failed
   where failed.queue is not null)
select waiting.queue
  from (select ready.queue from ready union select failed.queue from failed) waiting
 where waiting.queue is not null
   and waiting.queue not in (select pause.queue from remand.pauses pause)
"""
_ORPHANS = """
with alive as materialized (
  select id, hostname
    from remand.live_workers(%(gone)s, %(silent)s, %(pause)s, %(now)s))
select queued.workflow_id, queued.step, queued.attempt, queued.worker,
       coalesce(worker.hostname, 'unknown') as hostname,
       case when alive.id is null then 'gone' else 'lease' end as cause
  from remand.run_queue queued
  left join alive on alive.id = queued.worker
  left join remand.workers worker on worker.id = queued.worker
 where queued.phase = 'claimed'
   and (alive.id is null or queued.lease_until < coalesce(%(now)s, clock_timestamp()))
   and clock_timestamp() >= pg_postmaster_start_time() + make_interval(secs => %(pause)s)
 limit %(limit)s
"""
_GONE = """
update remand.workers worker
   set stopped_at = coalesce(%(now)s, clock_timestamp())
 where worker.stopped_at is null
   and worker.id not in (select id from remand.live_workers(%(gone)s, %(silent)s, %(pause)s, %(now)s))
returning worker.id, worker.hostname, worker.heartbeat_at
"""


@dataclass(frozen=True, slots=True)
class Orphan:
    """A claim whose worker is gone, or whose lease is over."""

    workflow_id: UUID
    step: str
    attempt: int
    worker: UUID
    hostname: str
    cause: str
    """"gone" or "lease"."""


@dataclass(frozen=True, slots=True)
class Limits:
    """When a worker counts as dead, in seconds."""

    gone: float
    silent: float
    pause: float
    """For so long after a restart of Postgres no worker is declared dead."""
    away: float
    """After so long without a sweep, or a worker of a queue, the age of what waits there stands still."""


def note_service(database: Database, limits: Limits, clock: Clock) -> None:
    """Note which queues have workers, and since when they had none. Transaction: own. Idempotent."""
    database.call("select remand.note_service(%s, %s, %s)", (limits.silent, limits.away, clock.fixed()))


def waiting_queues(database: Database) -> list[str]:
    """Return the queues, but for paused ones, that have work nobody has claimed. Transaction: own."""
    return [row[0] for row in database.call(_WAITING_QUEUES)]


def heard_queues(database: Database, limits: Limits, clock: Clock) -> set[str]:
    """Return the queues, but for paused ones, that some live worker consumes. Transaction: own."""
    rows = database.call(
        """
        select unnest(queues)
          from remand.live_workers(%s, %s, %s, %s)
        except
        select queue
          from remand.pauses
        """,
        (limits.gone, limits.silent, limits.pause, clock.fixed()),
    )
    return {row[0] for row in rows}


def wake_due(database: Database, clock: Clock, limit: int) -> tuple[int, list[str]]:
    """Enqueue retries that are due; return how many, and the queues that got work. Transaction: own."""
    rows = database.call("select woken, queues from remand.wake_due(%s, %s)", (limit, clock.fixed()))
    return rows[0][0], rows[0][1]


def waiting_workflows(database: Database, phase: str, limit: int = 20_000) -> list[UUID]:
    """Return the workflows that have steps in that phase of the run queue. Transaction: own."""
    rows = database.call(
        "select distinct workflow_id from remand.run_queue where phase = %s limit %s", (phase, limit)
    )
    return [row[0] for row in rows]


def gated_workflows(database: Database, limit: int = 20_000) -> list[UUID]:
    """Return the workflows that a breaker holds, has let through or is about to hold. Transaction: own."""
    rows = database.call(
        """
        select distinct workflow_id
          from remand.run_queue
         where gate is not null
            or dependency = any(array(select remand.gating_breakers()))
         limit %s
        """,
        (limit,),
    )
    return [row[0] for row in rows]


def find_orphans(database: Database, clock: Clock, limits: Limits, limit: int) -> list[Orphan]:
    """Find claims that no process works on any more. Transaction: own; nothing is locked."""
    return database.read(Orphan, _ORPHANS, {**_named(limits), "now": clock.fixed(), "limit": limit})


def mark_gone(database: Database, clock: Clock, limits: Limits) -> list[tuple[UUID, str]]:
    """Mark dead incarnations as stopped; return their ids and names. Transaction: own."""
    with database.cursor() as cursor:
        cursor.execute(_GONE, {**_named(limits), "now": clock.fixed()})
        return [(row[0], row[1]) for row in cursor.fetchall()]


def _named(limits: Limits) -> dict[str, float]:
    return {"gone": limits.gone, "silent": limits.silent, "pause": limits.pause}
