"""The ledger's service as its own process: `python -m remand_examples.outage.ledger --port 8809`.

It prints one line of JSON (`{"event": "ready", "port": …, "url": …}`) once it listens, on 127.0.0.1.
`POST /switch {"state": "down"}` takes it down; it then still accepts calls, to count them, and breaks or
refuses each. It knows nothing of Remand.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import struct
import sys
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from remand_examples.outage.record import Record

DEFAULT_PORT = 8809
MAX_BODY_BYTES = 65_536


class LedgerServer(ThreadingHTTPServer):
    """Own the record that all request threads share."""

    daemon_threads = True
    # Callers that come all at once must meet the service, not a full queue of the kernel's.
    request_queue_size = 512

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", port), LedgerHandler)
        self.record = Record()


class LedgerHandler(BaseHTTPRequestHandler):
    """Answer one request."""

    server: LedgerServer
    timeout = 30

    def do_GET(self) -> None:
        """Serve `GET /record`."""
        if self.path == "/record":
            self._answer(200, self.server.record.to_dict())
        else:
            self._answer(404, {"code": "not_found"})

    def do_POST(self) -> None:
        """Serve `POST /book` and `POST /switch`."""
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > MAX_BODY_BYTES:
            self._answer(400, {"code": "bad_request"})
            return
        content = self.rfile.read(int(length))
        if self.path == "/book":
            self._book()
        elif self.path == "/switch":
            self._switch(content)
        else:
            self._answer(404, {"code": "not_found"})

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the overridden method
        """Keep quiet: the record is the log."""

    def _book(self) -> None:
        key = self.headers.get("Idempotency-Key")
        if not key:
            self._answer(400, {"code": "key_missing"})
            return
        answer, entry = self.server.record.call(key)
        if answer == "booked":
            self._answer(200, {"entry": entry})
        elif answer == "unavailable":
            self._answer(503, {"code": "unavailable"})
        else:
            self._reset_connection()

    def _switch(self, content: bytes) -> None:
        try:
            state = json.loads(content)["state"]
        except (ValueError, KeyError, TypeError):
            state = None
        if state not in ("up", "down"):
            self._answer(400, {"code": "bad_request", "message": "state is up or down"})
            return
        self.server.record.switch(state)
        self._answer(200, {"state": state})

    def _reset_connection(self) -> None:
        # With linger 0 the kernel sends RST at close; the server's own close would send FIN first.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(self.connection.detach())
        self.close_connection = True

    def _answer(self, status: int, body: Mapping[str, object]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def main() -> None:
    """Serve until SIGTERM or SIGINT (or end of input, if asked to); port 0 takes any free port."""
    parser = argparse.ArgumentParser(description="A service that can be taken down.")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT)
    parser.add_argument("--with-parent", action="store_true", help="stop when standard input is closed")
    options = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    with LedgerServer(options.port) as server:
        port = server.server_address[1]
        print(json.dumps({"event": "ready", "port": port, "url": f"http://127.0.0.1:{port}"}), flush=True)
        if options.with_parent:
            threading.Thread(target=_stop_at_end_of_input, args=(server,), daemon=True).start()
        server.serve_forever()


def _stop_at_end_of_input(server: LedgerServer) -> None:
    # The pipe closes when its other end dies, by whatever signal: no service outlives the demo.
    while os.read(0, 1024):
        pass
    server.shutdown()


if __name__ == "__main__":
    main()
