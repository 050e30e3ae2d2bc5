"""A small payment gateway as its own process.

`python -m remand_examples.payments.gateway --port 8808 --state DIR` starts it.

It prints one line of JSON (`{"event": "ready", "port": …, "url": …}`) once it listens.
It listens on 127.0.0.1 unless told otherwise.
It fails by `faults.FAULTS` and books by `ledger.Ledger`; it knows nothing of Remand.
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
from pathlib import Path

from remand_examples.payments.faults import Fault, FaultCounter
from remand_examples.payments.ledger import Entry, KeyReused, Ledger

KINDS: Mapping[str, str] = {
    "/reserve": "reservation",
    "/fraud-check": "check",
    "/charge": "charge",
    "/notify": "notice",
}
MAX_BODY_BYTES = 65_536
DEFAULT_PORT = 8808


class BadRequest(Exception):
    """Refuse a request that cannot be understood; the text goes into the answer."""


class GatewayServer(ThreadingHTTPServer):
    """Own the ledger and the fault counters that all request threads share."""

    daemon_threads = True

    def __init__(self, port: int, state: Path, host: str = "127.0.0.1") -> None:
        super().__init__((host, port), GatewayHandler)
        self.ledger = Ledger(state / "ledger.jsonl")
        self.faults = FaultCounter()

    def server_close(self) -> None:
        """Stop listening and close the ledger."""
        super().server_close()
        self.ledger.close()


class GatewayHandler(BaseHTTPRequestHandler):
    """Answer one request."""

    server: GatewayServer
    timeout = 30

    def do_GET(self) -> None:
        """Serve `GET /ledger`."""
        if self.path == "/ledger":
            self._answer(200, self.server.ledger.to_dict())
        else:
            self._answer(404, {"code": "not_found"})

    def do_POST(self) -> None:
        """Serve the four endpoints that book, and `POST /fix`."""
        try:
            body = self._read_json()
            if self.path == "/fix":
                self.server.ledger.fix_card(_text(body, "card"))
                self._answer(200, {"fixed": body["card"]})
            elif self.path in KINDS:
                self._book_or_fail(body)
            else:
                self._answer(404, {"code": "not_found"})
        except BadRequest as error:
            self._answer(400, {"code": "bad_request", "message": str(error)})
        except KeyReused as error:
            self._answer(422, {"code": "idempotency_key_reused", "message": str(error)})

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the overridden method
        """Keep quiet: the ledger is the log."""

    def _book_or_fail(self, body: Mapping[str, object]) -> None:
        key = self.headers.get("Idempotency-Key")
        if not key:
            raise BadRequest("header Idempotency-Key is missing")
        card = _text(body, "card")
        self.server.ledger.count_call(self.path)
        fault = None
        if not self.server.ledger.is_fixed(card):
            fault = self.server.faults.next_fault(self.path, key, card)
        if fault is None:
            self._answer(200, {"reference": self._book(key, card, body).reference})
            return
        if fault.booked_first:
            self._book(key, card, body)
        self._fail(fault)

    def _book(self, key: str, card: str, body: Mapping[str, object]) -> Entry:
        amount = body.get("amount", 0)
        if not isinstance(amount, int) or isinstance(amount, bool) or amount < 0:
            raise BadRequest("amount must be a whole number of minor units, 0 or more")
        return self.server.ledger.book(
            KINDS[self.path],
            key,
            order_id=_text(body, "order_id"),
            amount=amount,
            currency=str(body.get("currency", "")),
            card=card,
        )

    def _fail(self, fault: Fault) -> None:
        if fault.kind == "reset":
            self._reset_connection()
        elif fault.kind == "hang":
            # Says nothing until the client gives up and closes its end.
            self.rfile.read(1)
            self.close_connection = True
        else:
            headers = (
                {} if fault.retry_after_seconds is None else {"Retry-After": str(fault.retry_after_seconds)}
            )
            self._answer(fault.status, {"code": fault.code}, reason=fault.reason, headers=headers)

    def _reset_connection(self) -> None:
        # With linger 0 the kernel sends RST at close; the server's own close would send FIN first.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(self.connection.detach())
        self.close_connection = True

    def _read_json(self) -> Mapping[str, object]:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > MAX_BODY_BYTES:
            raise BadRequest(f"Content-Length must be a number up to {MAX_BODY_BYTES}")
        try:
            body = json.loads(self.rfile.read(int(length)))
        except ValueError as error:
            raise BadRequest(f"body is not JSON: {error}") from error
        if not isinstance(body, dict):
            raise BadRequest("body must be a JSON object")
        return body

    def _answer(
        self,
        status: int,
        body: Mapping[str, object],
        *,
        reason: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        content = json.dumps(body).encode()
        self.send_response(status, reason)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


def _text(body: Mapping[str, object], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not value:
        raise BadRequest(f"{name} must be a non-empty text")
    return value


def main() -> None:
    """Serve until SIGTERM or SIGINT (or end of input, if asked to); port 0 takes any free port."""
    parser = argparse.ArgumentParser(description="A payment gateway that fails on request.")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT)
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on; anybody who reaches it may book"
    )
    parser.add_argument("--state", type=Path, required=True, help="folder of the ledger file")
    parser.add_argument("--with-parent", action="store_true", help="stop when standard input is closed")
    options = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    with GatewayServer(options.port, options.state, options.host) as server:
        port = server.server_address[1]
        print(
            json.dumps({"event": "ready", "port": port, "url": f"http://{options.host}:{port}"}), flush=True
        )
        if options.with_parent:
            threading.Thread(target=_stop_at_end_of_input, args=(server,), daemon=True).start()
        server.serve_forever()


def _stop_at_end_of_input(server: GatewayServer) -> None:
    # The pipe closes when its other end dies, by whatever signal: no gateway outlives the demo.
    while os.read(0, 1024):
        pass
    server.shutdown()


if __name__ == "__main__":
    main()
