"""How things look that several routes answer with: the same fields as the command line's --json."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.domain.states import DeadLetterStatus, DeadReason, WorkflowState
from app.engine.operate import Decided
from app.store.workflows import Workflow


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

    @classmethod
    def of(cls, one: Workflow) -> WorkflowLine:
        """Return what lists show of a workflow."""
        return cls(
            one.id,
            one.ref,
            one.state,
            one.state_since,
            one.created_at,
            one.priority,
            one.open_steps,
            one.error_steps,
            one.held_by,
            one.submitted_by,
            one.is_archived,
            one.paused_at,
            one.paused_by,
            one.pause_reason,
            one.tags or [],
        )


@dataclass(frozen=True, slots=True)
class OpenLetter:
    """What a workflow's page says of its open dead letter."""

    id: UUID
    status: DeadLetterStatus
    step: str
    reason: DeadReason
    error_class: str
    error_message: str
    claimed_by: str | None


@dataclass(frozen=True, slots=True)
class Decision:
    """What a verb did: state before and after, and the dead letter that it closed."""

    workflow_id: UUID
    before: str
    after: str
    changed: bool
    closed_letter: UUID | None

    @classmethod
    def of(cls, one: Decided) -> Decision:
        """Return what a verb of the engine did."""
        return cls(one.workflow_id, one.before, one.after, one.changed, one.closed_letter)
