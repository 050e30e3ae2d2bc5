"""Own what counts as stale: thresholds by state, signs of life, and what becomes of a workflow without any.

Pure. The database function `remand.classify_staleness` makes the same decision; a test compares the two.
Source: D1, D2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Final, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from remand_app.domain.states import WorkflowState

Limit = Annotated[float, Field(gt=0, le=315_360_000, allow_inf_nan=False)]
Share = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]
StaleAction = Literal["dlq", "error", "none"]
"""What becomes of a stale workflow. dlq: a dead letter, as the template's strategy says; error: it ends in
error without one; none: it is shown and reported, and left where it is."""


class Health(StrEnum):
    """How long there was no sign of life."""

    HEALTHY = "healthy"
    WARNING = "warning"
    """No sign of life for a large share of the allowed time."""
    STALE = "stale"
    """No sign of life for longer than is allowed."""


class Why(StrEnum):
    """What a workflow is measured by."""

    WORKER_UNAVAILABLE = "worker_unavailable"
    """A step is in a queue that no live worker consumes."""
    LIFETIME = "lifetime"
    """The time since it was submitted, or since a person last let it go on."""
    STATE = "state"
    """The time since its last sign of life, by what is allowed in its state."""
    RUNNING = "running"
    """A worker runs a step of it under a lease that is valid: that is life."""
    WAITS_ITS_TURN = "waits_its_turn"
    """Its steps are in a queue that live workers consume."""
    HELD_BY_BREAKER = "held_by_breaker"
    QUEUE_PAUSED = "queue_paused"
    PAUSED = "paused"
    BLOCKED = "blocked"
    """A step of it is dead: a person has it already."""


PATIENT: Final = frozenset(
    {
        Why.RUNNING,
        Why.WAITS_ITS_TURN,
        Why.HELD_BY_BREAKER,
        Why.QUEUE_PAUSED,
        Why.PAUSED,
        Why.BLOCKED,
    }
)
"""Nothing is ever stale for one of these."""
_BY_PERSON: Final = frozenset({Why.QUEUE_PAUSED, Why.PAUSED, Why.BLOCKED})
_OWN_LIMIT: Final = {
    WorkflowState.WAITING_FOR_DEPENDENCIES: "max_waiting_for_dependencies_seconds",
    WorkflowState.WAITING_FOR_RETRY: "max_waiting_for_retry_seconds",
    WorkflowState.STEPS_IN_PROCESS: "max_steps_in_process_seconds",
}


class Lifecycle(BaseModel):
    """Say how long workflows may be without a sign of life, and what becomes of those that were longer."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_waiting_for_dependencies_seconds: Limit = Field(
        3600.0, description="Seconds that a workflow may wait for dependencies without a sign of life."
    )
    max_waiting_for_retry_seconds: Limit = Field(
        1800.0, description="Seconds, from when a retry is due, that a workflow may still wait for it."
    )
    max_steps_in_process_seconds: Limit = Field(
        1800.0,
        description="Seconds that a workflow may be in process without a sign of life, and that a step may"
        " wait in a queue of which no live worker is seen.",
    )
    max_other_seconds: Limit = Field(
        86_400.0, description="Seconds that a workflow may be in any other state that is not final."
    )
    max_lifetime_seconds: Limit = Field(
        86_400.0,
        description="Seconds that a workflow may take in all, from when it was submitted, or from when a"
        " person last sent it back or let it go on.",
    )
    stale_action: StaleAction = Field(
        "dlq",
        description="What becomes of a stale workflow: a dead letter (dlq), an end in error without one"
        " (error), or nothing but that it is shown and told of (none).",
    )
    warning_share: Share = Field(
        0.75, description="Share of what is allowed, 0 to 1, from which a workflow counts as a warning."
    )

    def limit(self, state: WorkflowState) -> float:
        """Return the seconds that are allowed in a state."""
        seconds: float = getattr(self, _OWN_LIMIT.get(state, "max_other_seconds"))
        return seconds


class LifecycleOverrides(BaseModel):
    """Change some of that for one template; what is None is left as it was."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_waiting_for_dependencies_seconds: Limit | None = None
    max_waiting_for_retry_seconds: Limit | None = None
    max_steps_in_process_seconds: Limit | None = None
    max_other_seconds: Limit | None = None
    max_lifetime_seconds: Limit | None = None
    stale_action: StaleAction | None = None
    warning_share: Share | None = None


@dataclass(frozen=True, slots=True)
class Signs:
    """What is known of a workflow that has not ended."""

    state: WorkflowState
    born_at: datetime
    """When it was submitted, or when a person last sent it back or let it go on."""
    sign_at: datetime
    """Its last sign of life; a retry that is not yet due is one in the future."""
    stand: Why | None = None
    """The member of PATIENT that applies; None: none does."""
    unheard_since: datetime | None = None
    """Since when a step has waited in a queue without a live worker, the earliest; None: no step does."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The state of a workflow, by its worst measure."""

    health: Health
    why: Why
    since: datetime
    limit_seconds: float

    @property
    def stale_at(self) -> datetime:
        """When it becomes stale, if nothing moves before; does not apply to what waits with good reason."""
        return self.since + timedelta(seconds=self.limit_seconds)


def judge(signs: Signs, lifecycle: Lifecycle, now: datetime) -> Verdict:
    """Return the state of a workflow now: of equally bad measures the most telling, then the first to end."""
    verdicts = [_verdict(*measure, lifecycle, now) for measure in _measures(signs, lifecycle)]
    return min(verdicts, key=_order)


def _order(verdict: Verdict) -> tuple[int, bool, bool, datetime]:
    telling = (verdict.why in PATIENT) == (verdict.health is Health.HEALTHY)
    return -_RANK[verdict.health], verdict.why is not Why.WORKER_UNAVAILABLE, not telling, verdict.stale_at


def _measures(signs: Signs, lifecycle: Lifecycle) -> Iterator[tuple[Why, datetime, float]]:
    by_person = signs.stand in _BY_PERSON
    if signs.unheard_since is not None and not by_person:
        yield Why.WORKER_UNAVAILABLE, signs.unheard_since, lifecycle.max_steps_in_process_seconds
    if not by_person:
        yield Why.LIFETIME, signs.born_at, lifecycle.max_lifetime_seconds
    if signs.stand is not None:
        yield signs.stand, signs.sign_at, lifecycle.limit(signs.state)
    elif signs.unheard_since is None:
        yield Why.STATE, signs.sign_at, lifecycle.limit(signs.state)


def _verdict(why: Why, since: datetime, limit: float, lifecycle: Lifecycle, now: datetime) -> Verdict:
    waited = (now - since).total_seconds()
    if why is Why.RUNNING or waited < limit * lifecycle.warning_share:
        health = Health.HEALTHY
    elif waited < limit or why in PATIENT:
        health = Health.WARNING
    else:
        health = Health.STALE
    return Verdict(health, why, since, limit)


_RANK: Final = {health: rank for rank, health in enumerate(Health)}


# Public JSON: users see each field.
@dataclass(frozen=True, slots=True)
class WorkflowStaleness:
    """How a workflow stands that has not ended."""

    workflow_id: UUID
    namespace: str
    template: str
    version: str
    state: WorkflowState
    created_at: datetime
    born_at: datetime
    """From when its lifetime counts."""
    sign_at: datetime
    """Its last sign of life; in the future: a retry that is not due yet."""
    queue: str | None
    """The queue of the step that has waited longest; None: no step waits."""
    health: Health
    why: Why
    since: datetime
    """Since when it is measured."""
    stale_at: datetime
    """When the allowed time is over."""
    action: StaleAction
    takes_out: bool
    """The next sweep takes it out of work."""

    @property
    def ref(self) -> str:
        """The template, "namespace/name:version"."""
        return f"{self.namespace}/{self.template}:{self.version}"
