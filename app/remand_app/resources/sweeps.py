"""Sweeps, as every door shows them: whether each runs, and how its last runs went."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from remand_app.engine.engine import Engine
from remand_app.engine.sweeps import status
from remand_app.engine.sweeps.status import SweepState, SweepStatus

__all__ = ["Sweep", "SweepState", "sweeps"]


@dataclass(frozen=True, slots=True)
class Sweep:
    """How one sweep stands; `moved` and the like count rows, `worker` is who noted its last run."""

    name: str
    state: SweepState
    interval_seconds: float
    is_overdue: bool
    age_seconds: float | None
    last_started_at: datetime | None = None
    last_success_at: datetime | None = None
    last_duration_seconds: float | None = None
    last_moved: int = 0
    last_moved_at: datetime | None = None
    failures_in_a_row: int = 0
    failing_since: datetime | None = None
    last_failed_at: datetime | None = None
    last_error: str | None = None
    last_error_message: str | None = None
    runs: int = 0
    failures: int = 0
    moved: int = 0
    worker: str | None = None


def sweeps(engine: Engine) -> list[Sweep]:
    """Return how each sweep stands, in the order of the schedule. Transaction: own."""
    return [_sweep(standing) for standing in status.sweeps(engine)]


def _sweep(standing: SweepStatus) -> Sweep:
    own = ("name", "state", "interval_seconds", "is_overdue", "age_seconds")
    made = {name: getattr(standing, name) for name in own}
    if standing.run is not None:
        noted = [name for name in Sweep.__slots__ if name not in own and name != "worker"]
        made |= {name: getattr(standing.run, name) for name in noted}
        made["worker"] = standing.run.hostname or str(standing.run.worker)
    return Sweep(**made)
