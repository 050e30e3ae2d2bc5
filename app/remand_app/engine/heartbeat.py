"""The heartbeat of a step: what `ctx.heartbeat()` does."""

from __future__ import annotations

import time
from collections.abc import Callable


class Heartbeat:
    """Reaches the database at most once an interval, however often a handler calls it."""

    def __init__(self, interval_seconds: float, renew: Callable[[], None]) -> None:
        self._interval = interval_seconds
        self._renew = renew
        self._next = 0.0

    def __call__(self) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + self._interval
            self._renew()
