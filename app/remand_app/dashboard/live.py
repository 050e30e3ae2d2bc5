"""Tell browsers that something changed: server-sent events, from one query shared by all listeners.

Each page carries a mark, taken before its data was read. A browser that begins to listen, or reconnects,
sends the mark that it has seen. So no change in between is missed.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from remand_app.engine.engine import Engine
from remand_app.engine.last_look import LastLook
from remand_app.resources.overview import change_mark

LOOK_SECONDS = 2.0
KEEP_ALIVE_SECONDS = 20.0
STREAM_SECONDS = 60.0
"""A browser comes back by itself, through the gate: who was signed out hears no more."""
MOST_LISTENERS = 200
_AT_ONCE = {"X-Accel-Buffering": "no"}
"""What tells proxies to pass on each event as it comes."""


class Live:
    """The last look at the database, and how many listen."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._last = LastLook[str](LOOK_SECONDS / 2)
        self._listeners = 0
        self._lock = asyncio.Lock()

    async def mark(self) -> str:
        """Return a name of the state of the site, at most a second old: another when something changed."""
        async with self._lock:
            if self._last.is_fresh:
                return self._last.seen
            return await anyio.to_thread.run_sync(self._last.get, self._look)

    def _look(self) -> str:
        seen = change_mark(self._engine.database)
        return hashlib.blake2b(repr(seen).encode(), digest_size=8).hexdigest()

    async def serve(self, request: Request) -> Response:
        """Answer a browser that listens; 503 when too many do."""
        if self._listeners >= MOST_LISTENERS:
            return Response("too many pages listen", 503, {"Retry-After": "30"})
        return StreamingResponse(self._events(request), media_type="text/event-stream", headers=_AT_ONCE)

    async def _events(self, request: Request) -> AsyncIterator[str]:
        self._listeners += 1
        try:
            last = await self.mark()
            seen = request.headers.get("last-event-id") or request.query_params.get("seen") or last
            quiet_since = time.monotonic()
            # An event without data is not delivered, but browsers keep its id and send it on reconnecting.
            yield f"retry: 5000\nid: {last}\n\n"
            if seen != last:
                yield _changed(last)
            ends = time.monotonic() + STREAM_SECONDS
            while time.monotonic() < ends and not await request.is_disconnected():
                await asyncio.sleep(LOOK_SECONDS)
                mark = await self.mark()
                if mark != last:
                    last, quiet_since = mark, time.monotonic()
                    yield _changed(last)
                elif time.monotonic() - quiet_since > KEEP_ALIVE_SECONDS:
                    quiet_since = time.monotonic()
                    yield ": still here\n\n"
        finally:
            self._listeners -= 1


def _changed(mark: str) -> str:
    return f"event: changed\nid: {mark}\ndata: \n\n"
