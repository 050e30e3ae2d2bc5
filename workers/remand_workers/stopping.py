"""What a signal that asks to end does to a worker: the same in every process that gets it.

systemd (`KillMode=control-group`), supervisord (`stopasgroup`) and a closed terminal send such signals to
every process of the worker at once. The main process stops warm, and gives steps `shutdown_grace_seconds`. A
child ends between two tasks, never within one: Celery would raise `SystemExit` in the middle of a handler.
The main process kills steps that still run after the grace, and gives them back as interrupted.
Source: celery/celery#2700, #6541, #7324.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from billiard.common import TERM_SIGNAL
from billiard.process import current_process
from celery.apps.worker import safe_say
from celery.signals import task_postrun, task_prerun, worker_process_init, worker_shutting_down
from celery.worker import state

from remand_app.domain.stopping import STOP_SIGNALS
from remand_workers import process

_LEAVE_AFTER_SECONDS = 0.05
"""From the end of a child's last task to its own: Celery has taken the task's result by then."""
# `nohup` starts us with this signal ignored; Celery's handlers would undo that.
_HANGUP_IS_IGNORED = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def install() -> None:
    """Let the children of this worker end between two tasks."""
    worker_process_init.connect(_born)


def stop_warm(worker: Any, hurry: Callable[[], None]) -> None:
    """Make each signal that asks to end stop this main process warm; replaces Celery's handlers.

    `hurry`: called at a second Ctrl-C or SIGQUIT, which wait no longer.
    """
    if threading.current_thread() is not threading.main_thread():
        return

    def stop(number: int, _frame: FrameType | None) -> None:
        if process.PROCESSES.stopping and number in (signal.SIGINT, signal.SIGQUIT):
            hurry()
            return
        process.PROCESSES.stop()
        state.should_stop = os.EX_OK
        worker_shutting_down.send(
            sender=worker.hostname, sig=signal.Signals(number).name, how="Warm", exitcode=os.EX_OK
        )
        with contextlib.suppress(OSError):  # The terminal that was closed.
            safe_say("worker: Warm shutdown (MainProcess)", sys.__stdout__)

    for number in STOP_SIGNALS:
        if number != signal.SIGHUP or not _HANGUP_IS_IGNORED:
            signal.signal(number, stop)
    if _HANGUP_IS_IGNORED:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)


class _Child:
    """A process of the pool: between tasks it ends at once, as in Celery; within a task, after that task."""

    def __init__(self) -> None:
        self._place = process.PROCESSES.acquire()
        self._before: dict[int, Any] = {}

    def begin(self, **_: Any) -> None:
        """Put the end off."""
        for number in {TERM_SIGNAL, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT}:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._put_off)

    def end(self, **_: Any) -> None:
        """End now if a signal came meanwhile."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()
        if self._place.leaving:
            leave = threading.Timer(_LEAVE_AFTER_SECONDS, os.kill, (os.getpid(), TERM_SIGNAL))
            leave.daemon = True
            leave.start()

    def _put_off(self, _number: int, _frame: FrameType | None) -> None:
        self._place.leave(time.monotonic())


def _born(**_: Any) -> None:
    if current_process().name == "MainProcess":
        return
    if _HANGUP_IS_IGNORED:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    child = _Child()
    # Strong references: a bound method's receiver would be forgotten with the object.
    task_prerun.connect(child.begin, weak=False)
    task_postrun.connect(child.end, weak=False)
