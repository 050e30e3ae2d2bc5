"""How a process of the pool ended, as known after Celery has reaped it: read from the pool's own record."""

from __future__ import annotations

import signal
from typing import Any

from remand_app.engine.child_supervisor import GONE, end_of_process


class Children:
    """The processes of a prefork pool by pid; empty for pools without processes."""

    def __init__(self, pool: Any) -> None:
        """`pool`: Celery's pool object, started."""
        self._known: dict[int, Any] = {}
        self._unexplained: set[int] = set()
        processes = getattr(pool, "_pool", None)
        if hasattr(processes, "_create_worker_process"):
            self._follow(processes)

    def how_ended(self, pid: int) -> str | None:
        """Return how a process ended ("SIGKILL", "exit status 3"), None while it lives or is being reaped."""
        ended = end_of_process(pid)
        if ended == GONE and pid in self._known:
            # Read, not polled: polling would reap the process, which is the pool's task.
            ended = _told(getattr(getattr(self._known[pid], "_popen", None), "returncode", None))
        if ended == GONE and pid not in self._unexplained:
            # The pool may have just reaped the process, and be about to note how it ended.
            self._unexplained.add(pid)
            return None
        if ended is not None:
            self._unexplained.discard(pid)
            self._known.pop(pid, None)
        return ended

    def _follow(self, processes: Any) -> None:
        """Record every process when it starts: one may start, be killed and be reaped between two checks."""
        create = processes._create_worker_process  # noqa: SLF001 - billiard tells nobody in another way

        def created(index: int) -> Any:
            process = create(index)
            self._known[process.pid] = process
            return process

        processes._create_worker_process = created  # noqa: SLF001 - as above
        self._known.update({process.pid: process for process in processes._pool})  # noqa: SLF001 - as above


def _told(returncode: int | None) -> str:
    if returncode is None:
        return GONE
    if returncode < 0:
        return signal.Signals(-returncode).name
    return f"exit status {returncode}"
