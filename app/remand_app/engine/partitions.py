"""Inspect the partitions: what is wrong with them, and what each one holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from remand_app.domain.partition_check import DefaultRows, Fault, find_faults
from remand_app.engine.engine import Engine
from remand_app.store import diagnosis
from remand_app.store import partitions as stored
from remand_app.store.partitions import PartitionStatus


@dataclass(frozen=True, slots=True)
class Listed:
    """The periods that the live tables have, and the rows outside them."""

    periods: Sequence[PartitionStatus]
    live: Mapping[str, int]
    """Workflows that are in no final state, by name of the period."""
    default: Sequence[DefaultRows]


def faults(engine: Engine) -> list[Fault]:
    """Return what is wrong with the partitions, failures first. Changes nothing."""
    now = engine.clock.fixed() or diagnosis.server_time(engine.database)
    laid = stored.catalogue(engine.database)
    ends = [partition.ends_at for partition in laid if partition.home == "live" and partition.ends_at]
    defaults = stored.default_rows(engine.database, max(ends, default=now))
    return find_faults(laid, defaults, engine.settings.partitions_ahead, now)


def listed(engine: Engine) -> Listed:
    """Return the periods in order of time, and the rows that belong to none. Changes nothing."""
    periods = stored.periods(engine.database)
    ends_at = periods[-1].ends_at if periods else diagnosis.server_time(engine.database)
    live = stored.live_workflows(
        engine.database, [period.name for period in periods if "workflows" in period.tables]
    )
    return Listed(periods, live, stored.default_rows(engine.database, ends_at))
