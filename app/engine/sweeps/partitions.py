"""Partition sweep: the coming months have their partitions before they come."""

from __future__ import annotations

from app.engine.context import Engine
from app.store import sweeping
from app.telemetry import log


def partitions(engine: Engine) -> list[str]:
    """Create what is missing; return the new partitions. Transaction: own. Idempotent: by name."""
    created = sweeping.ensure_partitions(engine.database, engine.clock, engine.settings.partitions_ahead)
    for name in created:
        log("partition.created", partition=name)
    return created
