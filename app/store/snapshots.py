"""What a workflow looked like at one instant, for the snapshot of its dead letter: a query for many.

As text, for most are stored as they are: to take one apart in Python costs more than all else about a letter.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import sqlalchemy as sa

from app.domain.snapshot import CUT

MOVES_KEPT = 50
ATTEMPTS_KEPT = 200

# Text has at most 1 GB in Postgres: a wide workflow leaves large values out unread.
_SNAPSHOTS = sa.text("""
select k.id, cast(json_build_object(
  'workflow', (
    select json_build_object('id', f.id, 'template', t.namespace || '/' || t.name || ':' || t.version,
             'template_hash', t.hash, 'state', f.state, 'state_since', f.state_since,
             'created_at', f.created_at, 'submitted_by', f.submitted_by, 'priority', f.priority,
             'input', f.input)
      from remand.workflows f join remand.templates t on t.id = f.template_id where f.id = k.id),
  'steps', (
    select coalesce(json_agg(json_build_object('name', s.name, 'handler', s.handler, 'queue', s.queue,
             'depends_on', s.depends_on, 'state', s.state, 'attempt', s.attempt, 'failures', s.failures,
             'lost_attempts', s.lost_attempts,
             'input', case when pg_column_size(s.input) > s.most then s.cut else s.input end,
             'checkpoint', case when pg_column_size(s.checkpoint) > s.most then s.cut else s.checkpoint end,
             'failure', case when s.wide and s.state <> 'error' then s.failure - 'traceback'
                             else s.failure end,
             'result', case when pg_column_size(s.result) > s.most then s.cut else s.result end,
             'started_at', s.started_at, 'ended_at', s.ended_at) order by s.position), '[]')
      from (select x.*, count(*) over () > 16 wide, to_jsonb(cast(:cut as text)) cut,
                   case when count(*) over () > 16 then :bytes / count(*) over () else :bytes end most
              from remand.steps x where x.workflow_id = k.id) s),
  'attempts', (
    select coalesce(json_agg(json_build_object('step', a.step, 'attempt', a.attempt, 'outcome', a.outcome,
             'worker', w.hostname, 'started_at', a.started_at, 'ended_at', a.ended_at, 'failure', a.failure,
             'policy', a.policy, 'decision', a.decision, 'explanation', a.explanation)
             order by a.ended_at, a.step), '[]')
      from (select x.* from remand.attempts x where x.workflow_id = k.id
             order by x.ended_at desc, x.step desc limit :attempts) a
      left join remand.workers w on w.id = a.worker),
  'moves', (
    select coalesce(json_agg(json_build_object('step', m.step, 'from', m.from_state, 'event', m.event,
             'to', m.to_state, 'at', m.at, 'by', m.by, 'reason', m.reason) order by m.at, m.seq), '[]')
      from (select x.* from remand.moves x where x.workflow_id = k.id
             order by x.at desc, x.seq desc limit :moves) m),
  'left_out', json_build_array()) as text)
  from unnest(:ids) k(id)
""")


def read_snapshots(connection: sa.Connection, ids: Sequence[UUID], max_bytes: int) -> dict[UUID, str]:
    """Read each workflow's snapshot as the text of a JSON object: workflow, steps, last attempts, last moves.

    Values that cannot have a place in `max_bytes` are left out and say so; `left_out` is there and empty.
    Transaction: joins.
    """
    limits = {"bytes": max_bytes, "cut": CUT, "attempts": ATTEMPTS_KEPT, "moves": MOVES_KEPT}
    rows = connection.execute(_SNAPSHOTS, {"ids": list(dict.fromkeys(ids)), **limits})
    return {row[0]: row[1] for row in rows}


def worker_names(connection: sa.Connection, ids: Sequence[UUID | None]) -> dict[UUID, str]:
    """Return the node names of incarnations. Transaction: joins."""
    rows = connection.execute(
        sa.text("select id, hostname from remand.workers where id = any(:ids)"),
        {"ids": [one for one in ids if one is not None]},
    )
    return {row[0]: row[1] for row in rows}
