"""Limits on connections: how long a client may take to send a request, and how many strangers there may be.

uvicorn sets no limit on how long a client takes. Here a request that does not arrive in time is ended. The
number of connections on which nobody has been recognised yet is limited: at the limit, the oldest one that
keeps us waiting is closed to make room. So clients who are not signed in never shut out those who are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import h11
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol

from remand_app.config.web import WebSettings
from remand_app.web.strict_http import StrictConnection

_RECOGNISED = "remand.recognised"
_GRACE_SECONDS = 5.0
"""The gate answers that a body is late; a client that goes on sending is cut off after this time."""
_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


def recognised(scope: Scope) -> None:
    """Say that the sender of this request was recognised: its connection no longer counts as a stranger's."""
    tell = scope.get("extensions", {}).get(_RECOGNISED)
    if tell is not None:
        tell()


def protocol(web: WebSettings) -> type[asyncio.Protocol]:
    """Return the class that uvicorn instantiates for each connection to one server."""
    strangers = _Strangers(web.strangers)

    def made(config: Config, server_state: Any, app_state: Any, _loop: Any = None) -> asyncio.Protocol:
        return _Connection(config, server_state, app_state, _loop, web=web, strangers=strangers)

    return cast("type[asyncio.Protocol]", made)


class _Strangers:
    """Connections on which nobody has been recognised yet, the oldest first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: dict[_Connection, None] = {}

    def admit(self, connection: _Connection) -> None:
        """Admit one more connection; an older one makes room, as the newcomer may still sign in."""
        if len(self._known) >= self._most:
            slow = next((other for other in self._known if other.keeps_us_waiting), next(iter(self._known)))
            self.forget(slow)
            slow.cut()
        self._known[connection] = None

    def forget(self, connection: _Connection) -> None:
        self._known.pop(connection, None)


class _Connection(H11Protocol):
    def __init__(self, *arguments: Any, web: WebSettings, strangers: _Strangers) -> None:
        super().__init__(*arguments)
        self.conn = self._strict = StrictConnection()
        self.app = self._introduced(self.app)
        self._web, self._strangers = web, strangers
        self._waits: tuple[object, asyncio.TimerHandle | None] = (None, None)
        self._has_asked = False

    @property
    def keeps_us_waiting(self) -> bool:
        """Whether the client has to act next."""
        return self.conn.their_state in {h11.IDLE, h11.SEND_BODY} or self.flow.write_paused

    def cut(self) -> None:
        """End the connection at once, even if some data was not sent yet."""
        self.transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()
        self._strangers.admit(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._strangers.forget(self)
        self._wait_for(None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request; in the middle of a response, only end the connection."""
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            super().send_400_response(msg)
        else:
            self.cut()

    def _introduced(self, app: Any) -> Any:
        async def introduced(scope: Scope, receive: Receive, send: Send) -> None:
            extensions = {**scope.get("extensions", {}), _RECOGNISED: lambda: self._strangers.forget(self)}
            await cast("ASGIApp", app)({**scope, "extensions": extensions}, receive, send)

        return introduced

    def _watch(self) -> None:
        """Start the time limit for what the client has to send now."""
        state = self.conn.their_state
        if self.transport.is_closing():
            self._wait_for(None)
        elif state is h11.SEND_BODY:
            self._has_asked = True
            self._wait_for(state, self._web.body_seconds + _GRACE_SECONDS, self.cut)
        elif state is h11.IDLE and (self._strict.has_begun or not self._has_asked):
            self._wait_for(state, self._web.header_seconds, self._refuse)
        else:
            self._has_asked = True
            self._wait_for(None)

    def _wait_for(self, what: object, seconds: float = 0, then: Callable[[], None] | None = None) -> None:
        waited_for, timer = self._waits
        if what is waited_for:
            return
        if timer is not None:
            timer.cancel()
        self._waits = (what, None if then is None else self.loop.call_later(seconds, then))

    def _refuse(self) -> None:
        self.transport.write(_TOO_SLOW)
        self.transport.close()
