"""Keep what was last seen for some seconds, so that many who ask cost one look."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class LastLook(Generic[T]):
    """What was last seen. Threads may share it: one looks at a time."""

    seen: T
    """Not set before the first look."""

    def __init__(self, keep_seconds: float, *, seconds: Callable[[], float] = time.monotonic) -> None:
        self._keep_seconds = keep_seconds
        self._seconds = seconds
        self._lock = threading.Lock()
        self._until = float("-inf")

    @property
    def is_fresh(self) -> bool:
        """True while what was last seen is young enough."""
        return self._seconds() < self._until

    def get(self, look: Callable[[], T], *, waits: bool = True) -> T:
        """Return what was seen at most `keep_seconds` ago, else look again. Raises what `look` raises.

        Without `waits`, who asks while another looks gets what was seen before, if anything was.
        """
        if not self.is_fresh and self._lock.acquire(blocking=waits or not hasattr(self, "seen")):
            try:
                if not self.is_fresh:
                    self.seen = look()
                    self._until = self._seconds() + self._keep_seconds
            finally:
                self._lock.release()
        return self.seen
