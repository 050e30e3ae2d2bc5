"""Steps and attempts, as every door shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from app.engine.decided import Decided
from app.engine.masking import masked
from app.store import steps as store
from app.store.session import Database
from app.store.steps import Attempt, Step

__all__ = ["Attempt", "Step"]


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
    return [masked(step, secret) for step in store.steps_of(database, workflow_id)]


def attempts_of(
    database: Database, workflow_id: UUID, secret: Sequence[str], step: str | None = None
) -> list[Attempt]:
    """Return the attempts of a workflow, or of one step, in order, masked. Transaction: own."""
    return [masked(attempt, secret) for attempt in store.attempts_of(database, workflow_id, step)]


def get_step(database: Database, workflow_id: UUID, name: str, secret: Sequence[str]) -> Step:
    """Return a step, masked. Transaction: own.

    Raises:
        StepNotFound: the workflow has no step of that name.
    """
    return masked(store.get_step(database, workflow_id, name), secret)


def show(database: Database, workflow_id: UUID, name: str, secret: Sequence[str]) -> StepShown:
    """Return a step and how each of its attempts ended. Transaction: two short ones.

    Raises:
        StepNotFound: the workflow has no step of that name.
    """
    return StepShown(
        get_step(database, workflow_id, name, secret), attempts_of(database, workflow_id, secret, name)
    )
