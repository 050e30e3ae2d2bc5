"""Say whether a worker of this host is alive and hears its bells: `python -m remand_app.healthcheck [NODE]`.

Health checks run every few seconds, so it makes one query on a connection of its own and imports very little.
NODE is the worker's Celery name. Without it, the newest worker of this host is checked: a container has one.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Final

from remand_app.domain.errors import Unfit
from remand_app.domain.queues import MAINTENANCE
from remand_app.store.worker_health import WorkerHealth, worker_health

FOLDER: Final = Path("/run/remand")
"""Where workers and beat leave files for health checks, if there is such a folder."""
HEARD: Final = FOLDER / "heard"
"""Touched by a worker whenever it takes a message."""
RUNG: Final = FOLDER / "rung"
"""Touched by beat whenever it does its work."""

SILENT_SECONDS = 10.0
"""Age of a heartbeat from which the worker counts as unwell."""

PATIENCE_SECONDS = 20.0
"""How long work may wait for a worker that has nothing to do."""

SWEEPS_SECONDS = 60.0
"""How long a maintenance worker may hear nothing; beat rings it every second."""


def trouble(worker: WorkerHealth, heard_age: float | None) -> str | None:
    """Say what is wrong with a worker, None if nothing is.

    A worker that holds no claim while work waits for it is deaf: it is alive, its broker connection is not.
    `heard_age`: seconds since the worker took a message, None where it writes no files.
    """
    if worker.stopped:
        return "it has stopped, or was given up as gone"
    if worker.heartbeat_age > SILENT_SECONDS:
        return f"no heartbeat in Postgres for {worker.heartbeat_age:.0f} s"
    if worker.waiting_queue is not None and not worker.is_busy:
        return f"work waits in queue {worker.waiting_queue} and it takes none: is it deaf, or beat dead?"
    if MAINTENANCE in worker.queues and heard_age is not None and heard_age > SWEEPS_SECONDS:
        return f"no message for {heard_age:.0f} s: is it deaf, or beat dead?"
    return None


def main() -> int:
    """Return 0 if the worker is well, 1 with a line that says why not."""
    url = os.environ.get("REMAND_DATABASE_URL") or _configured_url()
    try:
        worker = worker_health(url, *sys.argv[1:2], patience_seconds=PATIENCE_SECONDS)
    except Unfit as error:
        sys.stdout.write(f"unhealthy: {error.message}\n")
        return 1
    fault = "it is not registered" if worker is None else trouble(worker, _age(HEARD))
    sys.stdout.write("healthy\n" if fault is None else f"unhealthy: {fault}\n")
    return 0 if fault is None else 1


def _configured_url() -> str:
    from remand_app.config import load_settings  # noqa: PLC0415 - who sets the variable does not wait for it

    return load_settings().database_url or ""


def _age(file: Path) -> float | None:
    try:
        return time.time() - file.stat().st_mtime
    except FileNotFoundError:
        return None


if __name__ == "__main__":
    raise SystemExit(main())
