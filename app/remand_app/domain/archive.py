"""Own how finished workflows go to the archive: which ones, when, and in which way.

Pure. A period goes as a whole once it has been over for long enough. Its workflows that are still live, or
are kept, stay behind and follow later by themselves. Source: D5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

Policy = Literal["archive", "keep"]
OUTCOMES: Final = ("complete", "error", "cancelled", "resolved_manually")


class ArchivePolicies(BaseModel):
    """What becomes of workflows by how they ended."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    complete: Policy = Field(
        "archive", description="What becomes of complete workflows: `archive` or `keep`."
    )
    error: Policy = Field("archive", description="The same of workflows that were given up.")
    cancelled: Policy = Field("archive", description="The same of cancelled ones.")
    resolved_manually: Policy = Field("archive", description="The same of those resolved by hand.")


class ArchiveOverrides(BaseModel):
    """Change some of that for one template; what is None is left as it was."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    complete: Policy | None = None
    error: Policy | None = None
    cancelled: Policy | None = None
    resolved_manually: Policy | None = None


def kept_outcomes(policies: ArchivePolicies, of_templates: Mapping[int, ArchiveOverrides]) -> list[str]:
    """Return what is kept, as "template id:outcome", in order."""
    return sorted(
        f"{template_id}:{outcome}"
        for template_id, own in of_templates.items()
        for outcome in OUTCOMES
        if (getattr(own, outcome) or getattr(policies, outcome)) == "keep"
    )


def cutoff(now: datetime, retention_days: int) -> datetime:
    """Return the instant up to which workflows that ended may go."""
    return now - timedelta(days=retention_days)


class Stay(StrEnum):
    """Why a workflow stays live."""

    LIVE = "live"
    """It has not ended."""
    LETTER = "letter"
    """A dead letter of it is open."""
    KEPT = "kept"
    """The policy of its outcome keeps it."""
    RECENT = "recent"
    """It ended, or was restored, less than the retention ago."""


class Way(StrEnum):
    """How a period goes."""

    PERIOD = "period"
    """Its partitions change hands at once."""
    BATCH = "batch"
    """Its workflows are copied and deleted, batch by batch."""
    RETIRE = "retire"
    """All that could go has gone: its partitions are dropped, what stays goes to the default partition."""
    WAIT = "wait"
    """Too many ended a short while ago: it goes as a whole when these are past their retention, too."""
    STAY = "stay"
    """Too many stay, and nothing else is left to go."""


@dataclass(frozen=True, slots=True)
class Census:
    """The workflows of one partition."""

    go: int
    stay: Mapping[Stay, int]

    @property
    def staying(self) -> int:
        """How many stay, for whatever reason."""
        return sum(self.stay.values())

    @property
    def for_long(self) -> int:
        """How many stay until somebody acts, not just until time has passed."""
        return self.staying - self.stay.get(Stay.RECENT, 0)


def way_of(census: Census, most_stragglers: int, *, is_begun: bool) -> Way:
    """Decide how a due period is archived; `is_begun`: the archive already holds a part of its range."""
    few = census.staying <= most_stragglers
    if not is_begun and not census.go and not census.staying:
        return Way.RETIRE
    if not is_begun and few:
        return Way.PERIOD
    if not is_begun and census.for_long <= most_stragglers:
        return Way.WAIT
    if census.go:
        return Way.BATCH
    return Way.RETIRE if few else Way.STAY


def due_at(ends_at: datetime, restored: Iterable[datetime], retention_days: int) -> datetime:
    """Return when a period is due: it is over, and was last restored, for as long as the retention."""
    return max([ends_at, *restored]) + timedelta(days=retention_days)
