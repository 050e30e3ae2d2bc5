"""End what we started when we are gone, even by SIGKILL: a child process blocks on a pipe that only we hold.

At every change it gets the whole list of wards, one JSON line each. When the pipe closes, it acts on the last
list, phase by phase: processes, then the broker, then the database. After a clean stop that list is empty.
A process forked from ours without exec holds the pipe too, and delays the watchdog until it ends.
"""

from __future__ import annotations

import contextlib
import enum
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

_POLL_SECONDS = 0.01


class Phase(enum.IntEnum):
    """The order in which wards end."""

    PROCESS = 0
    BROKER = 1
    DATABASE = 2


@dataclass(frozen=True, slots=True)
class Ward:
    """One child: asked to end with `ask_signal`, forced to after `grace_seconds` with `end_signal`."""

    pid: int
    phase: int
    ask_signal: int
    end_signal: int
    grace_seconds: float
    is_group: bool = False
    """The pid leads a process group; the whole group is killed in any case."""

    def ask(self) -> None:
        """Ask the child to end."""
        with contextlib.suppress(OSError):
            os.kill(self.pid, self.ask_signal)

    def end(self) -> None:
        """Make the child end if it has not, and whatever is left of its group."""
        if not is_gone(self.pid):
            with contextlib.suppress(OSError):
                os.kill(self.pid, self.end_signal)
        if self.is_group:
            with contextlib.suppress(OSError):
                os.killpg(self.pid, signal.SIGKILL)


class Watchdog:
    """Our end of the pipe; the watching process starts with the first ward. Use one for everything we own."""

    def __init__(self) -> None:
        self._wards: dict[int, Ward] = {}
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def watch(self, ward: Ward) -> None:
        """Take a child into care."""
        self._wards[ward.pid] = ward
        self._tell()

    def forget(self, pid: int) -> None:
        """Drop a child that has ended. Idempotent."""
        if self._wards.pop(pid, None) is not None:
            self._tell()

    def close(self) -> None:
        """Close the pipe: the watchdog ends whatever is still in its care, and then itself. Idempotent."""
        process, self._process = self._process, None
        if process is not None:
            _close_pipe(process)
            process.wait()

    def _tell(self) -> None:
        if self._process is None or self._process.poll() is not None:
            self._replace()
        assert self._process is not None
        assert self._process.stdin is not None
        line = json.dumps([asdict(ward) for ward in self._wards.values()]) + "\n"
        self._process.stdin.write(line.encode())
        self._process.stdin.flush()

    def _replace(self) -> None:
        if self._process is not None:
            _close_pipe(self._process)
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(Path(__file__).resolve())],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )


def is_gone(pid: int) -> bool:
    """Say whether the process has ended; a process that nobody has reaped yet has ended."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(errors="replace")
        return status.rpartition(")")[2].split()[0] in {"Z", "X"}
    except FileNotFoundError:
        if Path("/proc/self").exists():
            return True
    except ProcessLookupError:
        return True
    return not _takes_signals(pid)


def command_of(pid: int) -> str:
    """Return the command line of a process, empty when it has ended."""
    if Path("/proc/self").exists():
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            return ""
    ps = ["ps", "-p", str(pid), "-o", "command="]
    return subprocess.run(ps, capture_output=True, text=True, check=False).stdout


def end_all(wards: Iterable[Ward]) -> None:
    """End the wards phase by phase; those of one phase together."""
    by_phase: dict[int, list[Ward]] = {}
    for ward in wards:
        by_phase.setdefault(ward.phase, []).append(ward)
    for _, together in sorted(by_phase.items()):
        for ward in together:
            ward.ask()
        _wait_for(together, max(ward.grace_seconds for ward in together))
        for ward in together:
            ward.end()


def _wait_for(wards: list[Ward], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not all(is_gone(ward.pid) for ward in wards):
        time.sleep(_POLL_SECONDS)


def _takes_signals(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _close_pipe(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.close()


def main() -> None:
    """Read lists until the pipe closes; then end the wards of the last complete list."""
    last = b"[]\n"
    for line in sys.stdin.buffer:
        if line.endswith(b"\n"):
            last = line
    end_all(Ward(**fields) for fields in json.loads(last))


if __name__ == "__main__":
    main()
