"""Run everything on one machine: embedded servers where none are named, workers, beat, API and dashboard.

One watchdog serves all processes, and the main thread owns it. Whatever the main thread starts ends when that
thread ends, whichever signal ends it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from remand_app.cli.celery_main import beat_command, worker_command
from remand_app.cli.commands.serve import serve_command
from remand_app.cli.commands.worker import all_queues, environment_of
from remand_app.cli.dashboard_address import address_of, answers, port_for
from remand_app.config import Settings
from remand_app.connections import LateBell, has_urls
from remand_app.domain.queues import COMMANDS, MAINTENANCE, RETRY
from remand_app.domain.template import Template
from remand_app.embedded.processes import Processes, ProcessExit
from remand_app.embedded.stack import Endpoints, Stack
from remand_app.embedded.watchdog import Watchdog
from remand_app.engine import access
from remand_app.engine.publish import publish
from remand_app.engine.worker_limits import live_workers
from remand_app.resources.database import schema
from remand_app.runtime import Runtime

_LOOK_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Size:
    """How many step workers, of how many processes each."""

    workers: int = 1
    concurrency: int = 2


class LocalStack:
    """The processes of one machine; use it as a context, in the main thread.

    `on_exit` hears of every child that died; it is started again by itself.
    """

    def __init__(
        self, settings: Settings, config: Path | None, size: Size, on_exit: Callable[[ProcessExit], None]
    ) -> None:
        self.settings = settings
        self._config = config
        self._size = size
        self._watchdog = Watchdog()
        self._stack: Stack | None = None
        self._processes = Processes(on_exit=on_exit, watchdog=self._watchdog)
        self._runtime: Runtime | None = None
        self._server: tuple[str, int] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def logs(self) -> Path:
        """Where the logs of workers and beat are."""
        return self.settings.data_dir.absolute() / "logs"

    @property
    def runtime(self) -> Runtime:
        """The parts of this process, on the stack's servers."""
        if self._runtime is None:
            self._runtime = Runtime(self.settings, bell=LateBell(self.settings))
        return self._runtime

    def start_servers(self) -> Endpoints | None:
        """Start embedded servers, or attach to those of another owner; None where the settings name servers.

        What `remand env` printed names the embedded ones themselves.

        Raises:
            EmbeddedUnavailable: they cannot run here.
        """
        settings = self.settings
        if has_urls(settings) and not Stack.serves(settings.data_dir, settings.database_url):
            return None
        self._stack = Stack(self.settings.data_dir, watchdog=self._watchdog)
        endpoints = self._stack.start()
        self.settings = self.settings.model_copy(
            update={"database_url": endpoints.database_url, "broker_url": endpoints.broker_url}
        )
        return endpoints

    def prepare(self, *, replaces: bool = False) -> list[tuple[Template, bool]]:
        """Migrate, and publish the templates of the settings; each with whether it is new.

        `replaces`: a version may have got another content.
        """
        schema.migrate(self.runtime.database)
        return self.publish(replaces=replaces)

    def publish(self, *, replaces: bool = False) -> list[tuple[Template, bool]]:
        """Publish the templates of the settings, as `prepare` does."""
        return publish(self.runtime.engine.templates, self.settings.templates, replaces=replaces)

    def restart_what_runs_code(self) -> list[str]:
        """Start all but beat anew: workers keep handlers and templates in memory, the server templates."""
        names = [name for name in self._processes.pids() if name != "beat"]
        for name in names:
            self._processes.restart(name)
        return names

    def start_workers(self) -> list[str]:
        """Start step workers, one worker for retries, sweeps and commands, and beat; return their names."""
        control = [*RETRY, MAINTENANCE, COMMANDS]
        steps = [queue for queue in all_queues(self.runtime) if queue not in control]
        for number in range(1, self._size.workers + 1):
            self._start_worker(f"steps-{number}", steps, self._size.concurrency)
        self._start_worker("control", control, 2)
        self._start("beat", beat_command(log_level=self.settings.log_level))
        return list(self._processes.pids())

    def start_server(self, port: int | None) -> str:
        """Start the server of API and dashboard; return its address. `port`: None takes any that is free.

        Raises:
            AddressTaken: the port that was asked for is taken.
            NobodyCouldSignIn: it should listen beyond loopback, and there is neither user nor token.
        """
        web = self.settings.web
        access.check_reach(self.runtime.engine, web.host)
        wanted = web.port if port is None else port
        self._server = (web.host, port_for(web.host, wanted, exactly=port is not None))
        self._start("server", serve_command(), REMAND_WEB__PORT=str(self._server[1]))
        return web.dashboard_url or address_of(*self._server)

    def wait_until_served(self, deadline_seconds: float) -> bool:
        """Wait until the server answers; False when not in time."""
        assert self._server is not None
        deadline = time.monotonic() + deadline_seconds
        while time.monotonic() < deadline:
            self._processes.check()
            if answers(*self._server):
                return True
            time.sleep(_LOOK_SECONDS)
        return False

    def wait_until_heard(self, deadline_seconds: float) -> bool:
        """Wait until every worker is registered; False when not in time."""
        deadline = time.monotonic() + deadline_seconds
        wanted = self._size.workers + 1
        while time.monotonic() < deadline:
            self._processes.check()
            ours = {f"{name}-{os.getpid()}" for name in self._processes.pids()}
            live = live_workers(self.runtime.engine)
            if sum(worker.hostname.partition("@")[0] in ours for worker in live) >= wanted:
                return True
            time.sleep(_LOOK_SECONDS)
        return False

    def run(self, until: Callable[[], bool]) -> None:
        """Watch the children until `until()`."""
        self._processes.run(until)

    def check(self) -> None:
        """Look after the children once."""
        self._processes.check()

    def stop(self) -> None:
        """End everything, servers last. Idempotent."""
        for pid in self._processes.pids().values():
            if pid is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)
        self._processes.stop(grace_seconds=self.settings.shutdown_grace_seconds + 10)
        if self._runtime is not None:
            self._runtime.database.dispose()
        if self._stack is not None:
            self._stack.stop()
        self._watchdog.close()

    def _start_worker(self, name: str, queues: Sequence[str], concurrency: int) -> None:
        command = worker_command(
            queues,
            concurrency=concurrency,
            name=f"{name}-{os.getpid()}",
            log_level=self.settings.log_level,
        )
        self._start(name, command)

    def _start(self, name: str, command: Sequence[str], **variables: str) -> None:
        environment = {**environment_of(self.settings, self._config), **variables}
        self._processes.add(name, command, environment, self.logs / f"{name}.log")
