"""When a worker counts as dead, as the settings say it."""

from __future__ import annotations

from app.config import Settings
from app.store.sweeping import Limits

AWAY_SECONDS = 60.0
"""Shorter spans without a sweep or a worker are none: restarts, deploys."""


def limits_of(settings: Settings) -> Limits:
    """Return when a worker counts as dead."""
    return Limits(
        settings.worker_gone_after_seconds,
        settings.worker_silent_after_seconds,
        settings.rescue_pause_after_restart_seconds,
        max(AWAY_SECONDS, 3 * settings.ring_interval_seconds),
    )
