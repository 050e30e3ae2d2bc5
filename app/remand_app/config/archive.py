"""Settings of the archive: whether and when finished workflows go there, and how gently."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from remand_app.config.kinds import Count, Seconds
from remand_app.domain.archive import ArchivePolicies


class ArchiveSettings(BaseModel):
    """The table `[archive]`. Immutable."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, validate_default=True)

    enabled: bool = Field(
        True, description="Whether the sweep archives; `remand archive run` does so in any case."
    )
    retention_days: Count = Field(
        30,
        ge=1,
        le=36_500,
        description="Days that a workflow stays live after it ended, or was restored; a period stays so long "
        "after its end.",
    )
    batch_size: Count = Field(
        1000, ge=1, le=10_000, description="Workflows copied by one transaction where no whole period goes."
    )
    most_stragglers: Count = Field(
        200,
        ge=0,
        le=10_000,
        description="Workflows of a period that may stay live when it goes as a whole: they are moved while "
        "everybody waits. With more, the others are copied batch by batch.",
    )
    hold_seconds: Seconds = Field(
        0.1,
        gt=0,
        le=10,
        description="Longest time, in seconds, that handing over a period keeps live work waiting; a try"
        " that would take longer changes nothing and is made again later.",
    )
    budget_seconds: Seconds = Field(
        60.0,
        gt=0,
        le=86_400,
        description="Seconds after which an archive sweep leaves the rest to the next one.",
    )
    keep_days: Count = Field(
        0,
        ge=0,
        le=36_500,
        description="Days from its end after which a period of the archive may be dropped though it was not"
        " exported. 0: never.",
    )
    policies: ArchivePolicies = Field(
        default_factory=ArchivePolicies,
        description="What becomes of workflows by how they ended, `archive` or `keep`: `complete`, `error`, "
        "`cancelled`, `resolved_manually` (all `archive`). Templates may say otherwise.",
    )
