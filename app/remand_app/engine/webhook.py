"""Post one message over HTTP: within its time limit, to that address alone, keeping little of the answer.

As used here, the standard library follows no redirect, uses no proxy and checks certificates. Its own timeout
applies to each read. A watchdog limits the whole call, so that an endpoint that answers too slowly holds
nobody up.
"""

from __future__ import annotations

import http.client
import re
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Final
from urllib.parse import SplitResult, urlsplit

from remand.redact import MASK, redact_text
from remand.retry_after import parse_retry_after
from remand_app import __version__
from remand_app.domain.printable import printable
from remand_app.domain.webhook_answers import Outcome, TryAgain, judge

_KEPT: Final = 200
"""Characters of an answer that are shown to people."""
_SECRET_LENGTH: Final = 8
_HTTPS: Final = 443
_HTTP: Final = 80


def post(url: str, body: bytes, headers: Mapping[str, str], timeout_seconds: float) -> Outcome:
    """Send a body once and return the outcome, whose text contains neither address nor secret.

    Takes no longer than `timeout_seconds`, but for the look-up of the name.
    """
    parts = urlsplit(url)
    ends_at = time.monotonic() + timeout_seconds
    late = threading.Event()
    try:
        with _connected(parts, ends_at, late) as connection:
            _send(connection, parts, body, headers)
            answer = connection.getresponse()
            if late.is_set():  # Half an answer looks like a whole one once the line is cut.
                raise TimeoutError
            text = _piece(answer)
    except (OSError, http.client.HTTPException, UnicodeError) as error:
        if late.is_set() or isinstance(error, TimeoutError):
            return TryAgain(f"no answer within {timeout_seconds:g} s")
        return TryAgain(scrubbed(f"{type(error).__name__}: {error}", url))
    after = parse_retry_after(answer.getheader("retry-after"), datetime.now(UTC))
    return judge(answer.status, scrubbed(text, url), after)


def scrubbed(text: str, url: str) -> str:
    """Return a short text on one line without the address, any long part of it, or likely secrets.

    Characters that Postgres cannot store or that control a terminal are shown as escapes.
    """
    parts = urlsplit(url)
    pieces = {url, parts.path, parts.query, *re.split(r"[/?&=]", f"{parts.path}?{parts.query}")}
    for piece in sorted(pieces, key=len, reverse=True):
        if len(piece) >= _SECRET_LENGTH:
            text = text.replace(piece, MASK)
    return printable(" ".join(redact_text(text).split()))[:_KEPT]


@contextmanager
def _connected(
    parts: SplitResult, ends_at: float, late: threading.Event
) -> Iterator[http.client.HTTPConnection]:
    assert parts.hostname is not None
    secure = parts.scheme == "https"
    port = parts.port or (_HTTPS if secure else _HTTP)
    line = socket.create_connection((parts.hostname, port), timeout=_left(ends_at))
    if secure:
        line = ssl.create_default_context().wrap_socket(
            line, server_hostname=parts.hostname, do_handshake_on_connect=False
        )
    watchdog = threading.Timer(_left(ends_at), _cut, (line, late))
    watchdog.daemon = True
    watchdog.start()
    try:
        if isinstance(line, ssl.SSLSocket):
            line.do_handshake()
        connection = http.client.HTTPConnection(parts.hostname, port)
        connection.sock = line
        yield connection
    finally:
        watchdog.cancel()
        line.close()


def _left(ends_at: float) -> float:
    left = ends_at - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _cut(line: socket.socket, late: threading.Event) -> None:
    late.set()
    try:
        line.shutdown(socket.SHUT_RDWR)
    except OSError:
        line.close()  # It was never whole, or is gone already.


def _send(
    connection: http.client.HTTPConnection, parts: SplitResult, body: bytes, headers: Mapping[str, str]
) -> None:
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    own = {
        "Host": parts.netloc,
        "User-Agent": f"remand/{__version__}",
        "Content-Type": "application/json",
        "Connection": "close",
    }
    connection.request("POST", path, body, {**own, **headers})


def _piece(answer: http.client.HTTPResponse) -> str:
    """Return the beginning of the body, as far as it arrived in time."""
    try:
        return answer.read(_KEPT).decode("utf-8", "replace")
    except (OSError, http.client.HTTPException):
        return ""
