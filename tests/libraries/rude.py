"""Servers on this machine that behave as bad ones do."""

from __future__ import annotations

import contextlib
import json
import socket
import socketserver
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_TLS_HANDSHAKE = 0x16


@contextmanager
def listening(
    answer: Callable[[socket.socket], object], context: ssl.SSLContext | None = None
) -> Iterator[int]:
    """Yield the port of a server that lets `answer` talk to each client, then hangs up."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with contextlib.suppress(OSError):
                talk = context.wrap_socket(self.request, server_side=True) if context else self.request
                answer(talk)

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = True
        daemon_threads = True
        request_queue_size = 64

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that gives up is what is tested."""

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def free_port() -> int:
    """Return a port where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def request_of(talk: socket.socket) -> str:
    """Read one request's head and return its path."""
    head = b""
    while b"\r\n\r\n" not in head:
        more = talk.recv(4096)
        if not more:
            break
        head += more
        if head[0] == _TLS_HANDSHAKE:
            talk.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
            break
    return head.decode("latin-1").split(" ")[1] if b" " in head else ""


def http(talk: socket.socket) -> None:
    """Answer `/503` with that status, and other paths as their names say."""
    path = request_of(talk).strip("/")
    if path.isdigit():
        body = json.dumps({"said": f"status {path}"}).encode()
        wait = b"Retry-After: 7\r\n" if path in {"429", "503"} else b""
        length = str(len(body)).encode()
        talk.sendall(
            b"HTTP/1.1 " + path.encode() + b" Told\r\n" + wait + b"Content-Type: application/json\r\n"
            b"Content-Length: " + length + b"\r\nConnection: close\r\n\r\n" + body
        )
    elif path == "cut":
        talk.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + b"x" * 10)
    elif path == "cut-json":
        body = b'{"items": [{"id": 1}, {"id": 2}, {"na'
        talk.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body)
    elif path == "circle":
        talk.sendall(
            b"HTTP/1.1 302 Found\r\nLocation: /circle\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )
    elif path == "silent":
        # Until the client has had enough.
        talk.recv(1)
    elif path == "html":
        talk.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<html></html>")
    # `/gone`: no answer at all.


def smtp(talk: socket.socket) -> None:
    """Play a mail server; the local part of an address says what becomes of it."""
    talk.sendall(b"220 rude ESMTP\r\n")
    lines = talk.makefile("rb")
    for raw in lines:
        line = raw.decode().strip()
        verb = line.partition(" ")[0].upper()
        if verb in {"EHLO", "HELO"}:
            talk.sendall(b"250-rude\r\n250-SIZE 1000\r\n250 AUTH PLAIN LOGIN\r\n")
        elif verb == "AUTH":
            talk.sendall(b"535 5.7.8 credentials invalid\r\n")
        elif verb in {"MAIL", "RCPT"} and "<code" in line:
            code = line.partition("<code")[2][:3]
            talk.sendall(f"{code} 4.7.1 as you asked\r\n".encode())
        elif verb == "DATA":
            talk.sendall(b"354 go on\r\n")
            while lines.readline().strip() != b".":
                pass
            talk.sendall(b"554 5.7.1 rejected as spam\r\n")
        elif verb == "HANG":
            return
        elif verb == "QUIT":
            talk.sendall(b"221 bye\r\n")
            return
        else:
            talk.sendall(b"250 ok\r\n")
