"""What the letters that a redrive has sent wait for: a breaker, a queue, the instant of a retry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import sqlalchemy as sa

from remand_app.domain.states import BreakerState
from remand_app.store.database import Connection


@dataclass(frozen=True, slots=True)
class Waiting:
    """Letters whose steps wait for the same."""

    breaker: str | None
    """The breaker that holds them back; None: no breaker does."""
    breaker_state: BreakerState | None
    """closed: it releases held steps at its rate."""
    probe_at: datetime | None
    queue: str
    due_at: datetime
    """Of the first of them."""
    is_due: bool
    letters: int


def waiting(connection: Connection, redrive_id: UUID, now: datetime, at_most: int) -> list[Waiting]:
    """Return what sent letters wait for, most letters first; of many the first. Transaction: joins."""
    rows = connection.execute(sa.text(_WAITING), {"id": redrive_id, "now": now, "most": at_most}).all()
    return [Waiting(name, state and BreakerState(state), *others) for name, state, *others in rows]


def paused(connection: Connection, queues: Sequence[str]) -> set[str]:
    """Return which of the queues a person has paused. Transaction: joins."""
    names = connection.scalars(
        sa.text("select queue from remand.pauses where queue = any(cast(:queues as text[]))"),
        {"queues": list(queues)},
    )
    return set(names)


# A step that becomes ready behind a gating breaker is put aside by the next sweep; no worker takes it.
_WAITING = """
with sent as materialized (
  select item.workflow_id, item.steps
    from remand.redrive_items item
   where item.redrive_id = :id and item.state = 'sent'
   order by item.position
   limit :most)
select breaker.name, breaker.state, breaker.probe_at, step.queue, min(step.due_at),
       step.phase = 'ready' or step.due_at <= cast(:now as timestamptz), count(distinct sent.workflow_id)
  from sent
  join remand.run_queue step on step.workflow_id = sent.workflow_id and step.step = any(sent.steps)
  left join remand.breakers breaker on breaker.name = step.dependency
   and (breaker.state <> 'closed' or breaker.releasing_since is not null)
   and (step.gate = 'held' or step.gate is null and step.phase = 'ready')
 where step.phase in ('ready', 'waiting')
 group by 1, 2, 3, 4, 6
 order by 7 desc, 1, 4
"""
