"""An endpoint that takes webhooks, on this machine: it answers as told and keeps what it was sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SECRET_PATH = "/services/T0SECRET/B0SECRET/path-that-is-a-secret"


@dataclass(frozen=True, slots=True)
class Received:
    """One request."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(slots=True)
class Answer:
    """What to answer; `before` is called first, in the thread of the request."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b"ok"
    before: Callable[[], object] = lambda: None
    drips: bool = False
    """Send byte for byte, slowly, without ever coming to an end."""


class Receiver:
    """The endpoint: `answers` are given in turn, the last one for ever."""

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self._server = server
        self.received: list[Received] = []
        self.answers: list[Answer] = [Answer()]
        self.closing = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}{SECRET_PATH}"

    def answer(self) -> Answer:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@contextmanager
def receiver() -> Iterator[Receiver]:
    """Yield an endpoint that listens on a free port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    made = Receiver(server)
    server.receiver = made  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        made: Receiver = self.server.receiver  # type: ignore[attr-defined]
        body = self.rfile.read(int(self.headers["content-length"]))
        made.received.append(Received(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
        answer = made.answer()
        answer.before()
        if answer.drips:
            self._drip(made)
            return
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def _drip(self, made: Receiver) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nx-drip: ")
        while not made.closing.wait(0.02):
            try:
                self.wfile.write(b".")
            except OSError:
                return

    def log_message(self, *_: object) -> None:
        """Say nothing."""
