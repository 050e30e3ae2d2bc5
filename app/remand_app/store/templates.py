"""Published templates. A published version never changes, so a process may remember what it has read."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB, insert

from remand_app.domain.dag import children_of
from remand_app.domain.errors import Problem, TemplateChanged, TemplateInvalid, TemplateNotFound
from remand_app.domain.template import Template, content_hash, from_definition, to_definition
from remand_app.domain.template_reference import split_reference
from remand_app.store import dead_queues
from remand_app.store.database import Database
from remand_app.store.tables import template_steps, templates

_NEWEST_SECONDS = 1.0
_VERSION_CHARACTERS = 32


@dataclass(frozen=True, slots=True)
class PublishedTemplate:
    """A template as stored."""

    id: int
    template: Template
    hash: str
    created_at: datetime


class Templates:
    """Read and publish templates; a cache over the immutable rows."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._by_id: dict[int, PublishedTemplate] = {}
        self._by_ref: dict[tuple[str, str, str], PublishedTemplate] = {}
        self._newest: dict[str, tuple[float, PublishedTemplate]] = {}

    def publish(self, template: Template, *, replaces: bool = False) -> bool:
        """Store a template with its steps; return False when this very version is there already.

        `replaces`: where the version has another content, that is kept under another version, and its
        workflows go on with it. For development: processes remember what they have read, and must be started
        anew.

        Transaction: own. Idempotent: by content.

        Raises:
            TemplateChanged: the version exists with another content.
            TemplateInvalid: it names queues that will not do; see `problems`.
        """
        digest = content_hash(template)
        with self._database.begin() as connection:
            row = connection.execute(_insert(template, digest)).first()
            if row is not None:
                # Whoever creates or deletes dead queues waits for this transaction, or it waits for them.
                dead_queues.lock(connection, shared=True)
                problems = _queue_problems(connection, template)
                if problems:
                    raise TemplateInvalid(problems)
                connection.execute(sa.insert(template_steps), _step_rows(row.id, template))
                return True
            stored = connection.execute(
                _select_ref(template.namespace, template.name, template.version)
            ).one()
            if replaces and stored.hash != digest:
                _set_aside(connection, stored)
                new_id = connection.execute(_insert(template, digest)).one().id
                connection.execute(sa.insert(template_steps), _step_rows(new_id, template))
                return True
        if stored.hash != digest:
            raise TemplateChanged(
                f"template {template.ref} is published with another content",
                hint="a published version never changes: give the new content a new version",
                details={"template": template.ref},
            )
        return False

    def problems(self, template: Template) -> list[Problem]:
        """Return what keeps a template that is not stored yet from being published here. Transaction: own."""
        with self._database.begin() as connection:
            ref = template.namespace, template.name, template.version
            if connection.execute(_select_ref(*ref)).first() is not None:
                return []
            return _queue_problems(connection, template)

    def find(self, ref: str) -> PublishedTemplate:
        """Find by "namespace/name:version", or the newest of "namespace/name", or of "name" if that is clear.

        Raises:
            TemplateNotFound: nothing, or nothing unambiguous, has that name.
        """
        namespace, name, version = split_reference(ref)
        if namespace and version and (namespace, name, version) in self._by_ref:
            return self._by_ref[namespace, name, version]
        known = self._newest.get(ref)
        if known is not None and time.monotonic() < known[0]:
            return known[1]
        query = sa.select(templates).where(templates.c.name == name).order_by(templates.c.id.desc())
        if namespace:
            query = query.where(templates.c.namespace == namespace)
        if version:
            query = query.where(templates.c.version == version)
        with self._database.begin() as connection:
            rows = connection.execute(query).all()
        if len({row.namespace for row in rows}) != 1:
            raise _not_found(ref, [f"{row.namespace}/{row.name}" for row in rows])
        template = self._remember(rows[0])
        self._newest[ref] = (time.monotonic() + _NEWEST_SECONDS, template)
        return template

    def get(self, template_id: int, connection: sa.Connection | None = None) -> PublishedTemplate:
        """Return a template by its key. Transaction: joins that of `connection`, else own."""
        known = self._by_id.get(template_id)
        if known is not None:
            return known
        if connection is None:
            with self._database.begin() as own:
                return self.get(template_id, own)
        query = sa.select(templates).where(templates.c.id == template_id)
        return self._remember(connection.execute(query).one())

    def listed(self) -> list[PublishedTemplate]:
        """Return all templates, by name, newest version first. Transaction: own."""
        query = sa.select(templates).order_by(templates.c.namespace, templates.c.name, templates.c.id.desc())
        with self._database.begin() as connection:
            return [self._remember(row) for row in connection.execute(query)]

    def of_workflows(self, ids: Sequence[UUID]) -> dict[UUID, Template]:
        """Return the template of each workflow. Transaction: own."""
        rows = self._database.call(
            "select id, template_id from remand.workflows where id = any(%s::uuid[])", (list(ids),)
        )
        return {row[0]: self.get(row[1]).template for row in rows}

    def _remember(self, row: Any) -> PublishedTemplate:
        known = self._by_id.get(row.id)
        if known is None:
            known = PublishedTemplate(row.id, from_definition(row.definition), row.hash, row.created_at)
            self._by_id[row.id] = known
            self._by_ref[row.namespace, row.name, row.version] = known
        return known


def _queue_problems(connection: sa.Connection, template: Template) -> list[Problem]:
    problems = []
    named = template.dead_letters.queue
    if named is not None and not dead_queues.exists(connection, named):
        message = f"there is no dead queue {named!r}; make it with `remand dlq queue create {named}`"
        problems.append(Problem(template.ref, None, "dead_letters.queue", message, "unknown_dead_queue"))
    taken = dead_queues.dead_queues_among(connection, [step.queue for step in template.steps])
    for index, step in enumerate(template.steps):
        if step.queue in taken:
            message = f"{step.queue!r} is a dead queue: no step can run in it"
            problems.append(
                Problem(template.ref, None, f"steps[{index}].queue", message, "dead_queue_of_step")
            )
    return problems


def _insert(template: Template, digest: str) -> Any:
    return (
        insert(templates)
        .values(
            namespace=template.namespace,
            name=template.name,
            version=template.version,
            definition=to_definition(template),
            hash=digest,
            on_failure=template.on_failure,
            expire_after_seconds=template.expire_after_seconds,
            lifecycle=template.lifecycle.model_dump(exclude_none=True),
            created_at=sa.func.clock_timestamp(),
        )
        .on_conflict_do_nothing()
        .returning(templates.c.id)
    )


def _set_aside(connection: sa.Connection, stored: Any) -> None:
    """Give a stored template another version, "<version>+<its id>", so that the old version is free."""
    tail = f"+{stored.id}"
    version = stored.version[: _VERSION_CHARACTERS - len(tail)] + tail
    definition = {**stored.definition, "version": version}
    connection.execute(
        sa.update(templates)
        .where(templates.c.id == stored.id)
        .values(version=version, definition=definition, hash=content_hash(from_definition(definition)))
    )


def _step_rows(template_id: int, template: Template) -> list[dict[str, Any]]:
    children = children_of({step.name: step.depends_on for step in template.steps})
    return [
        {
            "template_id": template_id,
            "name": step.name,
            "position": position,
            "handler": step.handler,
            "dependency": step.watched,
            "queue": step.queue,
            "priority": step.priority,
            "timeout_seconds": step.timeout_seconds,
            "commit_each": step.commit == "each",
            "input": (JSONB.NULL if step.input is None else step.input) if step.has_input else None,
            "depends_on": list(step.depends_on),
            "children": list(children[step.name]),
            "after": None if step.after == "success" else step.after,
        }
        for position, step in enumerate(template.steps)
    ]


def _select_ref(namespace: str, name: str, version: str) -> Any:
    return sa.select(templates).where(
        templates.c.namespace == namespace, templates.c.name == name, templates.c.version == version
    )


def _not_found(ref: str, candidates: Iterable[str]) -> TemplateNotFound:
    several = sorted(set(candidates))
    if several:
        return TemplateNotFound(
            f"template {ref!r} is ambiguous: {', '.join(several)}", hint="name it as namespace/name"
        )
    return TemplateNotFound(
        f"no template {ref!r} is published",
        hint="see `remand template list`; publish one with `remand template publish FILE`",
    )
