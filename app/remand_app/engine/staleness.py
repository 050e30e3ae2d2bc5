"""Report the staleness of workflows that have not ended; the sweep and every list use this module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from remand_app.domain.page import Page
from remand_app.domain.staleness import Health, WorkflowStaleness
from remand_app.engine.engine import Engine
from remand_app.engine.worker_limits import limits_of
from remand_app.store import staleness

NOT_HEALTHY: Final = (Health.STALE, Health.WARNING)


def settings_of(engine: Engine) -> str:
    """Return the lifecycle that is set, and when a worker counts as gone, for the database functions."""
    return staleness.said(engine.settings.staleness.lifecycle, limits_of(engine.settings))


def shown(
    engine: Engine,
    healths: Sequence[Health] = NOT_HEALTHY,
    *,
    after: str | None = None,
    limit: int = 200,
) -> Page[WorkflowStaleness]:
    """Return the staleness of workflows: stale ones first, then those stale soonest. Transaction: own.

    Of the healthy ones, only those that have been longest in their state.

    Raises:
        InputInvalid: `after` is no cursor of this list.
    """
    with engine.database.begin() as connection:
        now = engine.now(connection)
        return staleness.find_shown(connection, settings_of(engine), now, healths, after=after, limit=limit)


def would_take(engine: Engine, *, after: str | None = None, limit: int = 200) -> Page[WorkflowStaleness]:
    """Return what a sweep would take out of work now, in its order. Transaction: own; nothing is changed.

    Raises:
        InputInvalid: `after` is no cursor of this list.
    """
    with engine.database.begin() as connection:
        return staleness.find_stale(connection, settings_of(engine), engine.now(connection), after, limit)
