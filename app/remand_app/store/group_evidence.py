"""What happened around a group of dead letters: deploys, hosts, inputs, breakers. Bounded reads."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from remand_app.store.database import Database

SAMPLE = 200


@dataclass(frozen=True, slots=True)
class Deploy:
    """A version of the handlers that workers came up with for the first time."""

    version: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Opening:
    """A breaker that opened."""

    name: str
    at: datetime
    reason: str | None


def deploys(database: Database, earliest: datetime, latest: datetime) -> list[Deploy]:
    """Return versions first seen between two instants, if others were seen before. Transaction: own."""
    return database.read(
        Deploy,
        """
        with seen as (
          select coalesce(worker.code_version, worker.version) as version, min(worker.started_at) as since
            from remand.workers worker
           where worker.started_at <= %s
           group by 1)
        select seen.version, seen.since
          from seen
         where seen.since >= %s
           and exists (select from seen earlier where earlier.since < %s)
         order by seen.since desc
         limit 3
        """,
        (latest, earliest, earliest),
    )


def hosts(database: Database, group_id: UUID) -> dict[str, int]:
    """Count the newest letters of a group by the host of their last worker; "": none. Transaction: own."""
    rows = database.call(
        """
        select split_part(newest.worker, '@', 2), count(*)
          from (select worker
                  from remand.dead_letters
                 where group_id = %s
                 order by id desc
                 limit %s) newest
         group by 1
         order by 2 desc
        """,
        (group_id, SAMPLE),
    )
    return {row[0]: row[1] for row in rows}


def other_hosts(database: Database, queue: str, host: str) -> list[str]:
    """Return the hosts of live workers of a queue, except the given host. Transaction: own."""
    rows = database.call(
        """
        select distinct split_part(hostname, '@', 2)
          from remand.workers
         where stopped_at is null
           and %s = any(queues)
           and split_part(hostname, '@', 2) <> %s
         order by 1
        """,
        (queue, host),
    )
    return [row[0] for row in rows]


def inputs_of_letters(database: Database, group_id: UUID) -> list[Any]:
    """Return the inputs, as snapshots have them, of the newest letters of a group. Transaction: own."""
    rows = database.call(
        """
        select newest.snapshot -> 'workflow' -> 'input'
          from (select snapshot
                  from remand.dead_letters
                 where group_id = %s
                 order by id desc
                 limit %s) newest
        """,
        (group_id, SAMPLE),
    )
    return [row[0] for row in rows]


def inputs_that_went_well(database: Database, namespace: str, template: str) -> list[Any]:
    """Return inputs of complete workflows of a template, among the newest 5 000 rows. Transaction: own."""
    rows = database.call(
        """
        select newest.input
          from (select input, state, template_id
                  from remand.workflows
                 order by id desc
                 limit 5000) newest
         where newest.state = 'complete'
           and newest.template_id in (
                 select id
                   from remand.templates
                  where namespace = %s
                    and name = %s)
         limit %s
        """,
        (namespace, template, SAMPLE),
    )
    return [row[0] for row in rows]


def openings(
    database: Database, handler: str, step: str, earliest: datetime, latest: datetime
) -> list[Opening]:
    """Return openings of the breakers that apply to a step, between two instants. Transaction: own."""
    return database.read(
        Opening,
        """
        select move.name, move.at, move.reason
          from remand.breaker_moves move
         where move.to_state = 'open'
           and move.at between %s and %s
           and move.name in (
                 select dependency
                   from remand.template_steps
                  where handler = %s
                    and name = %s)
         order by move.at desc
         limit 3
        """,
        (earliest, latest, handler, step),
    )
