"""A Redis that answers what a test says: as one that loads, fails over or has lost its master."""

from __future__ import annotations

import contextlib
import socket
import threading
from io import BufferedReader
from typing import Self


class Saying:
    """Listens on `port` and hands on to a real server; with an `answer` each command gets that error."""

    def __init__(self, server: tuple[str, int]) -> None:
        self._server = server
        self._held: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.answer: str | None = None
        self.answered = 0

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        for one in self._held:
            one.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                here, _ = self._listener.accept()
                there = socket.create_connection(self._server)
                self._held += [here, there]
                threading.Thread(target=self._commands, args=(here, there), daemon=True).start()
                threading.Thread(target=self._answers, args=(there, here), daemon=True).start()

    def _commands(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError), client.makefile("rb") as sent:
            while command := _command(sent):
                if self.answer is None:
                    server.sendall(command)
                else:
                    client.sendall(f"-{self.answer}\r\n".encode())
                    self.answered += 1
        for one in (client, server):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _answers(self, server: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while chunk := server.recv(65536):
                client.sendall(chunk)
            client.shutdown(socket.SHUT_RDWR)


def _command(sent: BufferedReader) -> bytes:
    """Return one command as it was sent; nothing: the client has gone."""
    head = sent.readline()
    if not head.startswith(b"*"):
        return bytes(head)
    parts = [head]
    for _ in range(int(head[1:])):
        size = sent.readline()
        parts += [size, sent.read(int(size[1:]) + 2)]
    return b"".join(parts)
