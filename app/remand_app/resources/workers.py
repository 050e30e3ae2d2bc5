"""Workers, as every door shows them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from remand_app.engine.engine import Engine
from remand_app.engine.worker_limits import limits_of, live_workers
from remand_app.store.workers import WorkerRow, listed

__all__ = ["Worker", "WorkerRow", "silent_seconds", "workers"]


@dataclass(frozen=True, slots=True)
class Worker:
    """One start of a worker."""

    id: UUID
    hostname: str
    pid: int
    queues: list[str]
    pool: str
    concurrency: int
    version: str
    code_version: str | None
    started_at: datetime
    heartbeat_at: datetime
    stopped_at: datetime | None
    is_alive: bool


def workers(engine: Engine, *, ended: bool = False) -> list[Worker]:
    """Return the workers that are alive, newest first; `ended`: the others, too.

    Transaction: two short ones.
    """
    live = {worker.id for worker in live_workers(engine)}
    return [
        Worker(
            **{name: getattr(row, name) for name in Worker.__slots__ if name != "is_alive"},
            is_alive=row.id in live,
        )
        for row in listed(engine.database)
        if ended or row.id in live
    ]


def silent_seconds(engine: Engine) -> float:
    """Return the age of a heartbeat from which a worker counts as silent."""
    return limits_of(engine.settings).silent
