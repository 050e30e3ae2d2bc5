"""What the ledger's service saw: each call, each switch, each booking. Safe to share between threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Literal

Answer = Literal["booked", "unavailable", "reset"]

_WAYS_TO_FAIL: tuple[Answer, ...] = ("unavailable", "reset")


class Record:
    """Decide on each call and write it down."""

    def __init__(self, seconds: Callable[[], float] = time.time) -> None:
        """`seconds`: a clock, in seconds since 1970."""
        self._seconds = seconds
        self._lock = threading.Lock()
        self._is_down = False
        self._calls: list[tuple[float, Answer]] = []
        self._switches: list[tuple[float, str]] = []
        self._entries: dict[str, str] = {}

    def switch(self, state: str) -> None:
        """Go "down" or come "up"."""
        with self._lock:
            self._is_down = state == "down"
            self._switches.append((self._seconds(), state))

    def call(self, key: str) -> tuple[Answer, str]:
        """Take a call; return how it is answered, and the entry ("" if it fails).

        Down, the two ways to fail take turns: a balancer that says 503, a connection that breaks.
        """
        with self._lock:
            if self._is_down:
                answer = _WAYS_TO_FAIL[len(self._calls) % 2]
                self._calls.append((self._seconds(), answer))
                return answer, ""
            self._calls.append((self._seconds(), "booked"))
            return "booked", self._entries.setdefault(key, f"entry-{len(self._entries) + 1}")

    def to_dict(self) -> dict[str, Any]:
        """Return {"calls": [[at, answer], …], "switches": [[at, state], …], "entries": count}."""
        with self._lock:
            return {
                "calls": [list(one) for one in self._calls],
                "switches": [list(one) for one in self._switches],
                "entries": len(self._entries),
            }
