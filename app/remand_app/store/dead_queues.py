"""Dead queues, which hold dead letters, and the settings of plain queues.

Code that changes names holds `lock`, so that rules between names of both kinds still hold at commit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from remand_app.store.database import Connection, Database
from remand_app.store.tables import dead_letters, dead_queues, queue_settings, template_steps

_LOCK = "hashtextextended('remand.dead_queues', 0)"
_PLACES = sa.text("""
select wanted.place, dead_queue.name
  from unnest(cast(:queues as text[]), cast(:named as text[]))
         with ordinality wanted(queue, named, place)
  left join remand.queue_settings setting on setting.queue = wanted.queue
  join remand.dead_queues dead_queue
    on dead_queue.name = coalesce(wanted.named, setting.dead_queue, :otherwise)
 order by dead_queue.name
   for key share of dead_queue
""")
_LISTED = """
select dead_queue.name, dead_queue.description, dead_queue.size_limit, dead_queue.created_at,
       dead_queue.created_by,
       array(select setting.queue
               from remand.queue_settings setting
              where setting.dead_queue = dead_queue.name
              order by 1) as queues,
       (select count(*)
          from remand.dead_letters letter
         where letter.dead_queue = dead_queue.name
           and letter.status in ('pending', 'investigating')) as open
  from remand.dead_queues dead_queue
 where %(name)s::text is null
    or dead_queue.name = %(name)s
 order by dead_queue.name
"""
# The newest version of each template: what is submitted without a version.
_NAMED_BY = sa.text("""
select newest.namespace || '/' || newest.name || ':' || newest.version
  from (select distinct on (template.namespace, template.name) template.*
          from remand.templates template
         order by template.namespace, template.name, template.id desc) newest
 where newest.definition #>> '{dead_letters,queue}' = :name
 order by 1
""")


@dataclass(frozen=True, slots=True)
class DeadQueue:
    """A dead queue as stored, with the plain queues that point to it."""

    name: str
    description: str
    size_limit: int | None
    """None: the setting."""
    created_at: datetime
    created_by: str
    queues: list[str]
    open: int
    """Open letters in it."""


def lock(connection: Connection, *, shared: bool = False) -> None:
    """Keep others from changing dead queues' names (not shared: from publishing, too). Transaction: joins."""
    kind = "_shared" if shared else ""
    connection.execute(sa.text(f"select pg_advisory_xact_lock{kind}({_LOCK})"))


def listed(database: Database, name: str | None = None) -> list[DeadQueue]:
    """Return the dead queues by name, or the one of that name. Transaction: own."""
    return database.read(DeadQueue, _LISTED, {"name": name})


def exists(connection: Connection, name: str) -> bool:
    """Whether there is such a dead queue. Transaction: joins."""
    return connection.scalar(sa.select(sa.exists().where(dead_queues.c.name == name))) is True


def step_queues_among(connection: Connection, names: Sequence[str]) -> list[str]:
    """Return the given names that are queues of steps of published templates. Transaction: joins."""
    query = sa.select(template_steps.c.queue).where(template_steps.c.queue.in_(names)).distinct()
    return sorted(connection.scalars(query))


def dead_queues_among(connection: Connection, names: Sequence[str]) -> list[str]:
    """Return the given names that are names of dead queues. Transaction: joins."""
    return sorted(connection.scalars(sa.select(dead_queues.c.name).where(dead_queues.c.name.in_(names))))


def setting_of(connection: Connection, queue: str) -> str | None:
    """Return the dead queue that a plain queue points to, None: none is set. Transaction: joins."""
    query = sa.select(queue_settings.c.dead_queue).where(queue_settings.c.queue == queue)
    return connection.scalar(query)


def create(
    connection: Connection, name: str, *, description: str, size_limit: int | None, by: str, now: datetime
) -> None:
    """Make a dead queue. Transaction: joins."""
    values = {"description": description, "size_limit": size_limit, "created_at": now, "created_by": by}
    connection.execute(sa.insert(dead_queues).values(name=name, **values))


def locked(connection: Connection, name: str) -> tuple[str, int | None] | None:
    """Lock a dead queue and return description and limit; None: there is none. Transaction: joins.

    Transactions that open letters in it wait for this lock, or this call waits for them.
    """
    columns = dead_queues.c
    query = sa.select(columns.description, columns.size_limit).where(columns.name == name).with_for_update()
    row = connection.execute(query).first()
    return None if row is None else (row.description, row.size_limit)


def change(connection: Connection, name: str, **values: Any) -> None:
    """Change columns of a dead queue. Transaction: joins."""
    connection.execute(sa.update(dead_queues).where(dead_queues.c.name == name).values(**values))


def delete(connection: Connection, name: str) -> None:
    """Delete a dead queue that holds nothing and that nothing points to. Transaction: joins."""
    connection.execute(sa.delete(dead_queues).where(dead_queues.c.name == name))


def point(connection: Connection, queue: str, dead_queue: str | None, *, by: str, now: datetime) -> None:
    """Send letters of a plain queue to a dead queue; None: to the default one. Transaction: joins."""
    values = {"dead_queue": dead_queue, "at": now, "by": by}
    statement = insert(queue_settings).values(queue=queue, **values)
    connection.execute(statement.on_conflict_do_update(index_elements=["queue"], set_=values))


def expiry_of(connection: Connection, queue: str) -> float | None:
    """Return the age in seconds at which workflows of a plain queue expire, None if none is set.

    Transaction: joins; the row is locked.
    """
    query = sa.select(queue_settings.c.expire_after_seconds).where(queue_settings.c.queue == queue)
    seconds: float | None = connection.scalar(query.with_for_update())
    return seconds


def let_expire(connection: Connection, queue: str, seconds: float | None, *, by: str, now: datetime) -> None:
    """Set the age at which workflows that begin in a plain queue expire; None: never. Transaction: joins."""
    values = {"expire_after_seconds": seconds, "at": now, "by": by}
    statement = insert(queue_settings).values(queue=queue, **values)
    connection.execute(statement.on_conflict_do_update(index_elements=["queue"], set_=values))


def held_letters(connection: Connection, name: str) -> int:
    """Return how many letters lie there, closed ones included. Transaction: joins."""
    query = sa.select(sa.func.count()).select_from(dead_letters).where(dead_letters.c.dead_queue == name)
    return connection.scalar(query) or 0


def move_letters(connection: Connection, name: str, target: str) -> int:
    """Move every letter, and every queue that points there, to another dead queue. Transaction: joins.

    Letters are locked in order of id, as everywhere.
    """
    columns = dead_letters.c
    ids = sa.select(columns.id).where(columns.dead_queue == name).order_by(columns.id).with_for_update()
    moved = connection.execute(ids).rowcount
    connection.execute(sa.update(dead_letters).where(columns.dead_queue == name).values(dead_queue=target))
    settings = queue_settings.c
    connection.execute(sa.update(queue_settings).where(settings.dead_queue == name).values(dead_queue=target))
    return moved


def pointing_queues(connection: Connection, name: str) -> list[str]:
    """Return the plain queues whose letters go there. Transaction: joins."""
    query = sa.select(queue_settings.c.queue).where(queue_settings.c.dead_queue == name)
    return sorted(connection.scalars(query))


def naming_templates(connection: Connection, name: str) -> list[str]:
    """Return the templates whose newest version names it. Transaction: joins."""
    return list(connection.scalars(_NAMED_BY, {"name": name}))


def places(connection: Connection, wanted: Sequence[tuple[str | None, str]], otherwise: str) -> list[str]:
    """Return the dead queue of each (named by the template, queue of the step).

    It is the template's, else the queue's, else `otherwise`, which also replaces a deleted dead queue. The
    returned queues cannot be deleted before the transaction ends.
    Transaction: joins.
    """
    arguments = {
        "queues": [queue for _, queue in wanted],
        "named": [named for named, _ in wanted],
        "otherwise": otherwise,
    }
    names = {row.place: row.name for row in connection.execute(_PLACES, arguments)}
    return [names.get(place, otherwise) for place in range(1, len(wanted) + 1)]
