"""Keep a few programs running: start them, restart them when they die, end them in reverse order.

It has no thread of its own. A child is tied to the thread that started it, so the caller's main thread calls
`run` or `check`. Before a child is restarted, whatever the dead one left in its process group is killed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from remand_app.embedded import launch
from remand_app.embedded.servers import open_log
from remand_app.embedded.watchdog import Phase, Ward, Watchdog

_CHECK_INTERVAL_SECONDS = 0.1
_ORPHAN_GRACE_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class ProcessExit:
    """A child died without being asked to."""

    name: str
    pid: int
    returncode: int
    """Exit code; negative is the signal that killed it."""
    deaths: int
    """In a row, this one included; a child that ran well for a while starts from 1 again."""
    restart_in_seconds: float


@dataclass(slots=True)
class _Child:
    name: str
    argv: tuple[str, ...]
    environment: dict[str, str]
    log_path: Path
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    due_at: float = 0.0
    deaths: int = 0


class Processes:
    """A small supervisor. A `watchdog` passed in is shared, and the caller closes it."""

    def __init__(
        self,
        *,
        on_exit: Callable[[ProcessExit], None],
        watchdog: Watchdog | None = None,
        first_delay_seconds: float = 1.0,
        longest_delay_seconds: float = 30.0,
        healthy_after_seconds: float = 60.0,
    ) -> None:
        self._on_exit = on_exit
        self._shares_watchdog = watchdog is not None
        self._watchdog = watchdog or Watchdog()
        self._first_delay = first_delay_seconds
        self._longest_delay = longest_delay_seconds
        self._healthy_after = healthy_after_seconds
        self._children: dict[str, _Child] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def add(self, name: str, argv: Sequence[str], env: Mapping[str, str], log_path: Path) -> int:
        """Start a program and return its pid; `env` is laid over our environment.

        Raises: ValueError when the name is taken.
        """
        if name in self._children:
            raise ValueError(f"a process named {name!r} was added already")
        child = _Child(name, tuple(argv), {**os.environ, **env}, log_path)
        self._children[name] = child
        return self._start(child)

    def restart(self, name: str, *, grace_seconds: float = 5.0) -> int:
        """End a child in order and start it again at once; return its new pid. It is not reported as dead.

        Raises: KeyError when nothing of that name was added.
        """
        child = self._children[name]
        if child.process is not None:
            self._end(child.process, grace_seconds)
        child.deaths = 0
        return self._start(child)

    def pids(self) -> dict[str, int | None]:
        """Return the pid of every child, None while it waits to be started again."""
        return {name: child.process.pid if child.process else None for name, child in self._children.items()}

    def run(self, until: Callable[[], bool]) -> None:
        """Watch the children until `until()` is true; it is called ten times a second."""
        while not until():
            self.check()
            time.sleep(_CHECK_INTERVAL_SECONDS)

    def check(self) -> None:
        """Check once: report dead children and schedule their restart; start those that are due."""
        now = time.monotonic()
        for child in self._children.values():
            if child.process is not None and child.process.poll() is not None:
                self._bury(child, child.process, now)
            elif child.process is None and child.due_at <= now:
                self._start(child)

    def stop(self, *, grace_seconds: float = 20.0) -> None:
        """End the children, last added first, each with `grace_seconds` before SIGKILL. Idempotent."""
        while self._children:
            _, child = self._children.popitem()
            if child.process is not None:
                self._end(child.process, grace_seconds)
        if not self._shares_watchdog:
            self._watchdog.close()

    def _start(self, child: _Child) -> int:
        child.log_path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open_log(child.log_path) as log:
            child.process = subprocess.Popen(
                launch.command(child.argv, death_signal=signal.SIGTERM),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=child.environment,
                start_new_session=True,
            )
        child.started_at = time.monotonic()
        pid = child.process.pid
        self._watchdog.watch(
            Ward(pid, Phase.PROCESS, signal.SIGTERM, signal.SIGKILL, _ORPHAN_GRACE_SECONDS, is_group=True)
        )
        return pid

    def _bury(self, child: _Child, process: subprocess.Popen[bytes], now: float) -> None:
        _kill_group(process.pid)
        self._watchdog.forget(process.pid)
        ran_well = now - child.started_at >= self._healthy_after
        child.deaths = 1 if ran_well else child.deaths + 1
        delay = min(self._first_delay * 2 ** (child.deaths - 1), self._longest_delay)
        child.process, child.due_at = None, now + delay
        self._on_exit(ProcessExit(child.name, process.pid, process.returncode, child.deaths, delay))

    def _end(self, process: subprocess.Popen[bytes], grace_seconds: float) -> None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(grace_seconds)
        _kill_group(process.pid)
        process.wait()
        self._watchdog.forget(process.pid)


def _kill_group(pgid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pgid, signal.SIGKILL)
