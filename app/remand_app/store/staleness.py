"""Workflows without a sign of life: read from `remand.staleness`, locked, and noted as warned of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from remand_app.domain.errors import InputInvalid
from remand_app.domain.page import Page
from remand_app.domain.staleness import Health, Lifecycle, Why, WorkflowStaleness
from remand_app.domain.states import WorkflowState
from remand_app.store.sweeping import Limits

_JUDGED = "remand.staleness({ids}, cast(:settings as jsonb), :now) judged"
_WHOLE = f"""
select judged.workflow_id, template.namespace, template.name as template, template.version, judged.state,
       judged.created_at, judged.born_at, judged.sign_at, judged.queue, judged.health, judged.why,
       judged.since, judged.stale_at, judged.action, judged.takes_out
  from {_JUDGED}
  join remand.templates template on template.id = judged.template_id
"""
_IDS = f"""
select judged.workflow_id
  from {_JUDGED}
"""
_CANDIDATES = "array(select remand.stale_candidates(cast(:settings as jsonb), :now, false))"
_UNWARNED = "array(select remand.stale_candidates(cast(:settings as jsonb), :now, true, true))"
_LONGEST = "array(select remand.stale_shown(cast(:settings as jsonb), :now, :oldest))"
_TAKES_OUT = """
 where judged.takes_out
 order by judged.stale_at, judged.workflow_id
"""
# Soon stale or stale, and without a good reason to wait.
_WARNS = """
 where judged.health <> 'healthy'
   and judged.why in ('worker_unavailable', 'lifetime', 'state')
 order by judged.stale_at, judged.workflow_id
"""
_SHOWS = """
 where judged.health = any(:healths)
 order by case judged.health when 'stale' then 0 when 'warning' then 1 else 2 end, judged.stale_at,
       judged.workflow_id
"""
_STALE = sa.text(_WHOLE.format(ids=_CANDIDATES) + _TAKES_OUT + " limit :limit offset :skip")
_STALE_IDS = sa.text(_IDS.format(ids=_CANDIDATES) + _TAKES_OUT + " limit :limit")
_UNWARNED_IDS = sa.text(_IDS.format(ids=_UNWARNED) + _WARNS + " limit :limit")
_WARNINGS = sa.text(_WHOLE.format(ids=":ids") + _WARNS)
_SHOWN = sa.text(_WHOLE.format(ids=_LONGEST) + _SHOWS + " limit :limit offset :skip")
_OF = sa.text(_WHOLE.format(ids=":ids"))
_UNHEARD_STEPS = sa.text("""
with work as (
  select queued.workflow_id, queued.step, queued.queue
    from remand.run_queue queued
   where queued.workflow_id = any(:ids)
     and queued.phase in ('ready', 'failed'))
select work.workflow_id, work.step, work.queue
  from work
  join remand.queue_liveness(array(select distinct work.queue from work), cast(:settings as jsonb), :now)
         liveness
    on liveness.queue = work.queue
   and not liveness.heard
   and not liveness.paused
""")
_LOCK = sa.text("""
select id
  from remand.workflows
 where id = any(:ids)
   and state in ('steps_in_process', 'waiting_for_retry', 'waiting_for_dependencies')
 order by id
   for update skip locked
""")
_WARN = sa.text("""
update remand.workflows workflow
   set stale_warned_at = :now
  from (select workflows.id
          from remand.workflows
         where workflows.id = any(:ids)
           and workflows.stale_warned_at is null
         order by workflows.id
           for update skip locked) unwarned
 where workflow.id = unwarned.id
returning workflow.id
""")
_REMEMBER = sa.text("""
insert into remand.staleness_settings as setting (single, settings)
values (true, cast(:settings as jsonb))
on conflict (single) do update
   set settings = excluded.settings
 where setting.settings <> excluded.settings
""")


_LONGEST_PLACE = 7


def said(lifecycle: Lifecycle, limits: Limits) -> str:
    """Return the thresholds that the database functions use, as JSON."""
    waits = {"gone": limits.gone, "silent": limits.silent, "pause": limits.pause, "away": limits.away}
    return json.dumps({**lifecycle.model_dump(mode="json"), **waits}, sort_keys=True)


def remember(connection: sa.Connection, settings: str) -> None:
    """Store the thresholds that the sweep uses, for the view. Transaction: joins. Idempotent."""
    connection.execute(_REMEMBER, {"settings": settings})


def find_stale(
    connection: sa.Connection, settings: str, now: datetime, after: str | None, limit: int
) -> Page[WorkflowStaleness]:
    """Return what is to be taken out of work, stale for longest first. Transaction: joins.

    Raises:
        InputInvalid: `after` is no cursor of this list.
    """
    skip = _place(after)
    rows = connection.execute(_STALE, {"settings": settings, "now": now, "limit": limit + 1, "skip": skip})
    return _page([_standing(row) for row in rows], limit, after, skip)


def find_stale_ids(connection: sa.Connection, settings: str, now: datetime, limit: int) -> list[UUID]:
    """Return only the ids of what `find_stale` finds. Transaction: joins."""
    return list(connection.scalars(_STALE_IDS, {"settings": settings, "now": now, "limit": limit}))


def find_unwarned_ids(connection: sa.Connection, settings: str, now: datetime, limit: int) -> list[UUID]:
    """Return what people are to be warned of, soonest first. Transaction: joins; nothing is locked."""
    return list(connection.scalars(_UNWARNED_IDS, {"settings": settings, "now": now, "limit": limit}))


def lock(connection: sa.Connection, ids: Sequence[UUID]) -> list[UUID]:
    """Lock workflows that are in motion; those that others hold are left. Transaction: joins."""
    return list(connection.scalars(_LOCK, {"ids": list(ids)}))


def standings(
    connection: sa.Connection, ids: Sequence[UUID], settings: str, now: datetime
) -> list[WorkflowStaleness]:
    """Return how workflows stand, those that have not ended. Transaction: joins."""
    if not ids:
        return []
    rows = connection.execute(_OF, {"ids": list(ids), "settings": settings, "now": now})
    return [_standing(row) for row in rows]


def warnings(
    connection: sa.Connection, ids: Sequence[UUID], settings: str, now: datetime
) -> list[WorkflowStaleness]:
    """Return all workflows in need of a warning, given already or not, soonest first. Transaction: joins."""
    rows = connection.execute(_WARNINGS, {"ids": list(ids), "settings": settings, "now": now})
    return [_standing(row) for row in rows]


def unheard_steps(
    connection: sa.Connection, ids: Sequence[UUID], settings: str, now: datetime
) -> dict[str, set[tuple[UUID, str]]]:
    """Return steps that wait in queues without a live worker, by queue. Transaction: joins."""
    steps: dict[str, set[tuple[UUID, str]]] = {}
    if ids:
        for row in connection.execute(_UNHEARD_STEPS, {"ids": list(ids), "settings": settings, "now": now}):
            steps.setdefault(row.queue, set()).add((row.workflow_id, row.step))
    return steps


def find_shown(
    connection: sa.Connection,
    settings: str,
    now: datetime,
    healths: Sequence[Health],
    *,
    after: str | None,
    limit: int,
) -> Page[WorkflowStaleness]:
    """Return how workflows stand, stale ones first, then what is stale soonest. Transaction: joins.

    All that are stale or soon stale can be found; of the healthy ones, those longest in their state. The
    order changes with time: the cursor is a position in the list, and a workflow that moves may be missed.

    Raises:
        InputInvalid: `after` is no cursor of this list.
    """
    skip = _place(after)
    arguments = {"settings": settings, "now": now, "limit": limit + 1, "skip": skip}
    arguments |= {"oldest": skip + limit + 1, "healths": [str(health) for health in healths]}
    return _page([_standing(row) for row in connection.execute(_SHOWN, arguments)], limit, after, skip)


def mark_warned(connection: sa.Connection, ids: Sequence[UUID], now: datetime) -> set[UUID]:
    """Note that people are warned of workflows; return those for which that is new. Transaction: joins."""
    return set(connection.scalars(_WARN, {"ids": list(ids), "now": now}))


def _place(after: str | None) -> int:
    if after is None:
        return 0
    if not (after.isascii() and after.isdecimal() and len(after) <= _LONGEST_PLACE):
        raise InputInvalid("this is no cursor of this list", hint="begin without one")
    return int(after)


def _page(
    items: list[WorkflowStaleness], limit: int, after: str | None, skip: int
) -> Page[WorkflowStaleness]:
    return Page.of(items, limit, after=after, cursor=lambda _: str(skip + limit))


def _standing(row: Any) -> WorkflowStaleness:
    columns = row._asdict()
    return WorkflowStaleness(
        **{
            **columns,
            "state": WorkflowState(row.state),
            "health": Health(row.health),
            "why": Why(row.why),
        }
    )
