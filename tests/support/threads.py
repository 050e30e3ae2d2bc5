"""Run the same thing in several threads that all set off together."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def together(*calls: Callable[[], T]) -> list[T | BaseException]:
    """Run each call in a thread of its own, from one barrier; return what came back or was raised."""
    barrier = threading.Barrier(len(calls))
    ends: list[T | BaseException] = [AssertionError("it never ended")] * len(calls)

    def run(index: int, call: Callable[[], T]) -> None:
        barrier.wait()
        try:
            ends[index] = call()
        except BaseException as error:
            ends[index] = error

    threads = [threading.Thread(target=run, args=(n, call)) for n, call in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return ends


def values(ends: Sequence[T | BaseException]) -> list[T]:
    """Return what came back; raise what was raised."""
    for end in ends:
        if isinstance(end, BaseException):
            raise end
    return [end for end in ends if not isinstance(end, BaseException)]
