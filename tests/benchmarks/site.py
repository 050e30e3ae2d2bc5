"""The place a benchmark runs in: servers of its own, migrated, and workers as real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil

from remand_app.bell import CeleryBell
from remand_app.config import Settings
from remand_app.embedded.stack import Stack
from remand_app.engine.publish import publish
from remand_app.runtime import Runtime
from remand_app.store import schema

HERE = Path(__file__).parent
SUPPORT_QUEUES = ("retry.exponential", "retry.linear", "retry.immediate", "retry.never", "remand.maintenance")


class Site:
    """Servers, an engine for this process, and a way to start workers."""

    def __init__(self, folder: Path, database_url: str, broker_url: str) -> None:
        self.folder = folder
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        os.environ.update(
            REMAND_DATABASE_URL=database_url,
            REMAND_BROKER_URL=broker_url,
            REMAND_HANDLERS="tests.benchmarks.handlers",
            REMAND_TEMPLATES=str(HERE / "templates.yaml"),
            REMAND_LOG_LEVEL="WARNING",
        )
        from remand_workers.celery import app  # reads the settings when it is imported: after they are set

        self.settings = Settings(database_url=database_url, broker_url=broker_url)
        self.runtime = Runtime(self.settings, bell=CeleryBell(app))
        self.database = self.runtime.database
        schema.migrate(self.database)
        publish(self.runtime.engine.templates, [HERE / "templates.yaml"])

    @contextmanager
    def celery(
        self, name: str, *arguments: str, app: str = "remand_workers"
    ) -> Iterator[subprocess.Popen[bytes]]:
        """Run a Celery program in a process group of its own; killed at the end."""
        process = self._processes[name] = self.start(name, *arguments, app=app)
        try:
            yield process
        finally:
            del self._processes[name]
            kill(process)

    def check_alive(self) -> None:
        """Raise with the end of its log if a program that should run has ended."""
        for name, process in self._processes.items():
            if process.poll() is not None:
                log = (self.folder / f"{name}.log").read_text(errors="replace")
                raise RuntimeError(f"{name} ended with {process.returncode}:\n{log[-2000:]}")

    def start(self, name: str, *arguments: str, app: str = "remand_workers") -> subprocess.Popen[bytes]:
        """Start a Celery program in a process group of its own."""
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "celery", "-A", app, *arguments],
                stdout=log,
                stderr=log,
                start_new_session=True,
                cwd=HERE.parent.parent,
            )

    @contextmanager
    def worker(
        self, name: str, queues: Sequence[str], concurrency: int = 2
    ) -> Iterator[subprocess.Popen[bytes]]:
        """Run a worker of ours."""
        with self.celery(name, *worker_arguments(name, queues, concurrency)) as process:
            yield process


def worker_arguments(name: str, queues: Sequence[str], concurrency: int) -> list[str]:
    """Return the command line of a worker."""
    return [
        "worker", "-Q", ",".join(queues), "-c", str(concurrency), "-n", f"{name}@bench",
        "--without-mingle", "--without-gossip",
    ]  # fmt: skip


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a program with all its processes and reap it."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(30)


def cpu_seconds(*pids: int) -> float:
    """Return the CPU time that processes and all their descendants have used."""
    total = 0.0
    for pid in pids:
        root = psutil.Process(pid)
        for process in [root, *root.children(recursive=True)]:
            try:
                times = process.cpu_times()
            except psutil.NoSuchProcess:
                continue
            total += times.user + times.system
    return total


@contextmanager
def open_site() -> Iterator[Site]:
    """Open a site on servers of its own, or on REMAND_BENCH_DATABASE_URL and REMAND_BENCH_BROKER_URL."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="remand-bench-")))
        database_url = os.environ.get("REMAND_BENCH_DATABASE_URL")
        broker_url = os.environ.get("REMAND_BENCH_BROKER_URL")
        if not (database_url and broker_url):
            served = stack.enter_context(Stack(folder / "servers"))
            database_url, broker_url = served.database_url, served.broker_url
        yield Site(folder, database_url, broker_url)
