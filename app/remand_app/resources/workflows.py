"""Workflows, as every door shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from remand_app.domain.states import DeadLetterStatus, WorkflowState
from remand_app.domain.workflow_filter import WorkflowFilter
from remand_app.engine.masking import masked
from remand_app.resources import letters, steps, verbs
from remand_app.resources.steps import Step
from remand_app.resources.values import fields_of, part_of
from remand_app.store.database import Database
from remand_app.store.workflow_search import search
from remand_app.store.workflows import (
    Move,
    Submitted,
    Workflow,
    find_workflow,
    find_workflow_id,
    get_workflow,
    moves_of,
    states_of,
)

__all__ = [
    "Move", "Submitted", "Workflow", "WorkflowFilter", "find_workflow", "find_workflow_id", "get_workflow",
    "masked", "moves_of", "search", "states_of",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class WorkflowLine:
    """A workflow as lists show it."""

    id: UUID
    template: str
    state: WorkflowState
    state_since: datetime
    created_at: datetime
    priority: int
    open_steps: int
    error_steps: int
    held_by: list[str]
    submitted_by: str
    is_archived: bool
    """It is in the archive: to be restored before it is changed."""
    paused_at: datetime | None
    paused_by: str | None
    pause_reason: str | None
    tags: list[str]


@dataclass(frozen=True, slots=True)
class OpenLetter:
    """What a workflow's page says of its open dead letter."""

    id: UUID
    status: DeadLetterStatus
    step: str
    reason: str
    error_class: str
    error_message: str
    claimed_by: str | None


@dataclass(frozen=True, slots=True)
class WorkflowShown(WorkflowLine):
    """A workflow with its steps."""

    input: Any
    hold: str | None
    steps: list[Step]
    dead_letter: OpenLetter | None
    verbs: list[str]
    """What can be done with it now."""


def line_of(workflow: Workflow) -> WorkflowLine:
    """Return what lists show of a workflow."""
    values = {name: getattr(workflow, name) for name in WorkflowLine.__slots__ if name != "template"}
    return WorkflowLine(**{**values, "template": workflow.ref, "tags": workflow.tags or []})


def show(
    database: Database, workflow: Workflow, secret: Sequence[str], *, sees_letters: bool = True
) -> WorkflowShown:
    """Return a workflow, its steps, and its open dead letter if the caller may see it. Transaction: two."""
    letter = letters.open_letter_of(database, workflow.id) if sees_letters else None
    return WorkflowShown(
        **fields_of(line_of(workflow)),
        input=masked(workflow, secret).input,
        hold=workflow.hold,
        steps=steps.steps_of(database, workflow.id, secret),
        dead_letter=None if letter is None else part_of(letter, OpenLetter),
        verbs=[verb.name for verb in verbs.possible("workflow", workflow)],
    )
