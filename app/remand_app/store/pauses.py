"""Paused queues, workflows and templates: what is in them waits, what runs ends, nothing is lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from remand_app.store.database import Database
from remand_app.store.rows import read
from remand_app.store.tables import pauses as table
from remand_app.store.tables import queue_service, template_pauses


@dataclass(frozen=True, slots=True)
class Pause:
    """A paused queue."""

    queue: str
    since: datetime
    by: str
    reason: str | None


def pause(connection: sa.Connection, queue: str, *, by: str, reason: str | None, now: datetime) -> bool:
    """Pause a queue; False if it is paused already. Transaction: joins. Idempotent."""
    row = connection.execute(
        insert(table)
        .values(queue=queue, since=now, by=by, reason=reason)
        .on_conflict_do_nothing()
        .returning(table.c.queue)
    )
    return row.first() is not None


def resume(connection: sa.Connection, queue: str, now: datetime) -> Pause | None:
    """End the pause of a queue and return it; None if it is not paused. Transaction: joins. Idempotent.

    The age of work that waits in the queue counts from `now`.
    """
    ended = read(
        Pause,
        connection.execute(
            sa.delete(table)
            .where(table.c.queue == queue)
            .returning(table.c.queue, table.c.since, table.c.by, table.c.reason)
        ),
    )
    if not ended:
        return None
    connection.execute(
        insert(queue_service)
        .values(queue=queue, resumed_at=now)
        .on_conflict_do_update(index_elements=["queue"], set_={"resumed_at": now})
    )
    return ended[0]


def pauses(database: Database) -> list[Pause]:
    """Return the paused queues by name. Transaction: own."""
    return database.read(Pause, "select queue, since, by, reason from remand.pauses order by queue")


@dataclass(frozen=True, slots=True)
class TemplatePause:
    """A paused template: all its versions."""

    namespace: str
    name: str
    since: datetime
    by: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class Resumed:
    """Workflows that go on, and the queues that got work."""

    ids: tuple[UUID, ...]
    queues: tuple[str, ...]


def pause_workflows(
    connection: sa.Connection,
    ids: Sequence[UUID],
    *,
    by: str,
    reason: str | None,
    now: datetime | None,
    with_template: bool = False,
) -> list[UUID]:
    """Hold workflows; return those that were not held before. Transaction: joins. Idempotent."""
    rows = connection.execute(
        sa.text("select * from remand.pause_workflows(:ids, :by, :reason, :with_template, :now)"),
        {"ids": list(ids), "by": by, "reason": reason, "with_template": with_template, "now": now},
    )
    return [row[0] for row in rows]


def resume_workflows(
    connection: sa.Connection,
    ids: Sequence[UUID],
    *,
    by: str,
    reason: str | None,
    now: datetime | None,
    with_template: bool = False,
) -> Resumed:
    """Let held workflows go on, or only those held with their template. Transaction: joins. Idempotent."""
    rows = connection.execute(
        sa.text("select kind, id, queue from remand.resume_workflows(:ids, :by, :reason, :with, :now)"),
        {"ids": list(ids), "by": by, "reason": reason, "with": with_template, "now": now},
    ).all()
    ids_of = tuple(row[1] for row in rows if row[0] == "resumed")
    return Resumed(ids_of, tuple(row[2] for row in rows if row[0] == "ring"))


def withdraw_paused(database: Database, limit: int, now: datetime | None) -> int:
    """Withdraw steps of paused workflows that came back to the queue; return how many. Transaction: own."""
    return int(database.call("select remand.withdraw_paused(null, %s, %s)", (limit, now))[0][0])


def lock_template(connection: sa.Connection, namespace: str, name: str, *, shared: bool) -> None:
    """Wait until nobody submits to a template, pauses or resumes it; shared: only for the latter two.

    Transaction: joins; let go at its end.
    """
    kind = "_shared" if shared else ""
    connection.execute(
        sa.text(f"select pg_advisory_xact_lock{kind}(hashtextextended(:key, 0))"),
        {"key": f"remand.pause {namespace}/{name}"},
    )


def add_template_pause(connection: sa.Connection, pause_: TemplatePause) -> bool:
    """Pause a template; False if it is paused already. Transaction: joins; the template is locked."""
    values = {name: getattr(pause_, name) for name in TemplatePause.__slots__}
    row = connection.execute(
        insert(template_pauses).values(**values).on_conflict_do_nothing().returning(template_pauses.c.name)
    )
    return row.first() is not None


def end_template_pause(connection: sa.Connection, namespace: str, name: str) -> TemplatePause | None:
    """End a template's pause and return it; None if there is none. Transaction: joins; it is locked."""
    columns = [template_pauses.c[column] for column in TemplatePause.__slots__]
    ended = connection.execute(
        sa.delete(template_pauses)
        .where(template_pauses.c.namespace == namespace, template_pauses.c.name == name)
        .returning(*columns)
    )
    return next(iter(read(TemplatePause, ended)), None)


def template_pause(connection: sa.Connection, namespace: str, name: str) -> TemplatePause | None:
    """Return a template's pause; None if it is not paused. Transaction: joins."""
    columns = [template_pauses.c[column] for column in TemplatePause.__slots__]
    pauses_ = connection.execute(
        sa.select(*columns).where(template_pauses.c.namespace == namespace, template_pauses.c.name == name)
    )
    return next(iter(read(TemplatePause, pauses_)), None)


def paused_templates(database: Database) -> list[TemplatePause]:
    """Return the paused templates by name. Transaction: own."""
    return database.read(
        TemplatePause,
        "select namespace, name, since, by, reason from remand.template_pauses order by namespace, name",
    )


def live_workflows_of(database: Database, namespace: str, name: str, *, paused: bool) -> list[UUID]:
    """Return the workflows of a template that have not ended, held with it or not held. Transaction: own."""
    held = "and workflow.paused_with_template" if paused else ""
    rows = database.call(
        f"""
        select workflow.id
          from remand.workflows workflow
          join remand.templates template on template.id = workflow.template_id
         where template.namespace = %s
           and template.name = %s
           and workflow.paused_at is {"not null" if paused else "null"} {held}
           and workflow.state not in ('complete', 'error', 'cancelled', 'resolved_manually')
         order by workflow.id
        """,
        (namespace, name),
    )
    return [row[0] for row in rows]
