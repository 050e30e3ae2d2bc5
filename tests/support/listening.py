"""A server of this process on a port, as production configures it."""

from __future__ import annotations

import socket
import threading
from types import TracebackType
from typing import NamedTuple, Self

import uvicorn

from remand_app.server import _listen, _uvicorn
from tests.support.waiting import eventually
from tests.support.web import Web


class Peer(NamedTuple):
    """The other end of a connection."""

    host: str
    port: int


class Listening:
    """The server of a `Web`, in a thread, on a free port."""

    def __init__(self, web: Web) -> None:
        self.web = web
        self._door = _listen("127.0.0.1", 0)
        config = _uvicorn(web.app, web.runtime.settings.web)
        config.timeout_graceful_shutdown = 1
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._door],), daemon=True)

    @property
    def address(self) -> tuple[str, int]:
        host, port = self._door.getsockname()
        return host, port

    @property
    def url(self) -> str:
        return "http://{}:{}".format(*self.address)

    def peers(self) -> list[Peer]:
        """Return who is connected."""
        return [Peer(*one.client) for one in list(self._server.server_state.connections) if one.client]

    def __enter__(self) -> Self:
        self._thread.start()
        eventually(lambda: self._server.started, message="the server does not start")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.should_exit = True
        self._thread.join(10)


def is_cut(door: socket.socket) -> bool:
    """Whether the server has ended a connection by which it said nothing."""
    door.setblocking(False)
    try:
        return not door.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except ConnectionError:
        return True
