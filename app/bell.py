"""The bell that Celery workers hear: a message that says "queue X has work", nothing more.

Ringing is cheap to repeat and safe to lose. Within `WINDOW_SECONDS` one process rings a queue once; what came
meanwhile is announced at the end of the window.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Iterable

from celery import Celery
from kombu.exceptions import OperationalError

from app.telemetry import log

WINDOW_SECONDS = 0.01
_SILENCE_SECONDS = 1.0
RETRY_PREFIX = "retry."
_BROKER_DOWN = (OperationalError, ConnectionError, TimeoutError, OSError)


class CeleryBell:
    """Rings through a Celery app. Thread-safe; after a fork the child starts with nothing owed."""

    def __init__(self, app: Celery) -> None:
        self._app = app
        self._lock = threading.Lock()
        self._last: dict[str, float] = {}
        self._owed: set[str] = set()
        self._timer: threading.Timer | None = None
        self._mute_until = 0.0
        self._pid = os.getpid()
        atexit.register(self.flush)

    def ring(self, queues: Iterable[str]) -> None:
        """Ring for each queue, at once or at the end of its window. Never raises."""
        now = time.monotonic()
        due = []
        with self._lock:
            self._start_afresh_after_fork()
            for queue in set(queues):
                if now - self._last.get(queue, 0.0) >= WINDOW_SECONDS:
                    self._last[queue] = now
                    due.append(queue)
                else:
                    self._owe(queue)
        for queue in due:
            self._publish(queue)

    def flush(self) -> None:
        """Ring what is owed now; a program calls it before it exits."""
        with self._lock:
            self._start_afresh_after_fork()
            owed, self._owed = self._owed, set()
            self._timer = None
            now = time.monotonic()
            self._last.update(dict.fromkeys(owed, now))
        for queue in owed:
            self._publish(queue)

    def pending(self, queue: str) -> int:
        """Return how many bells of a queue lie in the broker; 0 when it cannot tell."""
        try:
            with self._app.connection_for_read() as connection, connection.channel() as channel:
                return int(channel.queue_declare(queue, passive=True).message_count)
        except connection_errors(self._app):
            return 0

    def _owe(self, queue: str) -> None:
        self._owed.add(queue)
        if self._timer is None:
            self._timer = threading.Timer(WINDOW_SECONDS, self.flush)
            self._timer.daemon = True
            self._timer.start()

    def _publish(self, queue: str) -> None:
        if time.monotonic() < self._mute_until:
            return
        name = "remand.drain_failures" if queue.startswith(RETRY_PREFIX) else "remand.drain"
        try:
            self._app.send_task(name, args=[queue], queue=queue, ignore_result=True, retry=False)
        except _BROKER_DOWN as error:
            # The work is committed: the ring sweep announces it once the broker is back.
            self._mute_until = time.monotonic() + _SILENCE_SECONDS
            log("bell.failed", queue=queue, error=type(error).__name__)

    def _start_afresh_after_fork(self) -> None:
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._owed = set()
            self._timer = None


def connection_errors(app: Celery) -> tuple[type[BaseException], ...]:
    """Return what the app's transport raises when the broker is away or a queue is not there."""
    connection = app.connection_for_read()
    return (*connection.connection_errors, *connection.channel_errors, *_BROKER_DOWN)
