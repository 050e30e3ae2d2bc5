"""How long a worker holds its claims before others may take them back."""

from __future__ import annotations

from remand_app.config import Settings

_RECORD_SECONDS = 30.0
"""Time to record the end of a step that was killed."""


def lease_slack(settings: Settings) -> float:
    """Return what a lease adds to the step's timeout, seconds: the kill grace and time to record the end."""
    return settings.hard_timeout_grace_seconds + _RECORD_SECONDS
