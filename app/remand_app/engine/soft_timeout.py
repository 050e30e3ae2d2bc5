"""The soft limit of a step: `StepTimeout`, raised in the handler by an interval timer."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from remand.errors import StepTimeout

_TOO_LONG: Final = "the step ran longer than its timeout"


class SoftTimeout:
    """An interval timer that raises in the main thread while a handler runs."""

    def __init__(self) -> None:
        self._armed = False
        self._installed = False
        self._deferred = False
        self._late = False

    @property
    def can_interrupt(self) -> bool:
        """Whether a handler that is called now can be interrupted."""
        return self._installed

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Defer the interrupt while a database call runs in here; raise right after it, failed or not."""
        self._deferred = True
        try:
            yield
        finally:
            self._deferred = False
            if self._late:
                self._late = False
                raise StepTimeout(_TOO_LONG)

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Own SIGALRM for a while. Done once a drain, because it costs more than a short step."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGALRM, self._raise)
        self._installed = True
        try:
            yield
        finally:
            self._installed = False
            signal.signal(signal.SIGALRM, before)

    def arm(self, seconds: float) -> None:
        """Raise `StepTimeout` after `seconds`."""
        if self._installed:
            self._armed = True
            signal.setitimer(signal.ITIMER_REAL, seconds)

    def disarm(self) -> None:
        """Stop the timer; the flag is cleared first, so that a late alarm does nothing."""
        self._armed = False
        self._late = False
        if self._installed:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _raise(self, _signum: int, _frame: FrameType | None) -> None:
        if self._armed and self._deferred:
            self._late = True
        elif self._armed:
            raise StepTimeout(_TOO_LONG)
