"""Workflows without a sign of life: read from `remand.staleness`, locked, and noted as warned of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from app.domain.errors import InputInvalid
from app.domain.page import Page
from app.domain.staleness import Health, Lifecycle, StaleAction, Why
from app.domain.states import WorkflowState
from app.store.sweeping import Limits

_COLUMNS = """
select s.workflow_id, t.namespace, t.name as template, t.version, s.state, s.created_at, s.born_at,
       s.sign_at, s.queue, s.health, s.why, s.since, s.stale_at, s.action, s.takes_out
  from remand.staleness({ids}, cast(:settings as jsonb), :now) s
  join remand.templates t on t.id = s.template_id
"""
_JUDGED = "remand.staleness({0}, cast(:settings as jsonb), :now) s"
_CANDIDATES = "array(select remand.stale_candidates(cast(:settings as jsonb), :now, false))"
_UNWARNED = "array(select remand.stale_candidates(cast(:settings as jsonb), :now, true, true))"
_OLDEST_FIRST = " order by s.stale_at, s.workflow_id"
_TAKES_OUT = f" where s.takes_out{_OLDEST_FIRST}"
# Soon stale or stale, and without a good reason to wait.
_WARNS = (
    " where s.health <> 'healthy' and s.why in ('worker_unavailable', 'lifetime', 'state')" + _OLDEST_FIRST
)
_LIMIT = " limit :limit"
_STALE = sa.text(_COLUMNS.format(ids=_CANDIDATES) + _TAKES_OUT + f"{_LIMIT} offset :skip")
_STALE_IDS = sa.text(f"select s.workflow_id from {_JUDGED.format(_CANDIDATES)}{_TAKES_OUT}{_LIMIT}")
_UNWARNED_IDS = sa.text(f"select s.workflow_id from {_JUDGED.format(_UNWARNED)}{_WARNS}{_LIMIT}")
_WARNINGS = sa.text(_COLUMNS.format(ids=":ids") + _WARNS)
_SHOWN = sa.text(
    _COLUMNS.format(ids="array(select remand.stale_shown(cast(:settings as jsonb), :now, :oldest))")
    + " where s.health = any(:healths)"
    " order by case s.health when 'stale' then 0 when 'warning' then 1 else 2 end, s.stale_at, s.workflow_id"
    " limit :limit offset :skip"
)
_OF = sa.text(_COLUMNS.format(ids=":ids"))
_UNHEARD_STEPS = sa.text("""
with work as (select q.workflow_id, q.step, q.queue from remand.run_queue q
               where q.workflow_id = any(:ids) and q.phase in ('ready', 'failed'))
select w.workflow_id, w.step, w.queue
  from work w
  join remand.queue_liveness(array(select distinct y.queue from work y), cast(:settings as jsonb), :now) k
    on k.queue = w.queue and not k.heard and not k.paused
""")
_LOCK = sa.text("""
select id from remand.workflows
 where id = any(:ids) and state in ('steps_in_process', 'waiting_for_retry', 'waiting_for_dependencies')
 order by id for update skip locked
""")
_WARN = sa.text("""
update remand.workflows f set stale_warned_at = :now
  from (select id from remand.workflows where id = any(:ids) and stale_warned_at is null
         order by id for update skip locked) x
 where f.id = x.id returning f.id
""")
_REMEMBER = sa.text("""
insert into remand.staleness_settings as s (single, settings) values (true, cast(:settings as jsonb))
on conflict (single) do update set settings = excluded.settings where s.settings <> excluded.settings
""")


_LONGEST_PLACE = 7


@dataclass(frozen=True, slots=True)
class WorkflowStaleness:
    """How a workflow stands that has not ended."""

    workflow_id: UUID
    namespace: str
    template: str
    version: str
    state: WorkflowState
    created_at: datetime
    born_at: datetime
    """From when its lifetime counts."""
    sign_at: datetime
    """Its last sign of life; in the future: a retry that is not due yet."""
    queue: str | None
    """The queue of the step that has waited longest; None: no step waits."""
    health: Health
    why: Why
    since: datetime
    """Since when it is measured."""
    stale_at: datetime
    """When the allowed time is over."""
    action: StaleAction
    takes_out: bool
    """The next sweep takes it out of work."""

    @property
    def ref(self) -> str:
        """The template, "namespace/name:version"."""
        return f"{self.namespace}/{self.template}:{self.version}"


def said(lifecycle: Lifecycle, limits: Limits) -> str:
    """Return the thresholds that the database functions use, as JSON."""
    told = {"gone": limits.gone, "silent": limits.silent, "pause": limits.pause, "away": limits.away}
    return json.dumps({**lifecycle.model_dump(mode="json"), **told}, sort_keys=True)


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
    found: dict[str, set[tuple[UUID, str]]] = {}
    if ids:
        for row in connection.execute(_UNHEARD_STEPS, {"ids": list(ids), "settings": settings, "now": now}):
            found.setdefault(row.queue, set()).add((row.workflow_id, row.step))
    return found


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
    arguments |= {"oldest": skip + limit + 1, "healths": [str(one) for one in healths]}
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
    found: list[WorkflowStaleness], limit: int, after: str | None, skip: int
) -> Page[WorkflowStaleness]:
    return Page.of(found, limit, after=after, cursor=lambda _: str(skip + limit))


def _standing(row: Any) -> WorkflowStaleness:
    told = row._asdict()
    return WorkflowStaleness(
        **{
            **told,
            "state": WorkflowState(row.state),
            "health": Health(row.health),
            "why": Why(row.why),
        }
    )
