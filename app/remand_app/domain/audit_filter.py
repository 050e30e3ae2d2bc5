"""The filter of the audit log: one value for the lists of all interfaces, and for the store."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from remand_app.domain.filters import asked


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which entries are wanted; None: any."""

    by: str | None = asked("Decided by whom.", label="Who")
    verb: str | None = asked(
        "`step.retry`; or a noun: all verbs of `step`.",
        typed="What was decided: step.retry; or a noun: step.",
        label="Verb",
        match="dotted",
        placeholder="step.retry",
    )
    kind: str | None = asked("Kind of thing it was about.")
    subject: str | None = asked("Id or name of what it was about.", label="Subject")
    workflow_id: UUID | None = asked(
        "About this workflow.", typed="About this workflow; its id.", option="--workflow"
    )
    since: datetime | None = asked(
        "At this instant or later.", typed="24h, 2026-11-27T08:00.", match="from", column="at"
    )
