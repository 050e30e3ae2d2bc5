"""The letters of a planned redrive: their kinds, how requeues of each cause ended, a sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from remand_app.store.database import Connection
from remand_app.store.rows import read


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
            """
            select distinct on (namespace, name) namespace, name, version
              from remand.templates
             order by namespace, name, id desc
            """
        )
    )
    return {(row[0], row[1]): row[2] for row in rows}


def gated_steps(connection: Connection) -> dict[tuple[str, str, str, str], str]:
    """Return the steps, as (namespace, template, version, step), whose breaker holds work back: its name.

    Transaction: joins.
    """
    rows = connection.execute(
        sa.text(
            """
            select template.namespace, template.name, template.version, step.name, breaker.name
              from remand.breakers breaker
              join remand.template_steps step on step.dependency = breaker.name
              join remand.templates template on template.id = step.template_id
             where breaker.state <> 'closed'
                or breaker.releasing_since is not null
            """
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
  select letter.id, letter.group_id, letter.namespace, letter.template, letter.version, letter.step,
         letter.queue,
         letter.closed_at is not null as closed,
         letter.closed_at is null and letter.claimed_by is not null and letter.claimed_by <> :by as claimed
    from remand.redrive_items item
    join remand.dead_letters letter on letter.id = item.letter_id
   where item.redrive_id = :id
     and item.state = 'waiting')
select waiting.group_id, waiting.namespace, waiting.template, waiting.version, waiting.step, waiting.queue,
       count(*) as letters,
       count(*) filter (where waiting.closed) as closed,
       count(*) filter (where waiting.claimed) as claimed,
       (array_agg(waiting.id))[1] as example,
       (array_agg(waiting.id) filter (where waiting.claimed))[1] as claimed_example,
       (array_agg(waiting.id) filter (where waiting.closed))[1] as closed_example,
       min(letter_group.error_class) as error_class,
       min(letter_group.message) as message
  from waiting
  join remand.dead_letter_groups letter_group on letter_group.id = waiting.group_id
 group by 1, 2, 3, 4, 5, 6
 order by 7 desc, 1
"""
_SAMPLE = """
select letter.id as letter_id,
       letter.namespace || '/' || letter.template as ref,
       workflow.id is null as gone,
       workflow.input,
       workflow.paused_at is not null as paused,
       workflow.identity_key is not null and exists (
         select
           from remand.identities identity
          where identity.namespace = letter.namespace
            and identity.name = letter.template
            and identity.key = workflow.identity_key
            and identity.workflow_id <> workflow.id) as identity_taken
  from remand.redrive_items item
  join remand.dead_letters letter on letter.id = item.letter_id
  left join remand.workflows workflow on workflow.id = letter.workflow_id
 where item.redrive_id = :id
   and item.state = 'waiting'
   and item.position % :every = 0
"""
_ENDED = """
select asked.id,
       count(*) filter (where ending.done and not ending.again),
       count(*) filter (where ending.again)
  from unnest(cast(:groups as uuid[])) asked(id),
       lateral (select letter.id, letter.workflow_id, letter.step, letter.closed_at
                  from remand.dead_letters letter
                 where letter.group_id = asked.id
                   and letter.status = 'requeued'
                 order by letter.id desc
                 limit :newest) requeued,
       lateral (select exists (select
                                 from remand.dead_letters later
                                where later.workflow_id = requeued.workflow_id
                                  and later.step = requeued.step
                                  and later.opened_at >= requeued.closed_at
                                  and later.id <> requeued.id) as again,
                       (select step.state in ('complete', 'resolved_manually')
                          from remand.steps step
                         where step.workflow_id = requeued.workflow_id
                           and step.name = requeued.step) as done) ending
 group by asked.id
"""
_ELSEWHERE = """
with other as materialized (
  select redrive.id, redrive.started_by, redrive.state
    from remand.redrives redrive
   where redrive.id <> :id
     and redrive.state in ('pending', 'canary', 'running', 'paused', 'stopped'))
select first.id as redrive_id, first.started_by as by, first.state, count(*) as letters,
       (array_agg(item.letter_id order by item.position))[1] as example
  from remand.redrive_items item
 cross join lateral (
   select other.*
     from other
     join remand.redrive_items theirs
       on theirs.redrive_id = other.id
      and theirs.letter_id = item.letter_id
    where theirs.state in ('waiting', 'sent')
    order by other.id
    limit 1) first
 where item.redrive_id = :id
   and item.state = 'waiting'
 group by 1, 2, 3
 order by 4 desc, 1
"""
_AT_REST = """
select asked.name,
       case when pause.queue is not null then format('queue %s is paused by %s', asked.name, pause.by)
            else format('no live worker consumes queue %s', asked.name)
       end
  from unnest(cast(:queues as text[])) asked(name)
  left join remand.pauses pause on pause.queue = asked.name
 where pause.queue is not null
    or not exists (
         select
           from remand.workers worker
          where worker.stopped_at is null
            and worker.heartbeat_at >= :since
            and asked.name = any(worker.queues))
"""
