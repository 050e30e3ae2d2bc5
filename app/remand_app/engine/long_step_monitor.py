"""Take care of claims that wait behind a long step.

When one handler runs longer than `flush_after_seconds`, this second thread of an executor settles the
finished steps and gives back the steps that are not started. So nothing waits behind a long step while
another worker is idle.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from remand_app.engine.batch import Batch


class LongStepMonitor:
    """The second thread of a drain. Sleeps while no batch is watched."""

    def __init__(self, interval_seconds: float, flush_early: Callable[[Batch], None]) -> None:
        """`flush_early`: called from the monitor's thread with the batch that is held up."""
        self._interval = max(interval_seconds, 0.001)
        self._flush_early = flush_early
        self._wake = threading.Event()
        self._batch: Batch | None = None
        self._idle = threading.Lock()
        self._thread: threading.Thread | None = None
        self._errors: deque[Exception] = deque()

    def raise_error(self) -> None:
        """Raise each error of an early flush once, in the caller's thread."""
        if self._errors:
            raise self._errors.popleft()

    def watch(self, batch: Batch | None) -> None:
        """Watch a batch from now on; None: stop, after an early flush under way has ended."""
        if batch is None:
            self._wake.clear()
            with self._idle:
                self._batch = None
            return
        with self._idle:
            self._batch = batch
        if self._thread is None:
            self._thread = threading.Thread(target=self._loop, name="remand-long-steps", daemon=True)
            self._thread.start()
        self._wake.set()

    def _loop(self) -> None:
        while True:
            self._wake.wait()
            time.sleep(self._interval)
            with self._idle:
                if self._batch is None or not self._batch.held_up(self._interval):
                    continue
                try:
                    self._flush_early(self._batch)
                except Exception as error:  # noqa: BLE001 - end of this thread: the main one raises it
                    self._errors.append(error)
