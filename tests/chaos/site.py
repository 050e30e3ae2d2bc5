"""The site of a run: which programs it has, and a supervisor that puts back what has ended."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

from remand_app.engine.publish import publish
from tests.chaos.model import Shape
from tests.support.link import Link
from tests.support.site import SUPPORT, Site

SETTINGS: dict[str, Any] = {
    # Whatever is gone is to be found within seconds, so that minutes hold many faults.
    "heartbeat_interval_seconds": 0.5,
    "worker_gone_after_seconds": 1.5,
    "worker_silent_after_seconds": 5,
    "rescue_pause_after_restart_seconds": 2,
    "ring_interval_seconds": 0.5,
    "rescue_interval_seconds": 0.5,
    "shutdown_grace_seconds": 0.5,
    "default_step_timeout_seconds": 60,
    "drain_slice_seconds": 5,
    "log_level": "INFO",
}
STOP_SECONDS = 15.0
"""A program that was asked to end and has not by then is killed, as supervisors do."""
_RESTART_SECONDS = 0.3
# What Celery says of killed children and a broker that is away has tracebacks, too; ours must not.
_BUG = re.compile(r"this is a bug|remand\.(?:drain|drain_failures|sweep\S*)\[\S+\] raised unexpected")


class ChaosSite(Site):
    """A site whose programs reach their servers through links."""

    def __init__(
        self, folder: Path, urls: tuple[str, str], links: tuple[Link, Link], shapes: list[Shape]
    ) -> None:
        """`urls`, `links`: of the database and of the broker."""
        super().__init__(folder, *urls, **SETTINGS)
        templates = folder / "templates"
        templates.mkdir()
        for shape in shapes:
            (templates / f"{shape.name}.yaml").write_text(shape.definition)
        publish(self.engine.templates, [templates])
        self.environment |= {
            "REMAND_DATABASE_URL": links[0].url,
            "REMAND_BROKER_URL": links[1].url,
            "REMAND_HANDLERS": "tests.chaos.handlers",
            "REMAND_TEMPLATES": str(templates),
        }
        self.unexpected: list[str] = []
        """Programs that ended though nobody had told them to."""
        self.restarts = 0
        self._log_starts: dict[str, int] = {}
        self._told: dict[str, float] = {}
        self._ended: dict[str, float] = {}

    def start_program(self, name: str) -> None:
        """Start one of the programs."""
        log = self.log_path(name)
        self._log_starts[name] = log.stat().st_size if log.exists() else 0
        match name:
            case "beat":
                self.start_beat()
            case "control":
                self.start_worker(name, SUPPORT, concurrency=1)
            case "one":
                self.start_worker(name, ("steps",))
            case _:
                self.start_worker(name, ("steps", "side"))
        self._told.pop(name, None)
        self._ended.pop(name, None)

    def children(self, name: str) -> list[int]:
        """Return the process ids of a pool; none before its worker is ready, which would end with one."""
        with self.log_path(name).open(errors="replace") as log:
            log.seek(self._log_starts[name])
            return super().children(name) if f"{name}@site ready" in log.read() else []

    def signal(self, name: str, number: signal.Signals, *, group: bool = False) -> None:
        """Signal a program, or all of it; one that has ended is left alone."""
        process = self.processes[name]
        if process.poll() is not None:
            return
        if number not in (signal.SIGSTOP, signal.SIGCONT):
            self._told.setdefault(name, time.monotonic())
        with contextlib.suppress(ProcessLookupError):
            if group:
                os.killpg(process.pid, number)
            else:
                process.send_signal(number)

    def supervise(self) -> None:
        """Start what has ended, and kill what was asked to end long ago."""
        now = time.monotonic()
        for name, process in list(self.processes.items()):
            if process.poll() is None:
                if now - self._told.get(name, now) > STOP_SECONDS:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
                continue
            if name not in self._ended:
                self._ended[name] = now
                if name not in self._told:
                    self.unexpected.append(f"{name} ended with {process.returncode}")
            if now - self._ended[name] >= _RESTART_SECONDS:
                # What is left of its group would be a second program beside the new one.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                self.start_program(name)
                self.restarts += 1

    def bugs(self) -> Counter[str]:
        """Return how often each log says that something is a bug of ours."""
        found: Counter[str] = Counter()
        for path in self.folder.glob("*.log"):
            found[path.stem] = len(_BUG.findall(path.read_text(errors="replace")))
        return +found
