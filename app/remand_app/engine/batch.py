"""The claims of one drain and the results that are not settled yet, shared by two threads.

The main thread runs handlers. The thread of `long_step_monitor` takes care of claims that wait behind a long
step.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from remand_app.store.claims import Claim, Completed, EndedBadly


@dataclass(slots=True)
class Ended:
    """Ends that are not recorded yet."""

    good: list[Completed] = field(default_factory=list)
    bad: list[EndedBadly] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.good or self.bad)


class Batch:
    """What this process holds. Every method is safe to call from both threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._todo: deque[Claim] = deque()
        self._ended = Ended()
        self._kept = Ended()
        self._current: Claim | None = None
        self._since = 0.0

    def add(self, claims: Iterable[Claim]) -> None:
        """Add claims to the batch."""
        with self._lock:
            self._todo.extend(claims)

    def start(self) -> Claim | None:
        """Take the next claim to run, None when there is none."""
        with self._lock:
            self._current = self._todo.popleft() if self._todo else None
            self._since = time.monotonic()
            return self._current

    def end(self, end: Completed | EndedBadly | None) -> None:
        """Note how the current claim ended; None when there is nothing to record."""
        with self._lock:
            self._current = None
            if isinstance(end, Completed):
                self._ended.good.append(end)
            elif end is not None:
                self._ended.bad.append(end)

    def take_ended(self) -> Ended:
        """Take the ends that are to be recorded now."""
        with self._lock:
            ended, self._ended = self._ended, Ended()
            return ended

    def put_back(self, ended: Ended) -> None:
        """Put back ends that could not be recorded."""
        with self._lock:
            self._ended.good[:0] = ended.good
            self._ended.bad[:0] = ended.bad

    def keep(self, ended: Ended) -> None:
        """Keep ends that cannot be recorded for now, even one by one; another drain tries again."""
        with self._lock:
            self._kept.good += ended.good
            self._kept.bad += ended.bad

    def take_kept(self) -> Ended:
        """Take the ends that an earlier drain could not record."""
        with self._lock:
            kept, self._kept = self._kept, Ended()
            return kept

    def kept(self) -> int:
        """Return how many ends wait for another drain."""
        with self._lock:
            return len(self._kept.good) + len(self._kept.bad)

    def take_current(self) -> list[Claim]:
        """Take the claim whose run never came to an end, if there is one."""
        with self._lock:
            current = [self._current] if self._current is not None else []
            self._current = None
            return current

    def take_todo(self) -> list[Claim]:
        """Take the claims that are not started, to give them back."""
        with self._lock:
            todo = list(self._todo)
            self._todo.clear()
            return todo

    def waiting(self) -> int:
        """Return how many claims are not started."""
        with self._lock:
            return len(self._todo)

    def held_up(self, seconds: float) -> bool:
        """Return whether the current handler has run for `seconds` and something waits behind it."""
        with self._lock:
            late = self._current is not None and time.monotonic() - self._since >= seconds
            return late and bool(self._todo or self._ended)

    def held(self) -> list[Claim | EndedBadly]:
        """Return every claim of this batch: started or not, ended well or badly."""
        with self._lock:
            current = [self._current] if self._current is not None else []
            good = (done.claim for done in (*self._ended.good, *self._kept.good))
            return [*current, *self._todo, *good, *self._ended.bad, *self._kept.bad]
