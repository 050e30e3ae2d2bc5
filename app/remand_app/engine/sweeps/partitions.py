"""Partition sweep: create the partitions of coming periods in advance."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import assert_never

from remand_app.domain.errors import Busy
from remand_app.domain.notifications import Notice, NotificationKind
from remand_app.domain.partitions import Interval, Period, missing_periods, shortened
from remand_app.engine.engine import Engine
from remand_app.engine.enqueue_notifications import enqueue_many, wanted
from remand_app.store import diagnosis, new_periods
from remand_app.store import partitions as stored
from remand_app.store.new_periods import Made, Patience, TooMuch
from remand_app.telemetry import log


def partitions(engine: Engine, patience: Patience | None = None) -> list[str]:
    """Create what is missing; return the new tables. Idempotent: by name.

    A past period is created only for rows that wait for it in the default partitions. If these rows are too
    many to move while live work waits, they stay, and the period begins at the next midnight.

    Raises:
        Busy: others held a default partition all the time; what was made so far stays, the next run goes on.

    Transaction: one for each period. What is still missing at the end is notified.
    """
    now = engine.clock.fixed() or diagnosis.server_time(engine.database)
    created: list[str] = []
    try:
        for period in _wanted(engine, now):
            created += _make(engine, period, now, patience or Patience())
    except Busy:
        tell_missing(engine, now)
        raise
    tell_missing(engine, now)
    return created


def tell_missing(engine: Engine, now: datetime) -> int:
    """Enqueue a notice for every period that is not there though it should be; return how many are new.

    Transaction: own. Idempotent: once for each period.
    """
    if not wanted(engine.settings, NotificationKind.PARTITION_MISSING):
        return 0
    existing = stored.periods(engine.database)
    missing = missing_periods(_interval(engine), engine.settings.partitions_ahead, now, existing)
    notices = [_missing(period) for period in missing if period.ends_at > now]
    with engine.database.begin() as connection:
        return enqueue_many(connection, engine.settings, notices, engine.now(connection))


def _missing(period: Period) -> Notice:
    starts_at, ends_at = f"{period.starts_at:%Y-%m-%d}", f"{period.ends_at:%Y-%m-%d}"
    return Notice(
        NotificationKind.PARTITION_MISSING,
        period.name,
        f"workflows of {starts_at} until {ends_at} have no partition, and fall into the default one",
        {"starts_at": period.starts_at.isoformat(), "ends_at": period.ends_at.isoformat()},
    )


def _wanted(engine: Engine, now: datetime) -> Iterator[Period]:
    settings, existing = engine.settings, stored.periods(engine.database)
    yield from (period.period for period in existing if not period.attached)
    for period in missing_periods(_interval(engine), settings.partitions_ahead, now, existing):
        if period.ends_at > now or new_periods.fallen_rows(engine.database, period, 1):
            yield period


def _make(engine: Engine, period: Period, now: datetime, patience: Patience) -> list[str]:
    made = new_periods.make_period(engine.database, period, now, patience)
    match made:
        case Made(tables, moved):
            for table in tables:
                log("partition.created", partition=table)
            if moved:
                log("partition.filled", partition=period.name, rows=moved)
            return list(tables)
        case TooMuch(rows):
            log("partition.deferred", partition=period.name, rows=rows)
            rest = shortened(period, _interval(engine), now)
            return _make(engine, rest, now, patience) if rest not in (None, period) else []
        case _:
            assert_never(made)


def _interval(engine: Engine) -> Interval:
    return Interval(engine.settings.partition_interval)
