"""Processes forked for one test: each does its work, says that it is ready, and waits to be killed."""

from __future__ import annotations

import faulthandler
import os
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_FAILED = 70


@contextmanager
def forked(work: Callable[[], object]) -> Iterator[int]:
    """Yield the pid of a child that has done `work`; kill and reap it afterwards if nobody has.

    What is printed or raised in the child is lost: `work` that fails is seen by an AssertionError here.
    """
    ready, tell = os.pipe()
    with warnings.catch_warnings():
        # The threads of other tests' executors sleep; the child uses none of their locks.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        _live(work, tell)
    os.close(tell)
    try:
        with os.fdopen(ready, "rb") as answer:
            assert answer.read() == b"ready", "the child failed"
        yield pid
    finally:
        end(pid)


def dead(pid: int, sent: int = signal.SIGKILL) -> None:
    """Kill a child and return when it is dead; it is not reaped."""
    os.kill(pid, sent)
    died(pid)


def died(pid: int) -> None:
    """Return when a child is dead; it is not reaped."""
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


def end(pid: int) -> None:
    """Kill a child if it lives and reap it if nobody has."""
    try:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    except (ProcessLookupError, ChildProcessError):
        return


def _live(work: Callable[[], object], tell: int) -> None:
    faulthandler.disable()
    try:
        work()
        os.write(tell, b"ready")
        os.close(tell)
        while True:
            signal.pause()
    finally:
        os._exit(_FAILED)
