"""Steps and attempts, as every door shows them. `stored_...` are not masked: the caller masks them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from remand_app.engine.decided import Decided
from remand_app.engine.masking import masked
from remand_app.store.database import Database
from remand_app.store.steps import Attempt, Step
from remand_app.store.steps import attempts_of as stored_attempts
from remand_app.store.steps import get_step as stored_step
from remand_app.store.steps import steps_of as stored_steps

__all__ = ["Attempt", "Step", "stored_attempts", "stored_step", "stored_steps"]


@dataclass(frozen=True, slots=True)
class StepShown:
    """A step with its attempts."""

    step: Step
    attempts: list[Attempt]


@dataclass(frozen=True, slots=True)
class StepDecision(Decided):
    """What a verb did to a step."""

    step: str = field(kw_only=True)


def steps_of(database: Database, workflow_id: UUID, secret: Sequence[str]) -> list[Step]:
    """Return the steps of a workflow in the order of their template, masked. Transaction: own."""
    return [masked(step, secret) for step in stored_steps(database, workflow_id)]


def attempts_of(
    database: Database, workflow_id: UUID, secret: Sequence[str], step: str | None = None
) -> list[Attempt]:
    """Return the attempts of a workflow, or of one step, in order, masked. Transaction: own."""
    return [masked(attempt, secret) for attempt in stored_attempts(database, workflow_id, step)]


def get_step(database: Database, workflow_id: UUID, name: str, secret: Sequence[str]) -> Step:
    """Return a step, masked. Transaction: own.

    Raises:
        StepNotFound: the workflow has no step of that name.
    """
    return masked(stored_step(database, workflow_id, name), secret)


def show(database: Database, workflow_id: UUID, name: str, secret: Sequence[str]) -> StepShown:
    """Return a step and how each of its attempts ended. Transaction: two short ones.

    Raises:
        StepNotFound: the workflow has no step of that name.
    """
    return StepShown(
        get_step(database, workflow_id, name, secret), attempts_of(database, workflow_id, secret, name)
    )
