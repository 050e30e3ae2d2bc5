"""Counts of groups of dead letters: letters by hour and by status, the share of workflows that they hit."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

import sqlalchemy as sa

from remand_app.store.database import Database
from remand_app.store.groups import Group
from remand_app.store.ids import first_id_at
from remand_app.store.tables import dead_letters

_FOLDED = 5000
HOURS = 24
"""Hours of a trend."""
# A letter is younger than its workflow: ids bound the scan of the group's letters, too.
_HIT = """
with looked as materialized (
  select workflow.id, workflow.template_id
    from remand.workflows workflow
   where workflow.id >= %(since)s
   order by workflow.id desc
   limit %(at_most)s),
edge as (
  select looked.id
    from looked
   order by looked.id
   limit 1)
select (select count(*)
          from looked
         where looked.template_id in (
                 select template.id
                   from remand.templates template
                  where template.namespace = %(namespace)s
                    and template.name = %(template)s)),
       (select count(*)
          from (select
                  from remand.dead_letters letter, edge
                 where letter.group_id = %(group)s
                   and letter.id > edge.id
                   and letter.workflow_id >= edge.id
                 limit %(at_most)s) hit)
"""


def fold(database: Database) -> None:
    """Count every change of letters not counted yet. Transaction: one for each 5 000. Idempotent."""
    while database.call("select remand.aggregate_letter_counts(%s)", (_FOLDED,))[0][0] == _FOLDED:
        pass


def trends(database: Database, ids: Sequence[UUID], now: datetime) -> dict[UUID, list[int]]:
    """Return the letters of each group by hour, the last 24 hours, oldest first. Transaction: own."""
    last = now.replace(minute=0, second=0, microsecond=0)
    first = last - timedelta(hours=HOURS - 1)
    rows = database.call(
        """
        select group_id, array_agg((extract(epoch from hour - %s) / 3600)::int), array_agg(opened)
          from remand.dead_letter_hours
         where group_id = any(%s::uuid[])
           and hour between %s and %s
         group by 1
        """,
        (first, list(ids), first, last),
    )
    counted = {group_id: [0] * HOURS for group_id in ids}
    for group_id, places, opened in rows:
        for place, letters in zip(places, opened, strict=True):
            counted[group_id][place] = letters
    return counted


def statuses_of(database: Database, group_id: UUID, at_most: int) -> dict[str, int]:
    """Count the newest `at_most` letters of a group by status. Transaction: own."""
    rows = database.call(
        """
        select newest.status, count(*)
          from (select status
                  from remand.dead_letters
                 where group_id = %s
                 order by id desc
                 limit %s) newest
         group by newest.status
        """,
        (group_id, at_most),
    )
    return {row[0]: row[1] for row in rows}


def open_letters_of(connection: sa.Connection, group_id: UUID, at_most: int) -> int:
    """Count the open letters of a group, as they are now, up to `at_most`. Transaction: joins."""
    some = (
        sa.select(sa.literal(1))
        .select_from(dead_letters)
        .where(
            dead_letters.c.group_id == group_id,
            sa.text("dead_letters.status in ('pending', 'investigating')"),
        )
        .limit(at_most)
    )
    return int(connection.scalar(sa.select(sa.func.count()).select_from(some.subquery())) or 0)


def hit_share(database: Database, group: Group, since: datetime, at_most: int) -> float | None:
    """Return which share of the template's workflows came into a group, all its versions; None: it had none.

    Looks at the workflows submitted since then, the newest `at_most` of all templates. Transaction: own.
    """
    with database.cursor() as cursor:
        cursor.execute(
            _HIT,
            {
                "since": first_id_at(since),
                "at_most": at_most,
                "namespace": group.namespace,
                "template": group.template,
                "group": group.id,
            },
        )
        [(of_template, hit)] = cursor.fetchall()
    return min(1.0, hit / of_template) if of_template else None
