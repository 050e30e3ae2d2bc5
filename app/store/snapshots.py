"""What a workflow looked like at one instant, for the snapshot of its dead letter: a few queries for many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from app.domain.snapshot import CUT

MOVES_KEPT = 50
ATTEMPTS_KEPT = 200

_WORKFLOWS = """
select f.id, jsonb_build_object('id', f.id, 'template', t.namespace || '/' || t.name || ':' || t.version,
         'template_hash', t.hash, 'state', f.state, 'state_since', f.state_since, 'created_at', f.created_at,
         'submitted_by', f.submitted_by, 'priority', f.priority, 'input', f.input)
  from remand.workflows f join remand.templates t on t.id = f.template_id where f.id = any(:ids)
"""
# A JSON value has at most 256 MB in Postgres: a wide workflow leaves large values out unread.
_STEPS = """
select s.workflow_id, jsonb_agg(jsonb_build_object('name', s.name, 'handler', s.handler, 'queue', s.queue,
         'depends_on', s.depends_on, 'state', s.state, 'attempt', s.attempt, 'failures', s.failures,
         'lost_attempts', s.lost_attempts,
         'input', case when pg_column_size(s.input) > s.most then s.cut else s.input end,
         'checkpoint', case when pg_column_size(s.checkpoint) > s.most then s.cut else s.checkpoint end,
         'failure', case when s.wide and s.state <> 'error' then s.failure - 'traceback' else s.failure end,
         'result', case when pg_column_size(s.result) > s.most then s.cut else s.result end,
         'started_at', s.started_at, 'ended_at', s.ended_at) order by s.position)
  from (select x.*, count(*) over each > 16 wide, to_jsonb(cast(:cut as text)) cut,
               case when count(*) over each > 16 then :bytes / count(*) over each else :bytes end most
          from remand.steps x where x.workflow_id = any(:ids) window each as (partition by x.workflow_id)) s
 group by s.workflow_id
"""
_ATTEMPTS = """
select a.workflow_id, jsonb_agg(jsonb_build_object('step', a.step, 'attempt', a.attempt, 'outcome', a.outcome,
         'worker', w.hostname, 'started_at', a.started_at, 'ended_at', a.ended_at, 'failure', a.failure,
         'policy', a.policy, 'decision', a.decision, 'explanation', a.explanation)
         order by a.ended_at, a.step)
  from unnest(:ids) k(id),
       lateral (select * from remand.attempts x where x.workflow_id = k.id
                 order by x.ended_at desc, x.step desc limit :attempts) a
       left join remand.workers w on w.id = a.worker
 group by a.workflow_id
"""
_MOVES = """
select m.workflow_id, jsonb_agg(jsonb_build_object('step', m.step, 'from', m.from_state, 'event', m.event,
         'to', m.to_state, 'at', m.at, 'by', m.by, 'reason', m.reason) order by m.at, m.seq)
  from unnest(:ids) k(id),
       lateral (select * from remand.moves x where x.workflow_id = k.id
                 order by x.at desc, x.seq desc limit :n) m
 group by m.workflow_id
"""


def read_snapshots(
    connection: sa.Connection, ids: Sequence[UUID], max_bytes: int
) -> dict[UUID, dict[str, Any]]:
    """Read the parts of each workflow's snapshot: workflow, steps, last attempts, last moves.

    Values that cannot have a place in `max_bytes` are left out and say so. Transaction: joins.
    """
    wanted = list(dict.fromkeys(ids))
    parts = {"workflow": _WORKFLOWS, "steps": _STEPS, "attempts": _ATTEMPTS, "moves": _MOVES}
    limits: dict[str, dict[str, Any]] = {
        "workflow": {},
        "steps": {"bytes": max_bytes, "cut": CUT},
        "attempts": {"attempts": ATTEMPTS_KEPT},
        "moves": {"n": MOVES_KEPT},
    }
    snapshots: dict[UUID, dict[str, Any]] = {one: {name: [] for name in parts} for one in wanted}
    for name, sql in parts.items():
        for workflow_id, value in connection.execute(sa.text(sql), {"ids": wanted, **limits[name]}):
            snapshots[workflow_id][name] = value
    return snapshots


def worker_names(connection: sa.Connection, ids: Sequence[UUID | None]) -> dict[UUID, str]:
    """Return the node names of incarnations. Transaction: joins."""
    rows = connection.execute(
        sa.text("select id, hostname from remand.workers where id = any(:ids)"),
        {"ids": [one for one in ids if one is not None]},
    )
    return {row[0]: row[1] for row in rows}
