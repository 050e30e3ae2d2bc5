"""`/archive`: what it holds, by period, and what went in and out of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from app.api.answers import page, whole
from app.api.contract import Page
from app.api.parts import After, EngineOf, Limit, QueueReader
from app.engine.archive import status
from app.store import archive_runs

router = APIRouter(tags=["queues and workers"])


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


@router.get("/archive", response_model=Page[ArchivedPeriod], summary="Show what the archive holds")
def show_archive(engine: EngineOf, caller: QueueReader) -> Response:
    """Tell of each period how many workflows are archived, how large they are, whether they are exported."""
    return whole(status(engine, 1).periods)


@router.get("/archive/runs", response_model=Page[ArchiveRun], summary="List what was archived and restored")
def list_archive_runs(
    engine: EngineOf, caller: QueueReader, cursor: After = None, limit: Limit = 50
) -> Response:
    """List the moves into the archive and out of it, newest first."""
    names = ArchiveRun.__slots__
    found = archive_runs.list_page(engine.database, after=cursor, limit=limit)
    return page(found.each(lambda one: {name: getattr(one, name) for name in names}))
