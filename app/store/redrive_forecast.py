"""The letters of a planned redrive: their kinds, how requeues of each cause ended, a sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from app.store.rows import read
from app.store.session import Connection


@dataclass(frozen=True, slots=True)
class Kind:
    """Letters of a set with one cause, in one template's version, step and queue."""

    group_id: UUID
    namespace: str
    template: str
    version: str
    step: str
    queue: str
    letters: int
    closed: int
    claimed: int
    """By others than the one who plans."""
    example: UUID
    claimed_example: UUID | None
    closed_example: UUID | None
    error_class: str
    message: str


@dataclass(frozen=True, slots=True)
class Sampled:
    """One letter of a set with what its workflow was submitted with."""

    letter_id: UUID
    ref: str
    """The template without version: "namespace/name"."""
    gone: bool
    """True: its workflow is no longer there."""
    input: Any
    paused: bool
    identity_taken: bool
    """True: another workflow has its identity by now."""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Another redrive that has letters of a set before it."""

    redrive_id: UUID
    by: str
    state: str
    letters: int
    example: UUID


@dataclass(frozen=True, slots=True)
class Ended:
    """How requeued letters of a group ended."""

    succeeded: int
    failed: int


def kinds(connection: Connection, redrive_id: UUID, by: str) -> list[Kind]:
    """Return what a set consists of, the largest part first. Transaction: joins."""
    return read(Kind, connection.execute(sa.text(_KINDS), {"id": redrive_id, "by": by}))


def sample(connection: Connection, redrive_id: UUID, every: int) -> list[Sampled]:
    """Return every n-th letter of a set. Transaction: joins."""
    return read(Sampled, connection.execute(sa.text(_SAMPLE), {"id": redrive_id, "every": every}))


def requeues_ended(connection: Connection, groups: Sequence[UUID], newest: int) -> dict[UUID, Ended]:
    """Return how the newest requeued letters of each group ended, by hand or by redrive. Transaction: joins.

    A letter whose step failed again failed; one whose step is done succeeded; others are not counted.
    """
    rows = connection.execute(sa.text(_ENDED), {"groups": list(groups), "newest": newest}).all()
    return {row[0]: Ended(row[1], row[2]) for row in rows if row[1] or row[2]}


def elsewhere(connection: Connection, redrive_id: UUID) -> list[Elsewhere]:
    """Return which other redrives, begun and not over, have letters of this one before them.

    Transaction: joins.
    """
    return read(Elsewhere, connection.execute(sa.text(_ELSEWHERE), {"id": redrive_id}))


def newest_versions(connection: Connection) -> dict[tuple[str, str], str]:
    """Return the newest version of each template. Transaction: joins."""
    rows = connection.execute(
        sa.text(
            "select distinct on (namespace, name) namespace, name, version from remand.templates"
            " order by namespace, name, id desc"
        )
    )
    return {(row[0], row[1]): row[2] for row in rows}


def gated_steps(connection: Connection) -> dict[tuple[str, str, str, str], str]:
    """Return the steps, as (namespace, template, version, step), whose breaker holds work back: its name.

    Transaction: joins.
    """
    rows = connection.execute(
        sa.text(
            "select t.namespace, t.name, t.version, s.name, b.name from remand.breakers b"
            " join remand.template_steps s on s.dependency = b.name"
            " join remand.templates t on t.id = s.template_id"
            " where b.state <> 'closed' or b.releasing_since is not null"
        )
    )
    return {(row[0], row[1], row[2], row[3]): row[4] for row in rows}


def queues_at_rest(connection: Connection, queues: Sequence[str], alive_since: datetime) -> dict[str, str]:
    """Return which of the queues no worker takes work from now, and why. Transaction: joins."""
    rows = connection.execute(sa.text(_AT_REST), {"queues": list(queues), "since": alive_since})
    return {row[0]: row[1] for row in rows}


def paused_templates(connection: Connection) -> set[tuple[str, str]]:
    """Return the templates, as (namespace, name), that a person has paused. Transaction: joins."""
    rows = connection.execute(sa.text("select namespace, name from remand.template_pauses"))
    return {(row[0], row[1]) for row in rows}


_KINDS = """
with waiting as (
  select d.id, d.group_id, d.namespace, d.template, d.version, d.step, d.queue,
         d.closed_at is not null closed,
         d.closed_at is null and d.claimed_by is not null and d.claimed_by <> :by claimed
    from remand.redrive_items i join remand.dead_letters d on d.id = i.letter_id
   where i.redrive_id = :id and i.state = 'waiting')
select w.group_id, w.namespace, w.template, w.version, w.step, w.queue, count(*) letters,
       count(*) filter (where w.closed) closed, count(*) filter (where w.claimed) claimed,
       (array_agg(w.id))[1] example, (array_agg(w.id) filter (where w.claimed))[1] claimed_example,
       (array_agg(w.id) filter (where w.closed))[1] closed_example, min(g.error_class) error_class,
       min(g.message) message
  from waiting w join remand.dead_letter_groups g on g.id = w.group_id
 group by 1, 2, 3, 4, 5, 6 order by 7 desc, 1
"""
_SAMPLE = """
select d.id letter_id, d.namespace || '/' || d.template ref, f.id is null gone, f.input,
       f.paused_at is not null paused,
       f.identity_key is not null and exists (
         select from remand.identities y where y.namespace = d.namespace and y.name = d.template
            and y.key = f.identity_key and y.workflow_id <> f.id) identity_taken
  from remand.redrive_items i join remand.dead_letters d on d.id = i.letter_id
  left join remand.workflows f on f.id = d.workflow_id
 where i.redrive_id = :id and i.state = 'waiting' and i.position % :every = 0
"""
_ENDED = """
select g.id, count(*) filter (where x.done and not x.again), count(*) filter (where x.again)
  from unnest(cast(:groups as uuid[])) g(id), lateral (
    select exists (select from remand.dead_letters n where n.workflow_id = d.workflow_id and n.step = d.step
                      and n.opened_at >= d.closed_at and n.id <> d.id) again,
           (select s.state in ('complete', 'resolved_manually') from remand.steps s
             where s.workflow_id = d.workflow_id and s.name = d.step) done
      from (select l.id, l.workflow_id, l.step, l.closed_at from remand.dead_letters l
             where l.group_id = g.id and l.status = 'requeued' order by l.id desc limit :newest) d) x
 group by g.id
"""
_ELSEWHERE = """
with other as materialized (
  select redrive.id, redrive.started_by, redrive.state
    from remand.redrives redrive
   where redrive.id <> :id and redrive.state in ('pending', 'canary', 'running', 'paused', 'stopped'))
select found.id redrive_id, found.started_by as by, found.state, count(*) letters,
       (array_agg(item.letter_id order by item.position))[1] example
  from remand.redrive_items item
 cross join lateral (
  select other.*
    from other
    join remand.redrive_items its on its.redrive_id = other.id and its.letter_id = item.letter_id
   where its.state in ('waiting', 'sent')
   order by other.id
   limit 1) found
 where item.redrive_id = :id and item.state = 'waiting'
 group by 1, 2, 3
 order by 4 desc, 1
"""
_AT_REST = """
select q.name, case when p.queue is not null then format('queue %s is paused by %s', q.name, p.by)
                    else format('no live worker consumes queue %s', q.name) end
  from unnest(cast(:queues as text[])) q(name) left join remand.pauses p on p.queue = q.name
 where p.queue is not null
    or not exists (select from remand.workers w where w.stopped_at is null and w.heartbeat_at >= :since
                      and q.name = any(w.queues))
"""
