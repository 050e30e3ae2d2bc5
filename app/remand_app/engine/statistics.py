"""Figures of the dead letter queue: amounts, kinds, ages, and how fast letters are closed. Source: C11."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from remand_app.engine.engine import Engine
from remand_app.store import group_counts
from remand_app.store import statistics as store
from remand_app.store.statistics import Count

HOURS = 24


@dataclass(frozen=True, slots=True)
class Utilisation:
    """How full a dead queue is. Full is a warning, never a drop."""

    name: str
    description: str
    open: int
    limit: int
    share: float
    is_nearly_full: bool


@dataclass(frozen=True, slots=True)
class Statistics:
    """The figures; times to close are means over all letters ever closed."""

    open: int
    unclaimed: int
    opened: int
    """Ever."""
    closed: int
    """Ever; a letter that was opened again and closed again counts twice."""
    mean_seconds_to_close: float | None
    oldest_open_at: datetime | None
    opened_by_hour: list[int]
    """Of the last 24 hours, oldest first."""
    by_reason: list[Count]
    by_category: list[Count]
    by_policy: list[Count]
    by_status: list[Count]
    by_template: list[Count]
    dead_queues: list[Utilisation]


def statistics(engine: Engine, *, namespace: str | None = None) -> Statistics:
    """Return the figures, of one namespace or of all, true to this moment. Transaction: some short ones.

    Cost: grows with the number of kinds of letters, not with the number of letters.
    """
    database = engine.database
    group_counts.fold(database)
    by_reason = store.counted(database, "reason", namespace)
    by_status = store.counted(database, "status", namespace)
    now_in = {status.name: status.now for status in by_status}
    closed = sum(status.closed for status in by_status)
    spent = sum((status.mean_seconds_to_close or 0.0) * status.closed for status in by_status)
    return Statistics(
        open=now_in.get("pending", 0) + now_in.get("investigating", 0),
        unclaimed=now_in.get("pending", 0),
        opened=sum(reason.ever for reason in by_reason),
        closed=closed,
        mean_seconds_to_close=spent / closed if closed else None,
        oldest_open_at=store.oldest_open(database, namespace),
        opened_by_hour=_by_hour(engine, namespace),
        by_reason=by_reason,
        by_category=store.counted(database, "category", namespace),
        by_policy=store.counted(database, "policy", namespace),
        by_status=by_status,
        by_template=store.counted(database, "template", namespace),
        dead_queues=utilisation(engine),
    )


def utilisation(engine: Engine) -> list[Utilisation]:
    """Return how full each dead queue is, as last counted. Transaction: own."""
    spec = engine.settings.dlq
    filled = []
    for dead_queue in store.held(engine.database):
        limit = dead_queue.own_limit or spec.size_limit
        share = dead_queue.open / limit
        filled.append(
            Utilisation(
                dead_queue.name,
                dead_queue.description,
                dead_queue.open,
                limit,
                share,
                share >= spec.size_warning_share,
            )
        )
    return filled


def _by_hour(engine: Engine, namespace: str | None) -> list[int]:
    now = engine.instant()
    first = now.replace(minute=0, second=0, microsecond=0) - timedelta(hours=HOURS - 1)
    hours = [0] * HOURS
    for hour, opened in store.opened_by_hour(engine.database, first, namespace):
        place = int((hour - first).total_seconds() // 3600)
        if 0 <= place < HOURS:
            hours[place] = opened
    return hours
