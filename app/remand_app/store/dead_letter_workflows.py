"""Take workflows out of work: find the steps that hold them up, and move those steps to error."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

import sqlalchemy as sa

from remand.failure import Failure
from remand_app.store import failure_json
from remand_app.store.failures import DecidedDeath, FailedAttempt

_LOCK_QUEUE = sa.text(
    "select from remand.run_queue where workflow_id = any(:ids) order by workflow_id, step for update"
)
# What has a place in the run queue, or could have one but for a hold; where there is nothing of the kind,
# nor a failure, nor a result on its way, the workflow stands still for ever: then the first step that waits.
_FRONT = sa.text("""
with live as (
  select step.*,
         step.state not in ('pending', 'error', 'enqueued_for_orchestration')
           or (step.state = 'pending' and step.open_parents = 0) as front
    from remand.steps step
   where step.workflow_id = any(:ids)
     and step.state not in ('complete', 'cancelled', 'resolved_manually')),
placed as (
  select live.*,
         bool_or(live.front or live.state <> 'pending') over (partition by live.workflow_id) as moves,
         row_number() over (partition by live.workflow_id order by live.position) as place
    from live)
select placed.workflow_id, placed.name, placed.attempt, placed.failures, placed.lost_attempts,
       workflow.template_id, placed.handler, placed.queue, placed.worker, placed.failing_since
  from placed
  join remand.workflows workflow on workflow.id = placed.workflow_id
 where placed.front
    or (not placed.moves and placed.place = 1)
 order by placed.workflow_id, placed.position
""")
_EXPIRED = sa.text("""
select id
  from remand.workflows
 where expires_at <= :now
   and id <> all(cast(:but as uuid[]))
   and state in ('steps_in_process', 'waiting_for_retry', 'waiting_for_dependencies')
 order by expires_at
 limit :limit
""")
_LOCK = sa.text("""
select id
  from remand.workflows
 where id = any(:ids)
   and state in ('steps_in_process', 'waiting_for_retry', 'waiting_for_dependencies')
   and (cast(:now as timestamptz) is null or expires_at <= :now)
 order by id
   for update skip locked
""")

_STILL = sa.text("""
select workflow.id
  from remand.workflows workflow
 where workflow.state in ('steps_in_process', 'waiting_for_retry', 'waiting_for_dependencies')
   and workflow.hold is null
   and workflow.error_steps = 0
   and workflow.id <> all(cast(:but as uuid[]))
   and (cast(:ids as uuid[]) is null or workflow.id = any(:ids))
   and not exists (
         select
           from remand.run_queue queued
          where queued.workflow_id = workflow.id)
 limit :limit
""")


def lock_still(connection: sa.Connection, limit: int, but: Collection[UUID] = ()) -> list[UUID]:
    """Lock workflows that are in motion, yet have nothing in the run queue and nothing that holds them.

    None of `but`.

    Transaction: joins.
    """
    bounds = {"limit": limit, "but": list(but)}
    still = list(connection.scalars(_STILL, {"ids": None, **bounds}))
    if not still:
        return []
    held = list(connection.scalars(_LOCK, {"ids": still, "now": None}))
    # Others may have moved them on before they were locked.
    return list(connection.scalars(_STILL, {"ids": held, **bounds}))


def lock_expired(
    connection: sa.Connection, now: datetime, limit: int, but: Collection[UUID] = ()
) -> list[UUID]:
    """Lock workflows that are in motion beyond their deadline; those that others hold are left.

    None of `but`.

    Transaction: joins.
    """
    expired = list(connection.scalars(_EXPIRED, {"now": now, "limit": limit, "but": list(but)}))
    return list(connection.scalars(_LOCK, {"ids": expired, "now": now})) if expired else []


def blocking_steps(connection: sa.Connection, ids: Sequence[UUID], failure: Failure) -> list[FailedAttempt]:
    """Lock the run queue rows of workflows and return the steps that hold them up, by workflow and place.

    Each as if it had failed with `failure`. Transaction: joins, holding the workflows.
    """
    connection.execute(_LOCK_QUEUE, {"ids": list(ids)})
    return [
        FailedAttempt(
            workflow_id=row.workflow_id,
            step=row.name,
            attempt=row.attempt,
            outcome="failed",
            failures=row.failures,
            lost_attempts=row.lost_attempts,
            failure=failure,
            template_id=row.template_id,
            handler=row.handler,
            queue=row.queue,
            worker=row.worker,
            policy="never",
            failing_since=row.failing_since,
            passed=False,
        )
        for row in connection.execute(_FRONT, {"ids": list(ids)})
    ]


def take_out(
    connection: sa.Connection,
    deaths: Sequence[DecidedDeath],
    *,
    failure: Failure,
    why: str,
    by: str,
    now: datetime,
) -> None:
    """Move steps to error with one failure and roll their workflows up.

    Transaction: joins; open the letters in it too.
    """
    connection.execute(
        sa.text("select remand.take_out(:ids, :steps, cast(:failure as jsonb), :why, :by, :now)"),
        {
            "ids": [death.failed.workflow_id for death in deaths],
            "steps": [death.failed.step for death in deaths],
            "failure": failure_json.write(failure),
            "why": why,
            "by": by,
            "now": now,
        },
    )
