"""When a worker counts as dead according to the settings, and which workers are alive."""

from __future__ import annotations

from remand_app.config import Settings
from remand_app.engine.engine import Engine
from remand_app.store import diagnosis
from remand_app.store.sweeping import Limits
from remand_app.store.workers import WorkerRow

AWAY_SECONDS = 60.0
"""Shorter spans without a sweep or a worker do not count: restarts and deploys cause them."""


def limits_of(settings: Settings) -> Limits:
    """Return when a worker counts as dead."""
    return Limits(
        settings.worker_gone_after_seconds,
        settings.worker_silent_after_seconds,
        settings.rescue_pause_after_restart_seconds,
        max(AWAY_SECONDS, 3 * settings.interval_seconds("ring")),
    )


def live_workers(engine: Engine) -> list[WorkerRow]:
    """Return the workers that are alive. Transaction: own."""
    return diagnosis.live_workers(engine.database, limits_of(engine.settings), engine.clock)
