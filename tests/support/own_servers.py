"""Servers of one test alone, on ports that stay: to be stopped, killed, emptied and started again."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
from pathlib import Path

import redis

from app.embedded import binaries, launch
from app.embedded.stack import Stack, free_port
from tests.support.servers import POSTGRES_OPTIONS
from tests.support.waiting import eventually


class OwnBroker:
    """A Redis-protocol broker that keeps nothing: a restart empties it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"redis://127.0.0.1:{self._port}/0"

    def start(self) -> None:
        command = [str(binaries.find().broker), "--port", str(self._port), "--bind", "127.0.0.1"]
        with (self._folder / "broker.log").open("ab") as log:
            self._process = subprocess.Popen(
                launch.command([*command, "--save", "", "--appendonly", "no"], death_signal=signal.SIGKILL),
                stdout=log,
                stderr=log,
                cwd=self._folder,
            )
        eventually(self._answers, timeout=30, message="the broker does not start")

    def stop(self) -> None:
        """Kill it. Idempotent."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(30)

    def restart(self) -> None:
        self.stop()
        self.start()

    def client(self) -> redis.Redis:
        """Return a connection that the caller closes."""
        return redis.Redis.from_url(self.url)

    def _answers(self) -> bool:
        with contextlib.suppress(redis.RedisError), self.client() as client:
            return bool(client.ping())
        return False


class OwnPostgres:
    """A Postgres with its data in a folder."""

    def __init__(self, folder: Path) -> None:
        self._data = folder / "servers"
        self._ports = {"postgres_port": free_port(), "broker_port": free_port()}
        self._stack: Stack | None = None
        self.url = ""

    def start(self) -> None:
        self._stack = Stack(self._data, postgres_options=POSTGRES_OPTIONS, **self._ports)
        self.url = self._stack.start().database_url

    def stop(self) -> None:
        """Stop it as `pg_ctl stop -m fast` does. Idempotent."""
        if self._stack is not None:
            self._stack.stop()
            self._stack = None

    def kill(self) -> None:
        """Kill the postmaster; its children notice and end."""
        pid = int((self._data / "postgres" / "postmaster.pid").read_text().splitlines()[0])
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: not self._accepts(), timeout=30)

    def restart(self) -> None:
        self.stop()
        self.start()

    def _accepts(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._ports["postgres_port"])) == 0
