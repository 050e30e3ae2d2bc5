"""How a process of the pool ended, told after Celery reaped it: the pool's own record, kept while needed."""

from __future__ import annotations

import signal
from typing import Any

from app.engine.guard import GONE, end_of_process


class Children:
    """The processes of a prefork pool by pid; empty for pools without processes."""

    def __init__(self, pool: Any) -> None:
        """`pool`: Celery's pool object."""
        self._pool = pool
        self._known: dict[int, Any] = {}

    def how_ended(self, pid: int) -> str | None:
        """Return how a process ended ("SIGKILL", "exit status 3"), None while it lives."""
        for process in list(getattr(getattr(self._pool, "_pool", None), "_pool", None) or ()):
            self._known.setdefault(process.pid, process)
        ended = end_of_process(pid)
        if ended is None:
            return None
        process = self._known.pop(pid, None)
        if ended != GONE or process is None:
            return ended
        # Read, not polled: polling would reap, and that is the pool's to do.
        return _told(getattr(getattr(process, "_popen", None), "returncode", None))


def _told(returncode: int | None) -> str:
    if returncode is None:
        return GONE
    if returncode < 0:
        return signal.Signals(-returncode).name
    return f"exit status {returncode}"
