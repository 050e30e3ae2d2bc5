"""Pause and resume a workflow or a template. While paused, it starts no step; running steps end and count.

Pausing a template holds its live workflows in batches, one transaction each. Submits and batches share a
lock; a call that pauses or resumes the template takes that lock alone. So no submit slips through, and no
batch of a pause that has ended holds anything. A call that was cut short is finished by repeating it.
Source: A11.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from remand_app.domain.states import WorkflowState
from remand_app.engine.decided import Decided
from remand_app.engine.engine import Engine
from remand_app.engine.operate.context import Operation, Who, illegal, patient
from remand_app.store import audit, pauses
from remand_app.store.audit import Entry
from remand_app.store.database import Connection
from remand_app.store.pauses import TemplatePause
from remand_app.store.workflows import Workflow, lock_workflow
from remand_app.telemetry import log

BATCH: Final = 200
"""Workflows that one transaction holds or lets go."""
_ENDED = (
    WorkflowState.COMPLETE,
    WorkflowState.ERROR,
    WorkflowState.CANCELLED,
    WorkflowState.RESOLVED_MANUALLY,
)


@dataclass(frozen=True, slots=True)
class Paused:
    """What pausing or resuming a template did."""

    namespace: str
    name: str
    changed: bool
    """False: it was in that state already."""
    workflows: int
    """Workflows that this call held or let go."""


@patient
def pause_workflow(engine: Engine, workflow_id: UUID, who: Who) -> Decided:
    """Pause a workflow: waiting steps are withdrawn, running steps end and count. Idempotent.

    Raises:
        IllegalMove: it has ended.
    """
    with engine.database.begin() as connection:
        workflow: Workflow = lock_workflow(connection, workflow_id)
        if workflow.state in _ENDED:
            raise illegal(workflow, "pause", "only a workflow that has not ended can be paused")
        if workflow.paused_at is not None:
            return Decided(workflow_id, workflow.state, workflow.state, changed=False)
        operation = Operation(connection, workflow, who, engine.now(connection))
        pauses.pause_workflows(connection, [workflow_id], by=who.by, reason=who.reason, now=operation.now)
        after = lock_workflow(connection, workflow_id).state
        _record(operation, "pause", before=False)
    log("workflow.paused", workflow_id=str(workflow_id), by=who.by, reason=who.reason)
    return Decided(workflow_id, workflow.state, after)


@patient
def resume_workflow(engine: Engine, workflow_id: UUID, who: Who) -> Decided:
    """Resume a workflow; a retry is made when it is due. Idempotent.

    Raises:
        IllegalMove: it has ended.
    """
    with engine.database.begin() as connection:
        workflow: Workflow = lock_workflow(connection, workflow_id)
        if workflow.state in _ENDED and workflow.paused_at is None:
            raise illegal(workflow, "resume", "it has ended")
        if workflow.paused_at is None:
            return Decided(workflow_id, workflow.state, workflow.state, changed=False)
        operation = Operation(connection, workflow, who, engine.now(connection))
        resumed = pauses.resume_workflows(
            connection, [workflow_id], by=who.by, reason=who.reason, now=operation.now
        )
        after = lock_workflow(connection, workflow_id).state
        _record(operation, "resume", before=True)
    log("workflow.resumed", workflow_id=str(workflow_id), by=who.by)
    engine.bell.ring(resumed.queues)
    return Decided(workflow_id, workflow.state, after)


def pause_template(engine: Engine, ref: str, who: Who) -> Paused:
    """Pause every live workflow of a template, and each one submitted until it is resumed. Idempotent.

    `ref` is "namespace/name" or "name": a pause is of all versions. Transactions: own, one for each batch.

    Raises:
        TemplateNotFound: no such template is published.
    """
    template = engine.templates.find(ref).template
    namespace, name = template.namespace, template.name
    changed = _toggle(engine, (namespace, name), who, "pause", _begin_pause)

    def hold(connection: Connection, ids: Sequence[UUID], by: Who) -> tuple[int, Sequence[str]]:
        if pauses.template_pause(connection, namespace, name) is None:
            return 0, ()
        held = pauses.pause_workflows(
            connection, ids, by=by.by, reason=by.reason, now=engine.clock.fixed(), with_template=True
        )
        return len(held), ()

    count = _batches(engine, (namespace, name), who, hold, paused=False)
    if changed or count:
        log(
            "template.paused",
            namespace=namespace,
            template=name,
            count=count,
            by=who.by,
            reason=who.reason,
        )
    return Paused(namespace, name, changed, count)


def resume_template(engine: Engine, ref: str, who: Who) -> Paused:
    """Resume a template's workflows, except those that were paused one by one. Idempotent.

    Raises:
        TemplateNotFound: no such template is published.
    """
    template = engine.templates.find(ref).template
    namespace, name = template.namespace, template.name
    changed = _toggle(engine, (namespace, name), who, "resume", _end_pause)

    def let_go(connection: Connection, ids: Sequence[UUID], by: Who) -> tuple[int, Sequence[str]]:
        if pauses.template_pause(connection, namespace, name) is not None:
            return 0, ()
        resumed = pauses.resume_workflows(
            connection, ids, by=by.by, reason=by.reason, now=engine.clock.fixed(), with_template=True
        )
        return len(resumed.ids), resumed.queues

    count = _batches(engine, (namespace, name), who, let_go, paused=True)
    if changed or count:
        log("template.resumed", namespace=namespace, template=name, count=count, by=who.by)
    return Paused(namespace, name, changed, count)


_Name = tuple[str, str]
_Toggle = Callable[[Connection, TemplatePause], bool]
_Act = Callable[[Connection, Sequence[UUID], Who], tuple[int, Sequence[str]]]


@patient
def _toggle(engine: Engine, template: _Name, who: Who, verb: str, toggle: _Toggle) -> bool:
    with engine.database.begin() as connection:
        pauses.lock_template(connection, *template, shared=False)
        now = engine.now(connection)
        changed = toggle(connection, TemplatePause(*template, now, who.by, who.reason))
        if changed:
            is_pause = verb == "pause"
            entry = Entry(
                f"template.{verb}",
                "template",
                "/".join(template),
                before={"paused": not is_pause},
                after={"paused": is_pause},
            )
            audit.record(connection, entry, by=who.by, via=who.via, reason=who.reason, now=now)
    return changed


def _begin_pause(connection: Connection, pause: TemplatePause) -> bool:
    return pauses.add_template_pause(connection, pause)


def _end_pause(connection: Connection, pause: TemplatePause) -> bool:
    return pauses.end_template_pause(connection, pause.namespace, pause.name) is not None


def _batches(engine: Engine, template: _Name, who: Who, act: _Act, *, paused: bool) -> int:
    ids = pauses.live_workflows_of(engine.database, *template, paused=paused)
    chunks = [ids[start : start + BATCH] for start in range(0, len(ids), BATCH)]
    return sum(_batch(engine, template, chunk, who, act) for chunk in chunks)


@patient
def _batch(engine: Engine, template: _Name, ids: Sequence[UUID], who: Who, act: _Act) -> int:
    with engine.database.begin() as connection:
        pauses.lock_template(connection, *template, shared=True)
        count, queues = act(connection, ids, who)
    engine.bell.ring(queues)
    return count


def _record(operation: Operation, verb: str, *, before: bool) -> None:
    operation.record(
        f"workflow.{verb}",
        kind="workflow",
        subject=operation.workflow.id,
        before={
            "paused": before,
            "by": operation.workflow.paused_by,
            "reason": operation.workflow.pause_reason,
        },
        after={"paused": not before},
    )
