"""Say what the rule of staleness goes by in this process; the sweep and every list ask it."""

from __future__ import annotations

from app.engine.context import Engine
from app.engine.limits import limits_of
from app.store import staleness


def settings_of(engine: Engine) -> str:
    """Return the lifecycle that is set, and when a worker counts as gone, for the database functions."""
    return staleness.said(engine.settings.staleness.lifecycle, limits_of(engine.settings))
