"""How long a worker holds what it has claimed before others may take it back."""

from __future__ import annotations

from app.config import Settings

_RECORD_SECONDS = 30.0
"""Time to record how a step ended, after it was killed."""


def lease_slack(settings: Settings) -> float:
    """Return what a lease adds to the step's timeout, seconds: the kill grace and time to record the end."""
    return settings.hard_timeout_grace_seconds + _RECORD_SECONDS
