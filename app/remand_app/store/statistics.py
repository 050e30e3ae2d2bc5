"""Statistics of dead letters; counts are folded before they are read, so they are exact."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from remand_app.store.database import Database

DIMENSIONS = ("reason", "category", "policy", "status", "template", "namespace", "dead_queue")
_OPEN = "status in ('pending', 'investigating')"
_BY = """
select {column} as name,
       coalesce(sum(now) filter (where {open}), 0)::bigint as open,
       sum(now)::bigint as now,
       coalesce(sum(ever) filter (where status = 'pending'), 0)::bigint as ever,
       coalesce(sum(ever) filter (where not {open}), 0)::bigint as closed,
       sum(closed_seconds) / nullif(sum(ever) filter (where not {open}), 0) as mean_seconds_to_close
  from remand.dead_letter_counts
 where (%(namespace)s::text is null or namespace = %(namespace)s)
 group by 1
 order by 2 desc, 3 desc, 1
 limit 50
"""
_STATUS = """
select status as name,
       sum(now)::bigint as open,
       sum(now)::bigint as now,
       sum(ever)::bigint as ever,
       coalesce(sum(ever) filter (where not {open}), 0)::bigint as closed,
       sum(closed_seconds) / nullif(sum(ever) filter (where not {open}), 0) as mean_seconds_to_close
  from remand.dead_letter_counts
 where (%(namespace)s::text is null or namespace = %(namespace)s)
 group by 1
 order by 2 desc, 1
"""


@dataclass(frozen=True, slots=True)
class Count:
    """Letters that have one thing in common."""

    name: str
    open: int
    """Letters open now; for a status: those in it now."""
    now: int
    """Kept now, closed ones included."""
    ever: int
    """Letters ever opened; for a status: how often a letter entered it."""
    closed: int
    """Times that one was closed."""
    mean_seconds_to_close: float | None
    """From opened to closed; None: none was closed."""


@dataclass(frozen=True, slots=True)
class Held:
    """What a dead queue holds."""

    name: str
    description: str
    open: int
    own_limit: int | None


def counted(database: Database, dimension: str, namespace: str | None = None) -> list[Count]:
    """Count letters by a dimension, the largest first, at most 50 values. Transaction: own."""
    if dimension not in DIMENSIONS:
        raise ValueError(f"letters are not counted by {dimension!r}")
    column = "namespace || '/' || template" if dimension == "template" else dimension
    sql = (_STATUS if dimension == "status" else _BY).format(column=column, open=_OPEN)
    return database.read(Count, sql, {"namespace": namespace})


def held(database: Database) -> list[Held]:
    """Return the dead queues with what they hold, by name. Transaction: own."""
    return database.read(
        Held,
        f"""
        select dead_queue.name, dead_queue.description, dead_queue.size_limit as own_limit,
               coalesce((select sum(counted.now)
                           from remand.dead_letter_counts counted
                          where counted.dead_queue = dead_queue.name
                            and counted.{_OPEN}), 0)::bigint as open
          from remand.dead_queues dead_queue
         order by dead_queue.name
        """,
    )


def oldest_open(database: Database, namespace: str | None = None) -> datetime | None:
    """Return when the oldest open letter was opened, None if none is open. Transaction: own.

    Cost: one look for each template that has open letters.
    """
    rows = database.call(
        f"""
        select min((select letter.opened_at
                      from remand.dead_letters letter
                     where letter.{_OPEN}
                       and letter.namespace = counted.namespace
                       and letter.template = counted.template
                     order by letter.id
                     limit 1))
          from (select namespace, template
                  from remand.dead_letter_counts
                 where now > 0
                   and {_OPEN}
                   and (%s::text is null or namespace = %s)
                 group by 1, 2) counted
        """,
        (namespace, namespace),
    )
    oldest: datetime | None = rows[0][0]
    return oldest


def opened_by_hour(
    database: Database, since: datetime, namespace: str | None = None
) -> list[tuple[datetime, int]]:
    """Return how many letters were opened in each hour since then, oldest first. Transaction: own."""
    rows = database.call(
        """
        select hour.hour, sum(hour.opened)::int
          from remand.dead_letter_hours hour
         where hour.hour >= %s
           and (%s::text is null or hour.group_id in (
                  select letter_group.id
                    from remand.dead_letter_groups letter_group
                   where letter_group.namespace = %s))
         group by 1
         order by 1
        """,
        (since, namespace, namespace),
    )
    return [(row[0], row[1]) for row in rows]
