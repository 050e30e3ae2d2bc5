"""Wait for something to come about, by looking again until a deadline: the only form of waiting in tests."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_FIRST_PAUSE_SECONDS = 0.005
_LONGEST_PAUSE_SECONDS = 0.1


def eventually(check: Callable[[], T], *, timeout: float = 10, message: str = "") -> T:
    """Return the first true value of `check()`; an AssertionError in it counts as "not yet".

    Raises: AssertionError after `timeout` seconds, with what `check` said last.
    """
    deadline = time.monotonic() + timeout
    pause = _FIRST_PAUSE_SECONDS
    while True:
        complaint: AssertionError | None = None
        try:
            value = check()
        except AssertionError as error:
            complaint = error
        else:
            if value:
                return value
        if time.monotonic() >= deadline:
            said = complaint if complaint is not None else f"last value: {value!r}"
            raise AssertionError(f"{message or 'not so'} within {timeout} s; {said}") from complaint
        time.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
