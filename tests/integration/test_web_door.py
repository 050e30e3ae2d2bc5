"""What the server does with clients that are slow, many, or ambiguous: by real sockets."""

from __future__ import annotations

import contextlib
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime

import httpx
import pytest

from remand_app.domain.access import Role
from remand_app.engine import access
from remand_app.store.database import Database
from tests.support.clock import FakeClock
from tests.support.databases import Cluster
from tests.support.listening import Listening, is_cut
from tests.support.waiting import eventually
from tests.support.web import WHO, Web

pytestmark = pytest.mark.once

WebWith = Callable[..., Web]
Listen = Callable[..., Listening]
LIVE = "/api/v1/health/live"


@pytest.fixture
def listen(web_with: WebWith) -> Iterator[Listen]:
    """Put a server with settings of its own on a port."""
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(Listening(web_with(**settings)))


def half(server: Listening, sent: bytes = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: ") -> socket.socket:
    """Return a connection by which a part of a request was sent."""
    door = socket.create_connection(server.address, timeout=10)
    door.sendall(sent)
    return door


def answer_to(server: Listening, sent: bytes, parts: int = 1) -> bytes:
    """Return all that is answered until the server ends the connection."""
    told, size = b"", max(1, len(sent) // parts)
    with half(server, b"") as door:
        door.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.suppress(ConnectionError):
            for at in range(0, len(sent), size):
                door.sendall(sent[at : at + size])
            while part := door.recv(65_536):
                told += part
    return told


# slow clients


def test_strangers_who_send_no_request_shut_nobody_out(listen: Listen) -> None:
    server = listen(strangers=100)
    with ExitStack() as stack:
        slow = [stack.enter_context(half(server)) for _ in range(300)]

        assert httpx.get(server.url + LIVE).status_code == 200
        eventually(lambda: sum(map(is_cut, slow)) >= 200)


def test_strangers_who_keep_a_connection_shut_nobody_out(listen: Listen) -> None:
    server = listen(strangers=20)
    with ExitStack() as stack:
        for _ in range(60):
            client = stack.enter_context(httpx.Client(base_url=server.url))
            assert client.get("/login").status_code == 200

        assert httpx.get(server.url + LIVE).status_code == 200


def test_strangers_who_send_no_body_or_read_no_answer_shut_nobody_out(listen: Listen) -> None:
    server = listen(strangers=10)
    body = b"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\nname"
    script = b"GET /static/htmx-2.0.11.min.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 200
    with ExitStack() as stack:
        for sent in (body, script):
            for _ in range(15):
                stack.enter_context(half(server, sent))

        assert httpx.get(server.url + LIVE).status_code == 200


def test_who_was_recognised_makes_room_for_nobody(listen: Listen) -> None:
    server = listen(strangers=5)
    _, token = access.create_token(server.web.engine, "ci", Role.VIEWER, WHO)
    with httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {token}"}) as program:
        program.get("/api/v1/queues")
        [before] = {one.port for one in server.peers()}
        with ExitStack() as stack:
            for _ in range(20):
                stack.enter_context(half(server))
            assert program.get("/api/v1/queues").status_code == 200

        assert before in {one.port for one in server.peers()}


def test_a_body_of_a_stranger_is_small(listen: Listen) -> None:
    server = listen()
    form = b"name=" + b"a" * 16_400

    assert httpx.post(f"{server.url}/login", content=form).status_code == 413
    assert httpx.post(f"{server.url}/login/link", content=form).status_code == 413
    assert httpx.post(f"{server.url}/login", content=b"name=" + b"a" * 16_000).status_code == 401


# requests that can be read in more ways than one


@pytest.fixture(scope="module")
def refusing(cluster: Cluster) -> Iterator[Listening]:
    """A server for all of these tests."""
    with cluster.fresh() as url:
        database = Database(url)
        web = Web(database, FakeClock(datetime(2026, 11, 28, tzinfo=UTC)))
        with Listening(web) as listening:
            yield listening
        web.close()
        database.dispose()


HOST = b"Host: 127.0.0.1\r\n"
CHUNKED = b"POST /login HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n"
CLOSE = b"\r\nConnection: close\r\n\r\n"
SMUGGLED = b"GET /api/v1/health/live HTTP/1.1\r\n" + HOST + b"\r\n"


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /login HTTP/1.1\nHost: 127.0.0.1\n\n",
        b"GET /login HTTP/1.1\r\nHost: 127.0.0.1\n\r\n",
        b"GET /login HTTP/1.1\r\nHost: 127.0.0.1\r\n\n",
        b"GET /login HTTP/1.1\r\nHost: 127.0.0.1\r\nX: a\nY: b\r\n\r\n",
        b"GET /login HTTP/1.1\r\nHost: 127.0.0.1\r\nX: a\rY: b\r\n\r\n",
        b"GET /login HTTP/1.1\r\nHost: 127.0.0.1\r\nX: a\r\n b\r\n\r\n",
        b"GET /login HTTP/1.1\r\nHost: 127.0.0.1\r\nX : a\r\n\r\n",
        b"GET /login HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET /login HTTP/1.1\r\n\r\n",
        b"\r\nGET /login HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        CHUNKED + b"Content-Length: 5\r\n\r\n0\r\n\r\n",
        b"POST /login HTTP/1.1\r\nContent-Length: 5\r\n" + CHUNKED[22:] + b"\r\n0\r\n\r\n",
        CHUNKED[:29].replace(b"1.1", b"1.0") + b"x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        CHUNKED + b"Transfer-Encoding: identity\r\n\r\n0\r\n\r\n",
        CHUNKED.replace(b"chunked", b"gzip, chunked") + b"\r\n0\r\n\r\n",
        CHUNKED.replace(b"chunked", b"xchunked") + b"\r\n0\r\n\r\n",
        CHUNKED + b"\r\n3\nabc\r\n0\r\n\r\n",
        CHUNKED + b"\r\n3\r\nabc\n0\r\n\r\n",
        CHUNKED + b"\r\n0\r\n\n",
        CHUNKED + b"\r\n0\r\nX: a\n\r\n",
        b"POST /login HTTP/1.1\r\n" + HOST + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        b"POST /login HTTP/1.1\r\n" + HOST + b"Content-Length: +3\r\n\r\nabc",
    ],
)
@pytest.mark.parametrize("parts", [1, 1000], ids=["whole", "in-parts"])
def test_what_could_be_read_in_two_ways_is_refused(refusing: Listening, sent: bytes, parts: int) -> None:
    told = answer_to(refusing, sent + SMUGGLED, parts)

    # Who goes on sending after the refusal may lose it: the connection is reset.
    assert told.startswith(b"HTTP/1.1 400 ") or (parts > 1 and not told)
    assert told.count(b"HTTP/1.1 ") <= 1, "what follows was taken for a request"


def test_what_can_be_read_in_one_way_is_answered(refusing: Listening) -> None:
    form = b"name=nobody&password=wrong"
    sized = b"POST /login HTTP/1.1\r\n" + HOST + b"Content-Length: 26\r\n\r\n" + form
    chunked = CHUNKED + b"\r\n10;x=y\r\n" + form[:16] + b"\r\nA\r\n" + form[16:] + b"\r\n0\r\nX: a\r\n\r\n"

    told = answer_to(refusing, sized + SMUGGLED + chunked + SMUGGLED.replace(b"\r\n\r\n", CLOSE))

    assert re.findall(rb"HTTP/1.1 (\d+) ", told) == [b"401", b"200", b"401", b"200"]
