"""State shared by the parts of an executor: the batch, the report, and the waits for the database."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from remand_app.config import Settings
from remand_app.domain.errors import Busy
from remand_app.engine.attempt_counter import AttemptCounter
from remand_app.engine.batch import Batch
from remand_app.engine.bell import Bell
from remand_app.engine.process_table import ProcessTable
from remand_app.store.database import NOT_NOW
from remand_app.store.run_queue import RunQueue
from remand_app.telemetry import log

T = TypeVar("T")
_PAUSES_SECONDS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
BUSY_TRIES = len(_PAUSES_SECONDS)
"""Tries to record ends together while others hold the rows, before the ends are divided."""
_LAST_TRIES = 3
"""Tries of a stopping worker for a call that the database does not serve at once."""
_MOST_KEPT = 100
"""Most ends that a process holds because it cannot record them."""


@dataclass(slots=True)
class Drained:
    """What one drain did."""

    queue: str
    claimed: int = 0
    completed: int = 0
    failed: int = 0
    given_back: int = 0
    batches: int = 0
    seconds: float = 0.0
    rung: set[str] = field(default_factory=set)

    def fields(self) -> dict[str, object]:
        """Return the fields for the log."""
        return {
            "queue": self.queue,
            "claimed": self.claimed,
            "completed": self.completed,
            "failed": self.failed,
            "given_back": self.given_back,
            "batches": self.batches,
            "duration_seconds": round(self.seconds, 4),
        }


class DrainState:
    """The state of one process's executor; kept over all its drains, except for the report."""

    def __init__(
        self,
        *,
        queue: RunQueue,
        bell: Bell,
        settings: Settings,
        counter: AttemptCounter,
        processes: ProcessTable | None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """Take a free slot in `processes`; None: no main process watches this one."""
        self.queue = queue
        self.bell = bell
        self.settings = settings
        self.counter = counter
        self.processes = processes
        self.slot = processes.acquire() if processes is not None else None
        self.pause = pause
        self.batch = Batch()
        self.report = Drained("")
        # An answer was lost: this process may hold claims that it does not know of.
        self.doubtful = False
        self._lock = threading.Lock()

    def note(self, **numbers: int) -> None:
        """Add to the report; the long step monitor calls this, too."""
        with self._lock:
            for name, number in numbers.items():
                setattr(self.report, name, getattr(self.report, name) + number)

    def ring(self, queues: Iterable[str]) -> None:
        """Ring for queues that got work."""
        ringing = set(queues)
        if ringing:
            self.report.rung |= ringing
            self.bell.ring(ringing)

    def call(self, call: Callable[[], T], busy_tries: int | None = None) -> T:
        """Call the database until it answers; without it this process can do nothing else.

        Raises:
            DatabaseUnreachable: the worker stops; the rescue sweep takes back what is held.
            Busy: so does this; or others were in the way `busy_tries` times.
        """
        tries = 0
        while True:
            try:
                return call()
            except NOT_NOW as error:
                self.doubtful = True
                most = busy_tries if isinstance(error, Busy) else None
                if self.is_stopping():
                    most = _LAST_TRIES
                seconds = pause_seconds(tries)
                tries += 1
                if most is not None and tries >= most:
                    raise
                log("settle.retried", error=error.message, tries=tries, delay_seconds=seconds)
                self.pause(seconds)

    def is_stopping(self) -> bool:
        """Return whether this process must stop, with its worker or alone."""
        if self.processes is None or self.slot is None:
            return False
        return self.processes.stopping or self.slot.leaving

    def is_stuck(self) -> bool:
        """Return whether no result can be recorded here: to run more would only lose more."""
        return self.batch.kept() >= min(self.settings.batch_size, _MOST_KEPT)


def pause_seconds(tries: int) -> float:
    """Return how long to wait after this many failed tries, seconds."""
    return _PAUSES_SECONDS[min(tries, len(_PAUSES_SECONDS) - 1)]
