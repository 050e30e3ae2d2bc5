"""Own Postgres and the broker: one owner for each data directory runs them, all others attach to it.

However the owner ends, the servers end with it. The next owner waits until the last server has ended before
it touches the data, because a second broker on one directory starts without an error and ruins the data.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType, TracebackType

from remand_app.domain.errors import EmbeddedUnavailable
from remand_app.embedded import binaries, identity
from remand_app.embedded.broker import Broker
from remand_app.embedded.datadir import OWNER, SERVERS, DataDir
from remand_app.embedded.postgres import Postgres
from remand_app.embedded.servers import START_TIMEOUT_SECONDS, Host, Server, ServerSpec
from remand_app.embedded.watchdog import Watchdog, command_of

_POLL_SECONDS = 0.05
_LEFTOVER_TIMEOUT_SECONDS = 30.0
_PORT_TRIES = 5
_PORTS = range(20_000, 32_000)
_NO_OPTIONS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where the servers are. The URLs hold the password, so they stay out of `repr`."""

    database_url: str = field(repr=False)
    broker_url: str = field(repr=False)
    owner_pid: int
    started_here: bool
    """This process is the owner."""


class Stack:
    """Postgres and a broker on a data directory, on free ports of 127.0.0.1 unless given.

    `postgres_options` are server settings, as after `postgres -c`. A `watchdog` passed in is shared; the
    caller closes it.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        postgres_port: int | None = None,
        broker_port: int | None = None,
        postgres_options: Mapping[str, str] = _NO_OPTIONS,
        watchdog: Watchdog | None = None,
    ) -> None:
        self._data = DataDir(data_dir)
        self._postgres_port = postgres_port
        self._broker_port = broker_port
        self._postgres_options = dict(postgres_options)
        self._shares_watchdog = watchdog is not None
        self._watchdog = watchdog or Watchdog()
        self._servers: list[Server] = []
        self._lock: int | None = None
        self._lock_pid = 0
        self._endpoints: Endpoints | None = None

    def __enter__(self) -> Endpoints:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @classmethod
    def running(cls, data_dir: Path) -> Endpoints | None:
        """Return the endpoints of the stack that is up on `data_dir`, else None. Starts and makes nothing.

        Raises: EmbeddedUnavailable when the directory is another user's.
        """
        return _attach(DataDir(data_dir))

    @classmethod
    def serves(cls, data_dir: Path, database_url: str | None) -> bool:
        """Say whether a URL is that of the cluster on `data_dir`, running or not."""
        data = DataDir(data_dir)
        port = data.ports().get("postgres")
        if port is None or database_url is None or not (data.path / "secret").exists():
            return False
        return database_url == Postgres(Path(), Path(), data.secret(), {}).url(port)

    def start(self) -> Endpoints:
        """Own the data directory and start both servers, or attach to the owner. Idempotent.

        Raises: EmbeddedUnavailable, and then none of our servers runs.
        """
        if self._endpoints is not None:
            return self._endpoints
        self._data.create()
        if (attached := self._own_or_attach()) is not None:
            return attached
        try:
            self._endpoints = self._start_owned()
        except BaseException:
            self.stop()
            raise
        return self._endpoints

    def stop(self) -> None:
        """Stop what this stack owns: the broker, then Postgres. Idempotent; a forked child owns nothing."""
        if self._lock is None or os.getpid() != self._lock_pid:
            return
        self._data.withdraw()
        while self._servers:
            self._servers.pop().stop()
        if not self._shares_watchdog:
            self._watchdog.close()
        os.close(self._lock)
        self._lock, self._endpoints = None, None

    def _own_or_attach(self) -> Endpoints | None:
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while (lock := self._data.try_lock(OWNER)) is None:
            if (endpoints := _attach(self._data)) is not None:
                return endpoints
            if time.monotonic() > deadline:
                raise EmbeddedUnavailable(
                    f"another process owns {self._data.path}, but its servers are not ready",
                    hint=f"its logs are {self._data.path}/*.log",
                )
            time.sleep(_POLL_SECONDS)
        self._lock, self._lock_pid = lock, os.getpid()
        return None

    def _start_owned(self) -> Endpoints:
        programs = binaries.find()
        who = identity.choose((programs.postgres, programs.broker.parent, self._data.path))
        alive_lock = _outlive_leftovers(self._data)
        try:
            host = Host(self._data.path, who, self._watchdog, alive_lock)
            return self._start_servers(host, programs, self._data.secret())
        finally:
            os.close(alive_lock)

    def _start_servers(self, host: Host, programs: binaries.Binaries, password: str) -> Endpoints:
        postgres = Postgres(programs.postgres, host.home / "postgres", password, self._postgres_options)
        broker = Broker(programs.broker, host.home / "broker", password)
        postgres.prepare(host)
        broker.prepare(host)
        last = self._data.ports()
        postgres_port = self._start_server(host, postgres.spec, self._postgres_port, last.get("postgres"))
        broker_port = self._start_server(host, broker.spec, self._broker_port, last.get("broker"))
        self._data.remember_ports({"postgres": postgres_port, "broker": broker_port})
        postgres.ensure_database(host, postgres_port)
        endpoints = Endpoints(
            postgres.url(postgres_port), broker.url(broker_port), os.getpid(), started_here=True
        )
        self._data.publish(
            {
                "owner_pid": endpoints.owner_pid,
                "database_url": endpoints.database_url,
                "broker_url": endpoints.broker_url,
            }
        )
        return endpoints

    def _start_server(
        self, host: Host, spec_on: Callable[[int], ServerSpec], wanted: int | None, last: int | None
    ) -> int:
        """Start a server on the wanted port; else on the last one it had, or a free one. Return the port."""
        for attempt in range(1 if wanted else _PORT_TRIES):
            port = wanted or (last if last is not None and attempt == 0 else free_port())
            spec = spec_on(port)
            server = Server.start(spec, host)
            self._servers.append(server)
            os.write(host.alive_lock, f"{server.pid} {int(spec.ask_signal)}\n".encode())
            if server.wait_ready():
                return port
            self._servers.remove(server)
        raise EmbeddedUnavailable(
            f"port {port} of 127.0.0.1, wanted for {spec.name}, is in use",
            hint="choose another port, or none to get a free one",
        )


def free_port() -> int:
    """Return a TCP port of 127.0.0.1 that is free now; somebody may take it before it is used.

    It lies below the ports used for outgoing connections, so that it is likely to be free at the next start.
    """
    while True:
        port = secrets.choice(_PORTS)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def _attach(data: DataDir) -> Endpoints | None:
    news = data.published()
    if news is None:
        return None
    owner_pid = int(news["owner_pid"])
    return Endpoints(
        str(news["database_url"]), str(news["broker_url"]), owner_pid, started_here=owner_pid == os.getpid()
    )


def _outlive_leftovers(data: DataDir) -> int:
    """Ask servers of an earlier owner to end and wait until none lives; return the lock for our servers.

    Raises: EmbeddedUnavailable when they do not end.
    """
    deadline = time.monotonic() + _LEFTOVER_TIMEOUT_SECONDS
    leftovers = _noted_servers(data)
    while (lock := data.try_lock(SERVERS)) is None:
        while leftovers:
            _ask_to_end(*leftovers.pop())
        if time.monotonic() > deadline:
            raise EmbeddedUnavailable(
                f"servers of an earlier owner still run on {data.path} and do not end",
                hint=f"fuser {data.path / SERVERS} shows their process ids; end those",
            )
        time.sleep(_POLL_SECONDS)
    data.withdraw()
    os.ftruncate(lock, 0)
    return lock


def _noted_servers(data: DataDir) -> list[tuple[int, int]]:
    try:
        lines = (data.path / SERVERS).read_text().splitlines()
    except FileNotFoundError:
        return []
    return [(int(pid), int(number)) for pid, number in (line.split() for line in lines)]


def _ask_to_end(pid: int, number: int) -> None:
    # The pid may be another program's by now.
    if any(program in command_of(pid) for program in binaries.SERVERS):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.Signals(number))
