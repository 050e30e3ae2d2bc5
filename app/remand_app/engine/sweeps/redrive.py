"""Redrive sweep: carry out what people ordered for many dead letters, batch by batch.

Two at once are harmless: the sweep that holds an order's row moves the order on, and the row keeps the rate.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timedelta

from remand_app.domain.queues import MAINTENANCE
from remand_app.engine.engine import Engine
from remand_app.engine.redrive.run import advance
from remand_app.store import redrives
from remand_app.telemetry import log

SLICE_SECONDS = 3.0
"""Seconds after which a sweep lets others go first; it rings for itself then."""
PLAN_AGE = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class RedriveResult:
    """What one sweep did."""

    dealt_with: int
    forgotten: int
    """Plans that nobody started within a day."""

    @property
    def moved(self) -> int:
        """How much was moved."""
        return self.dealt_with + self.forgotten


def redrive(engine: Engine) -> RedriveResult:
    """Sweep once: move every redrive on as far as it goes now. Transaction: one a batch of each.

    Redrives take turns, a batch each, so that a large one does not hold up a small one.
    """
    ends_at = time.monotonic() + SLICE_SECONDS
    dealt_with = 0
    going = redrives.active_ids(engine.database)
    while going and time.monotonic() < ends_at:
        turned = [(redrive_id, advance(engine, redrive_id)) for redrive_id in going]
        dealt_with += sum(done.dealt_with for _, done in turned)
        going = [redrive_id for redrive_id, done in turned if done.again]
    if going:
        engine.bell.ring([MAINTENANCE])
    forgotten = redrives.forget_plans(engine.database, _now(engine) - PLAN_AGE)
    if dealt_with or forgotten:
        log("sweep.ended", sweep="redrive", moved=dealt_with)
    return RedriveResult(dealt_with, forgotten)


def _now(engine: Engine) -> datetime:
    with engine.database.begin() as connection:
        return engine.now(connection)
