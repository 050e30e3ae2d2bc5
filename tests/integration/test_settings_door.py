"""That each setting of the server's door is obeyed; see `test_settings_matter.py`."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import ExitStack

import pytest

from tests.support.listening import Listening, is_cut
from tests.support.waiting import eventually
from tests.support.web import Web

pytestmark = pytest.mark.once

WebWith = Callable[..., Web]
LONG = 60.0
HEAD = b"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n"


def told(server: Listening, sent: bytes) -> bytes | None:
    """Return what a client is told that sends no more, None for nothing within half a second."""
    with socket.create_connection(server.address, timeout=0.5) as door:
        door.sendall(sent)
        try:
            return door.recv(65_536)
        except TimeoutError:
            return None


@pytest.mark.parametrize("seconds", [0.1, LONG])
def test_web_header_seconds_is_how_long_a_head_may_take(web_with: WebWith, seconds: float) -> None:
    with Listening(web_with(header_seconds=seconds)) as server:
        heads = [told(server, sent) for sent in (b"", HEAD)]

    assert heads == ([None, None] if seconds == LONG else [heads[0], heads[0]])
    assert seconds == LONG or (heads[0] or b"").startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("seconds", [0.1, LONG])
def test_web_body_seconds_is_how_long_a_body_may_take(web_with: WebWith, seconds: float) -> None:
    with Listening(web_with(body_seconds=seconds)) as server:
        answer = told(server, HEAD + b"\r\nname")

    assert (answer or b"").startswith(b"HTTP/1.1 408 ") == (seconds != LONG)


@pytest.mark.parametrize("most", [2, 4])
def test_web_strangers_is_how_many_may_hold_a_connection(web_with: WebWith, most: int) -> None:
    with Listening(web_with(strangers=most)) as server, ExitStack() as stack:
        slow = [stack.enter_context(socket.create_connection(server.address)) for _ in range(6)]

        eventually(lambda: sum(map(is_cut, slow)) == 6 - most)
