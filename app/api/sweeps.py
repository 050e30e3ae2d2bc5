"""`/sweeps`: does everything that runs by itself run, and does it go well?"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from fastapi import APIRouter
from starlette.responses import Response

from app.api.answers import whole
from app.api.contract import Page
from app.api.parts import EngineOf, QueueReader
from app.engine.sweeps import standing
from app.engine.sweeps.standing import SweepState

router = APIRouter(tags=["queues and workers"])


@dataclass(frozen=True, slots=True)
class Sweep:
    """How one sweep stands; `moved` and the like count rows, `worker` is who noted its last run."""

    name: str
    state: SweepState
    interval_seconds: float
    is_overdue: bool
    age_seconds: float | None
    last_started_at: datetime | None
    last_success_at: datetime | None
    last_duration_seconds: float | None
    last_moved: int
    last_moved_at: datetime | None
    failures_in_a_row: int
    failing_since: datetime | None
    last_failed_at: datetime | None
    last_error: str | None
    last_error_message: str | None
    runs: int
    failures: int
    moved: int
    worker: str | None


@router.get("/sweeps", response_model=Page[Sweep], summary="List the sweeps")
def list_sweeps(engine: EngineOf, caller: QueueReader) -> Response:
    """List what runs by itself: when each last went well, since when it fails, whether it is overdue."""
    return whole(one.to_dict() for one in standing.sweeps(engine))
