"""Own what is set of dead letters: how urgent each reason is, how many a dead queue is meant to hold."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from app.domain.states import DeadReason

DEFAULT_QUEUE = "default"
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


class DlqSettings(BaseModel):
    """What is set of dead letters."""

    model_config = ConfigDict(frozen=True, extra="forbid")

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

    def triage_at(self, reason: DeadReason, opened_at: datetime) -> datetime:
        """Return the place of a letter in the triage queue: the earlier, the more urgent."""
        minutes = self.triage_weights.get(reason, _WEIGHTS[reason])
        return opened_at - timedelta(minutes=minutes)
