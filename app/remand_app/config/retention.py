"""How long everything but workflows is kept: closed letters, redrives, the audit log, and the like.

A row is deleted when it is older than its number of days; 0 days: it is never deleted. Source: D6.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from remand_app.config.kinds import Count

FOR_EVER: Final = 0

Days = Annotated[Count, Field(ge=0, le=36_500)]


class RetentionSettings(BaseModel):
    """Days for which records are kept after they are over."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    letters_days: Days = Field(
        365,
        description="Days from its closing that a dead letter is kept, its notes and snapshot with it; open"
        " ones stay, and those of workflows under way. Lost then: what had failed, who closed it and how;"
        " the counts since ever stay. 0: for ever.",
    )
    groups_days: Days = Field(
        1095,
        description="Days that a group of dead letters is kept, its notes with it, after its last letter,"
        " when none of its letters is left and nobody investigates it. Lost then: how its cause was resolved,"
        " should it come back. 0: for ever.",
    )
    hours_days: Days = Field(
        90,
        description="Days that the letters of each hour are kept as counts. Lost then: the trend of that"
        " time. 0: for ever.",
    )
    redrives_days: Days = Field(
        365,
        description="Days from its end that a redrive is kept with the outcome of each of its letters. Lost"
        " then: that list; the letters and the audit log are kept by themselves. 0: for ever.",
    )
    audit_days: Days = Field(
        2555,
        description="Days that entries of the audit log are kept. Lost then: who decided what, and why."
        " 0: for ever.",
    )
    access_days: Days = Field(
        30,
        description="Days that sessions, links to sign in and API tokens are kept after they ended. Lost"
        " then: from where somebody was signed in, when a token was last used. 0: for ever.",
    )
    workers_days: Days = Field(
        30,
        description="Days that a worker that stopped is kept. Lost then: which host ran an attempt; its"
        " incarnation stays with the attempt. 0: for ever.",
    )
    breakers_days: Days = Field(
        365,
        description="Days that moves of circuit breakers are kept. Lost then: when and why a dependency was"
        " cut off; where its breaker stands stays. 0: for ever.",
    )
    unclassified_days: Days = Field(
        180,
        description="Days that a kind of failure that no rule knows is kept after it was last seen. Lost"
        " then: its count and example, until it is seen again. 0: for ever.",
    )

    def cutoff(self, name: str, now: datetime) -> datetime | None:
        """Return the instant before which rows kept by setting `name` are deleted; None: they never are."""
        days: int = getattr(self, name)
        return None if days == FOR_EVER else now - timedelta(days=days)
