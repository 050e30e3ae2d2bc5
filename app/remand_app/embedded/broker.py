"""The embedded broker: Valkey or Redis, append-only file on, configured through its standard input.

A power cut may cost the last second of messages; a kill costs none. That is good enough for bells.
"""

from __future__ import annotations

import contextlib
import signal
import socket
from dataclasses import dataclass
from pathlib import Path

from remand_app.embedded.servers import Host, ServerSpec
from remand_app.embedded.watchdog import Phase

_STOP_SECONDS = 10.0
_PROBE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Broker:
    """One broker: executable, directory, password."""

    program: Path
    directory: Path
    password: str

    def url(self, port: int) -> str:
        """Return the URL of its database 0."""
        return f"redis://:{self.password}@127.0.0.1:{port}/0"

    def spec(self, port: int) -> ServerSpec:
        """Return how to run the server. SIGTERM saves and ends; SIGKILL loses nothing already in the file."""
        return ServerSpec(
            name="broker",
            argv=(str(self.program), "-"),
            is_ready=lambda _: self._answers(port),
            phase=Phase.BROKER,
            ask_signal=signal.SIGTERM,
            end_signal=signal.SIGKILL,
            grace_seconds=_STOP_SECONDS,
            stdin=self._configuration(port).encode(),
        )

    def prepare(self, host: Host) -> None:
        """Make the directory if there is none."""
        self.directory.mkdir(mode=0o700, exist_ok=True)
        host.identity.give(self.directory)

    def _answers(self, port: int) -> bool:
        """Say whether the broker answers a ping; it does not while it still loads its data."""
        with (
            contextlib.suppress(OSError),
            socket.create_connection(("127.0.0.1", port), _PROBE_SECONDS) as line,
        ):
            line.sendall(f"AUTH {self.password}\r\nPING\r\n".encode())
            got = b""
            while got.count(b"\r\n") < 2 and (chunk := line.recv(200)):
                got += chunk
            return b"+PONG" in got
        return False

    def _configuration(self, port: int) -> str:
        lines = (
            "bind 127.0.0.1",
            f"port {port}",
            f'dir "{self.directory}"',
            f"requirepass {self.password}",
            "appendonly yes",
            "appendfsync everysec",
            'save ""',
            "maxmemory-policy noeviction",
            "daemonize no",
        )
        return "\n".join(lines) + "\n"
