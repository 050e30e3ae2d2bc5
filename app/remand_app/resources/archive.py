"""The archive, as every door shows it: what it holds by period, and what went in and out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from remand_app.domain.page import Page
from remand_app.resources.values import part_of
from remand_app.store import archive_runs
from remand_app.store.database import Database


@dataclass(frozen=True, slots=True)
class ArchiveRun:
    """A move into the archive or out of it, or an export; `place` is the directory of that."""

    id: UUID
    kind: Literal["archive", "restore", "export", "drop"]
    path: Literal["period", "batch"]
    period: str
    starts_at: datetime | None
    ends_at: datetime | None
    workflows: int
    steps: int
    attempts: int
    history: int
    stayed: int
    bytes_before: int
    bytes: int
    lock_ms: float | None
    started_at: datetime
    ended_at: datetime
    verified_at: datetime | None
    by: str
    place: str | None


@dataclass(frozen=True, slots=True)
class ArchivedPeriod:
    """What the archive holds of a period; "default": of none. `bytes` as of the last run."""

    period: str
    starts_at: datetime | None
    ends_at: datetime | None
    workflows: int
    steps: int
    attempts: int
    moves: int
    bytes: int
    moved_whole: bool
    restored: int
    dropped: int
    exported_at: datetime | None
    lock_ms: float | None
    first_archived_at: datetime | None
    last_archived_at: datetime | None
    verified: bool


@dataclass(frozen=True, slots=True)
class ArchiveStatus:
    """What the archive holds, and what was moved last."""

    periods: list[ArchivedPeriod]
    runs: Sequence[ArchiveRun]
    """Newest first."""


def status(database: Database, limit: int) -> ArchiveStatus:
    """Return what the archive holds, and its last moves. Transaction: two short ones."""
    return ArchiveStatus(periods(database), runs(database, limit=limit).items)


def periods(database: Database) -> list[ArchivedPeriod]:
    """Return what the archive holds, a row for each period, oldest first. Transaction: own."""
    return archive_runs.statistics(database, ArchivedPeriod)


def runs(database: Database, *, after: str | None = None, limit: int = 50) -> Page[ArchiveRun]:
    """Return the moves, newest first. Transaction: own.

    Raises:
        InputInvalid: the cursor is none.
    """
    page = archive_runs.list_page(database, after=after, limit=limit)
    return page.each(lambda run: part_of(run, ArchiveRun))
