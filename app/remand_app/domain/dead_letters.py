"""Own the policy for dead letters: what a terminal failure leads to, its urgency, when it is requeued.

Pure. Source: C9, C10, C11.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from remand_app.domain.states import DeadReason

DEFAULT_QUEUE = "default"
_PASSING: Final = frozenset({"transient", "network", "resource"})
_SPREAD: Final = 0.15
_LONGEST_SECONDS: Final = 30 * 86_400.0

Strategy = Literal["automatic", "selective", "manual", "disabled"]
"""What becomes of a terminal failure. automatic: a letter, which may go back by itself; selective: a letter,
which may if its category passes with time; manual: a letter, which waits for a person; disabled: no letter,
the workflow ends in error."""
_WEIGHTS = {
    DeadReason.DEPENDENCY_CYCLE_DETECTED: 1000.0,
    DeadReason.MAX_RETRIES_EXCEEDED: 500.0,
    DeadReason.PERMANENT_FAILURE: 400.0,
    DeadReason.WORKER_LOST: 300.0,
    DeadReason.EXPIRED: 200.0,
    DeadReason.STALENESS_TIMEOUT: 100.0,
    DeadReason.WORKER_UNAVAILABLE: 50.0,
    DeadReason.MANUAL_DLQ: 10.0,
}


def _parse(value: object) -> object:
    return json.loads(value) if isinstance(value, str) else value


Minutes = Annotated[float, Field(ge=0, le=525_600, allow_inf_nan=False)]


Interval = Annotated[float, Field(ge=1, le=_LONGEST_SECONDS, allow_inf_nan=False)]
Multiplier = Annotated[float, Field(ge=1, le=100, allow_inf_nan=False)]
Requeues = Annotated[int, Field(ge=1, le=100)]
Boost = Annotated[int, Field(ge=0, le=9)]


class AutoRequeue(BaseModel):
    """Say when letters go back to work by themselves."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    enabled: bool = Field(False, description="Whether letters go back to work by themselves.")
    interval_seconds: Interval = Field(
        3600.0, description="Seconds from the failure to the first automatic requeue; spread by up to 15 %."
    )
    backoff_multiplier: Multiplier = Field(
        2.0, description="Each further automatic requeue of a step comes after so many times as long."
    )
    max_requeues: Requeues = Field(
        3,
        description="Automatic requeues of a step; then its letter is closed as permanently failed.",
    )
    priority_boost: Boost = Field(
        1, description="By how much each raises the priority of the steps, up to 9."
    )


class AutoRequeueOverrides(BaseModel):
    """Change some of that for one template; what is None is left as it was."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    enabled: bool | None = None
    interval_seconds: Interval | None = None
    backoff_multiplier: Multiplier | None = None
    max_requeues: Requeues | None = None
    priority_boost: Boost | None = None


@dataclass(frozen=True, slots=True)
class LetterPolicy:
    """What becomes of the terminal failures of one template: settings and template taken together."""

    strategy: Strategy
    auto: AutoRequeue

    @property
    def opens(self) -> bool:
        """Whether a failure opens a letter."""
        return self.strategy != "disabled"

    def requeue_at(self, category: str, requeues: int, now: datetime, jitter: float) -> datetime | None:
        """Return when a letter opened now goes back, or is closed for good; None: it waits for a person.

        `requeues`: automatic requeues of its step so far; `jitter`: -1 to 1.
        """
        if not self.auto.enabled or self.strategy not in {"automatic", "selective"}:
            return None
        if self.strategy == "selective" and category not in _PASSING:
            return None
        if requeues >= self.auto.max_requeues:
            return now
        # In steps: a power that is too large for a float would raise.
        seconds = self.auto.interval_seconds
        for _ in range(requeues):
            seconds = min(seconds * self.auto.backoff_multiplier, _LONGEST_SECONDS)
        return now + timedelta(seconds=seconds * (1 + _SPREAD * jitter))


class DlqSettings(BaseModel):
    """What is set of dead letters."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    strategy: Strategy = Field(
        "automatic",
        description="What becomes of a terminal failure: a letter that may go back by itself (automatic),"
        " that may if its category passes (selective), that never does (manual), or none (disabled).",
    )
    auto_requeue: AutoRequeue = Field(
        default_factory=AutoRequeue,
        description="When letters go back by themselves: `enabled` (false), `interval_seconds` (3600),"
        " `backoff_multiplier` (2), `max_requeues` (3), `priority_boost` (1).",
    )
    triage_weights: Annotated[dict[DeadReason, Minutes], BeforeValidator(_parse)] = Field(
        default_factory=dict,
        description="By reason: minutes that its letters are ahead of their age in the triage queue."
        " Others keep their defaults; in the environment a JSON object.",
    )
    size_limit: Annotated[int, Field(ge=1, le=100_000_000)] = Field(
        10_000, description="Open letters that a dead queue is meant to hold; more are kept all the same."
    )
    size_warning_share: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = Field(
        0.8, description="Share of the limit, 0 to 1, from which a dead queue counts as nearly full."
    )

    def policy(
        self, strategy: Strategy | None = None, auto: AutoRequeueOverrides | None = None
    ) -> LetterPolicy:
        """Return what holds for a template that says this."""
        own = {} if auto is None else auto.model_dump(exclude_none=True)
        return LetterPolicy(strategy or self.strategy, self.auto_requeue.model_copy(update=own))

    def triage_at(self, reason: DeadReason, opened_at: datetime) -> datetime:
        """Return the place of a letter in the triage queue: the earlier, the more urgent."""
        minutes = self.triage_weights.get(reason, _WEIGHTS[reason])
        return opened_at - timedelta(minutes=minutes)
