"""Workflows: written by one function call, read as values."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from remand_app.clock import Clock
from remand_app.domain.errors import WorkflowArchived, WorkflowNotFound
from remand_app.domain.states import WorkflowState
from remand_app.store.arrays import plain, texts
from remand_app.store.database import Database
from remand_app.store.ids import find_id
from remand_app.store.rows import read

_FRESH_HOURS = 12
"""Age of an id below which its workflow cannot be archived yet: nothing is archived within a day."""
_SUBMIT = """
select workflow_id, created
  from remand.submit_v2(%s, %s::uuid[], %s::text[]::jsonb[], %s::text[], %s::smallint[], %s, %s, %s,
                        %s::text[]::jsonb[])
 order by ordinal
"""
_COLUMNS = """
       workflow.id, template.namespace, template.name, template.version, workflow.state, workflow.state_since,
       workflow.created_at, workflow.priority, workflow.input, workflow.submitted_by, workflow.open_steps,
       workflow.error_steps, workflow.hold, workflow.template_id,
       array(select distinct queued.dependency
               from remand.run_queue queued
              where queued.workflow_id = workflow.id
                and queued.gate = 'held'
              order by 1),
       workflow.paused_at, workflow.paused_by, workflow.pause_reason, workflow.tags
  from remand.workflows workflow
  join remand.templates template on template.id = workflow.template_id
"""
_ARCHIVED_COLUMNS = _COLUMNS.replace("remand.workflows workflow", "remand.workflows_archive workflow")


@dataclass(frozen=True, slots=True)
class NewWorkflow:
    """A workflow to be stored: validated input as JSON text, identity key or None."""

    id: UUID
    input: str
    key: str | None
    priority: int
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Submitted:
    """What a submit answered: `created` is False when the identity, or the id, was there already."""

    workflow_id: UUID
    created: bool


@dataclass(frozen=True, slots=True)
class Workflow:
    """A workflow as stored."""

    id: UUID
    namespace: str
    name: str
    version: str
    state: WorkflowState
    state_since: datetime
    created_at: datetime
    priority: int
    input: Any
    submitted_by: str
    open_steps: int
    error_steps: int
    hold: str | None
    template_id: int
    held_by: list[str]
    """The breakers that keep steps of it back."""
    paused_at: datetime | None = None
    """Since when a person holds it; None: nobody does."""
    paused_by: str | None = None
    pause_reason: str | None = None
    tags: list[str] | None = None
    """Words of its submitter, to find it by."""
    is_archived: bool = False
    """It is in the archive: to be looked at, and restored before it is changed."""

    @property
    def ref(self) -> str:
        """The template, "namespace/name:version"."""
        return f"{self.namespace}/{self.name}:{self.version}"


@dataclass(frozen=True, slots=True)
class Move:
    """One move of a workflow (`step` is None) or of one of its steps."""

    seq: int
    kind: str
    step: str | None
    from_state: str
    event: str
    to_state: str
    at: datetime
    by: str
    reason: str | None


def insert_workflows(
    database: Database, clock: Clock, template_id: int, new: Sequence[NewWorkflow], *, by: str
) -> list[Submitted]:
    """Store workflows of one template, all or nothing; one answer each, in order. Transaction: own.

    Idempotent: by id and by identity key.
    """
    return database.read(Submitted, _SUBMIT, submit_arguments(template_id, new, by, clock))


def insert_workflow(
    connection: sa.Connection, clock: Clock, template_id: int, new: NewWorkflow, *, by: str
) -> Submitted:
    """Store a workflow. Transaction: joins. Idempotent: by id and by identity key."""
    [submitted] = read(
        Submitted, connection.exec_driver_sql(_SUBMIT, submit_arguments(template_id, [new], by, clock))
    )
    return submitted


def submit_arguments(template_id: int, new: Sequence[NewWorkflow], by: str, clock: Clock) -> tuple[Any, ...]:
    """Return the arguments of the SQL function `remand.submit_v2`."""
    return (
        template_id,
        plain(workflow.id for workflow in new),
        texts(workflow.input for workflow in new),
        texts(workflow.key for workflow in new),
        plain(workflow.priority for workflow in new),
        by,
        _FRESH_HOURS,
        clock.fixed(),
        texts(json.dumps(workflow.tags) if workflow.tags else None for workflow in new)
        if any(workflow.tags for workflow in new)
        else None,
    )


def get_workflow(database: Database, workflow_id: UUID) -> Workflow:
    """Read a workflow, live or archived. Transaction: own, two where it is not live.

    Raises:
        WorkflowNotFound: no workflow has that id.
    """
    rows = database.call(f"select {_COLUMNS} where workflow.id = %s", (workflow_id,))
    if rows:
        return _workflow(rows[0])
    rows = database.call(f"select {_ARCHIVED_COLUMNS} where workflow.id = %s", (workflow_id,))
    if rows:
        return replace(_workflow(rows[0]), is_archived=True)
    raise _missing(workflow_id)


def find_workflow(database: Database, prefix: str) -> Workflow:
    """Read a workflow by its id or by a prefix or suffix of it that no other has. Transaction: own.

    One of the archive is found by its id or a prefix alone.

    Raises:
        WorkflowNotFound: nothing fits.
        AmbiguousId: several fit.
    """
    return get_workflow(database, find_workflow_id(database, prefix))


def find_workflow_id(database: Database, prefix: str) -> UUID:
    """Return the id that a prefix or suffix means, as `find_workflow` does. Transaction: own.

    Raises:
        WorkflowNotFound: nothing fits.
        AmbiguousId: several fit.
    """
    return find_id(database, "workflows", prefix, WorkflowNotFound, older="workflows_archive")


def read_workflows(database: Database, ids: Sequence[UUID]) -> list[Workflow]:
    """Read those of the given workflows that exist, newest first. Transaction: own."""
    if not ids:
        return []
    rows = database.call(
        f"""
        select {_COLUMNS}
         where workflow.id = any(%s::uuid[])
           and workflow.id between %s and %s
         order by workflow.id desc
        """,
        (list(ids), min(ids), max(ids)),
    )
    return [_workflow(row) for row in rows]


def states_of(database: Database, ids: Sequence[UUID]) -> dict[UUID, WorkflowState]:
    """Read only the states, of live and archived ones. Transaction: own, two where one is not live."""
    states: dict[UUID, WorkflowState] = {}
    for table in ("workflows", "workflows_archive"):
        left = [workflow_id for workflow_id in ids if workflow_id not in states]
        if left:
            rows = database.call(f"select id, state from remand.{table} where id = any(%s::uuid[])", (left,))
            states.update((row[0], WorkflowState(row[1])) for row in rows)
    return states


def moves_of(database: Database, workflow_id: UUID) -> list[Move]:
    """Read every move of a workflow and of its steps, in order. Transaction: own, two if it is archived."""
    for view in ("moves", "archived_moves"):
        moves = database.read(
            Move,
            f"""
            select seq, kind, step, from_state, event, to_state, at, by, reason
              from remand.{view}
             where workflow_id = %s
             order by at, seq
            """,
            (workflow_id,),
        )
        if moves:
            break
    return moves


def lock_workflow(connection: sa.Connection, workflow_id: UUID) -> Any:
    """Lock a workflow's row and return it. Transaction: joins.

    Raises:
        WorkflowArchived: it is in the archive.
        WorkflowNotFound: no workflow has that id.
    """
    row = connection.execute(
        sa.text(f"select {_COLUMNS} where workflow.id = :id for update of workflow"), {"id": workflow_id}
    ).first()
    if row is None:
        refuse_archived(connection, workflow_id)
        raise _missing(workflow_id)
    return _workflow(tuple(row))


def refuse_archived(connection: sa.Connection, workflow_id: UUID) -> None:
    """Refuse what cannot be done with an archived workflow. Transaction: joins.

    Raises:
        WorkflowArchived: it is in the archive.
    """
    archived = sa.text("select state from remand.workflows_archive where id = :id")
    state = connection.execute(archived, {"id": workflow_id}).scalar()
    if state is not None:
        raise WorkflowArchived(
            f"workflow {workflow_id} is archived: it cannot be changed there",
            hint=f"bring it back first: remand archive restore {workflow_id}",
            details={"workflow_id": str(workflow_id), "state": state},
        )


def _missing(workflow_id: UUID) -> WorkflowNotFound:
    return WorkflowNotFound(f"no workflow {workflow_id}", hint="see `remand workflow list`")


def _workflow(row: Sequence[Any]) -> Workflow:
    values = list(row)
    values[4] = WorkflowState(values[4])
    return Workflow(*values)
