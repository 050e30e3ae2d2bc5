"""Servers that keep connections and say nothing: from the start, or from some moment on."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Self


class Deaf:
    """Listens on `port`; hands bytes on to a real server until `deafen()`, with none it never answers."""

    def __init__(self, server: tuple[str, int] | None = None) -> None:
        self._server = server
        self._deaf = threading.Event()
        self._held: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._deaf.set()
        self._listener.close()
        for one in self._held:
            one.close()

    def deafen(self) -> None:
        """Swallow whatever comes from now on, in both directions."""
        self._deaf.set()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                here, _ = self._listener.accept()
                self._held.append(here)
                if self._server is not None:
                    there = socket.create_connection(self._server)
                    self._held.append(there)
                    for pair in ((here, there), (there, here)):
                        threading.Thread(target=self._carry, args=pair, daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while chunk := source.recv(65536):
                if not self._deaf.is_set():
                    target.sendall(chunk)
