"""Nothing was sent where a connection did not come about; everything else leaves it open."""

from __future__ import annotations

import errno
import socket
import urllib.error
from collections.abc import Callable

import httpx
import psycopg2
import pytest
import redis.exceptions
import requests
import sqlalchemy.exc
import urllib3
from hypothesis import given
from hypothesis import strategies as st
from urllib3.exceptions import (
    ConnectTimeoutError,
    MaxRetryError,
    NewConnectionError,
    ProtocolError,
    ReadTimeoutError,
)

from remand.failure import capture
from remand.not_sent import is_nothing_sent
from tests.support.lookalikes import fake_class

POOL = urllib3.HTTPSConnectionPool("shop.example")
REFUSED = ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")
RESET = ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")
READ = ReadTimeoutError(POOL, "/", "Read timed out.")


def caught(action: Callable[[], object]) -> BaseException:
    try:
        action()
    except BaseException as exc:
        return exc
    raise AssertionError("nothing was raised")


def caused(outer: BaseException, cause: BaseException) -> BaseException:
    outer.__cause__ = cause
    return outer


def while_handling(outer: BaseException, handled: BaseException) -> BaseException:
    outer.__context__ = handled
    return outer


def fake(name: str, said: str, *args: object) -> BaseException:
    exc = fake_class(name, [])()
    exc.__dict__["said"], exc.args = said, args
    return exc


def in_requests(reason: Exception) -> BaseException:
    return requests.ConnectionError(MaxRetryError(POOL, "/", reason))


NOT_SENT = [
    REFUSED,
    OSError(errno.ECONNREFUSED, "Connection refused"),
    socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution"),
    urllib.error.URLError(REFUSED),
    in_requests(NewConnectionError(POOL, "refused")),  # type: ignore[arg-type]
    in_requests(ConnectTimeoutError()),
    requests.ConnectTimeout("timed out"),
    caught(lambda: requests.get("http://127.0.0.1:1/", timeout=5)),
    caught(lambda: httpx.get("http://127.0.0.1:1/", timeout=5)),
    httpx.ConnectTimeout("late"),
    httpx.PoolTimeout("full"),
    caused(RuntimeError("no charge"), REFUSED),
    caused(
        redis.exceptions.ConnectionError("Error 111 connecting to redis:6379. Connection refused."), REFUSED
    ),
    redis.exceptions.ConnectionError("Error -2 connecting to redis:6379. Name or service not known."),
    psycopg2.OperationalError('connection to server at "db", port 5432 failed: Connection refused'),
    sqlalchemy.exc.OperationalError(
        "select 1", {}, psycopg2.OperationalError('connection to server at "db" failed: Connection refused')
    ),
    fake("pymysql.err.OperationalError", "told", 2003, "Can't connect to MySQL server"),
    OSError("Multiple exceptions: [Errno 111] Connect call failed (1), [Errno 101] Connect call failed (2)"),
    ExceptionGroup("both", [REFUSED, socket.gaierror(-2, "unknown")]),
]

MAYBE_SENT = [
    RESET,
    TimeoutError("timed out"),
    BrokenPipeError(errno.EPIPE, "Broken pipe"),
    OSError(errno.EHOSTUNREACH, "No route to host"),
    in_requests(READ),
    requests.ReadTimeout(READ),
    requests.ConnectionError(ProtocolError("Connection aborted.", RESET)),
    httpx.ReadTimeout("late"),
    httpx.RemoteProtocolError("gone"),
    psycopg2.OperationalError("server closed the connection unexpectedly"),
    redis.exceptions.ConnectionError("Connection closed by server."),
    fake("pymysql.err.OperationalError", "told", 2013, "Lost connection to MySQL server during query"),
    fake("shop.Odd", "Connection refused"),
    fake("shop.Odd", "[Errno 111] Connect call failed"),
    while_handling(ConnectionRefusedError(errno.ECONNREFUSED, "refused"), READ),
    while_handling(ConnectionRefusedError(errno.ECONNREFUSED, "refused"), RESET),
    caused(caused(RuntimeError("no"), RESET), ConnectionResetError()),
    ExceptionGroup("both", [REFUSED, TimeoutError("late")]),
    ValueError("no"),
    fake("shop.Busy", "told"),
]


@pytest.mark.parametrize("exc", NOT_SENT, ids=lambda exc: f"{type(exc).__name__} {exc}"[:60])
def test_nothing_was_sent(exc: BaseException) -> None:
    assert is_nothing_sent(exc)
    assert capture(exc).facts["nothing_sent"] is True


@pytest.mark.parametrize("exc", MAYBE_SENT, ids=lambda exc: f"{type(exc).__name__} {exc}"[:60])
def test_it_is_not_known(exc: BaseException) -> None:
    assert not is_nothing_sent(exc)
    assert "nothing_sent" not in capture(exc).facts


def test_an_answer_was_asked_for() -> None:
    response = requests.Response()
    response.status_code = 503
    assert not is_nothing_sent(caused(requests.HTTPError("503", response=response), REFUSED))


class Hostile(Exception):
    @property
    def __cause__(self) -> BaseException:  # type: ignore[override]
        raise RuntimeError("no")

    def __str__(self) -> str:
        raise SystemExit(3)


@given(st.integers(min_value=0, max_value=60))
def test_hostile_and_deep_ones_are_not_known(depth: int) -> None:
    exc: BaseException = Hostile()
    for _ in range(depth):
        exc = caused(RuntimeError("x"), exc)
    assert not is_nothing_sent(exc)
    circle = RuntimeError("x")
    circle.__cause__ = circle
    assert not is_nothing_sent(circle)
