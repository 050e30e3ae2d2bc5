"""The state of each sweep: its last success, since when it fails, whether it is overdue. Only reads."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from remand_app.beat_schedule import BEAT_SCHEDULE
from remand_app.engine.engine import Engine
from remand_app.engine.sweeps.runs import NOTE_SECONDS
from remand_app.store import sweep_runs
from remand_app.store.sweep_runs import SweepRun

INTERVALS = 3
"""Intervals without a successful run after which a sweep counts as overdue."""
SLACK_SECONDS = 2 * NOTE_SECONDS
"""Added to them, because a successful run that moved nothing is recorded late."""


class SweepState(StrEnum):
    """The state of a sweep."""

    WELL = "well"
    FAILING = "failing"
    """It runs, and its last run failed."""
    OVERDUE = "overdue"
    """It has not gone well for three intervals and more: nobody rings it, or nobody runs it."""
    NEVER = "never_ran"
    """It has not run yet, and need not have."""


@dataclass(frozen=True, slots=True)
class SweepStatus:
    """A sweep of beat's schedule."""

    name: str
    interval_seconds: float
    run: SweepRun | None
    """None: it never ran."""
    age_seconds: float | None
    """Since it last went well; None: it never did."""
    is_overdue: bool

    @property
    def state(self) -> SweepState:
        """The state. A sweep that fails is called failing, however long it has failed."""
        if self.run is not None and self.run.failures_in_a_row:
            return SweepState.FAILING
        if self.is_overdue:
            return SweepState.OVERDUE
        return SweepState.NEVER if self.run is None else SweepState.WELL

    @property
    def is_well(self) -> bool:
        """Whether the sweep needs no attention."""
        return self.state in (SweepState.WELL, SweepState.NEVER)


def sweeps(engine: Engine) -> list[SweepStatus]:
    """Return every sweep that beat rings, in the order of its schedule."""
    known = {run.name: run for run in sweep_runs.sweep_runs(engine.database)}
    with engine.database.begin() as connection:
        now = engine.now(connection)
    heard_since = sweep_runs.first_heard(engine.database)
    return [_standing(engine, name, known.get(name), heard_since, now) for name in BEAT_SCHEDULE]


def _standing(
    engine: Engine, name: str, run: SweepRun | None, heard_since: datetime | None, now: datetime
) -> SweepStatus:
    interval = engine.settings.interval_seconds(name)
    patience = INTERVALS * interval + SLACK_SECONDS + (run.last_duration_seconds if run else 0.0)
    well_at = run.last_success_at if run else None
    # A sweep that never went well is late once somebody has listened for it that long.
    since = well_at or heard_since
    waited = None if since is None else (now - since).total_seconds()
    age = None if well_at is None else max(0.0, (now - well_at).total_seconds())
    return SweepStatus(name, interval, run, age, waited is not None and waited > patience)
