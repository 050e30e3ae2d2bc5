"""The network between a site and one of its servers, as a TCP proxy that can be cut, made silent or slow."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import urlsplit, urlunsplit

UP, DOWN = "up", "down"
"""Directions: what goes to the server, and what it answers."""
_PORTS = {"postgresql": 5432, "redis": 6379, "amqp": 5672}


@dataclass(eq=False, slots=True)
class _Pair:
    """Two connections that are one to those at its ends."""

    ends: list[asyncio.StreamWriter]
    gaps: set[str] = field(default_factory=set)
    """Directions in which something was swallowed: nothing can follow it."""


class Link:
    """Listens on `port` and hands on to a server. Every method is safe to call from any thread."""

    def __init__(self, url: str) -> None:
        """`url`: of the server; `Link.url` is the same through the link."""
        parts = urlsplit(url)
        self._server = (parts.hostname or "127.0.0.1", parts.port or _PORTS[parts.scheme])
        self._parts = parts
        self._refuses = False
        self._swallows: frozenset[str] = frozenset()
        self._delay = 0.0
        self._pairs: set[_Pair] = set()
        self._loop = asyncio.new_event_loop()
        self.url = ""

    def __enter__(self) -> Self:
        listening = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(listening,), daemon=True)
        self._thread.start()
        listening.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def cut(self) -> None:
        """End every connection; new ones are let through."""
        self._loop.call_soon_threadsafe(self._end, lambda _: True)

    def refuse(self) -> None:
        """End every connection, and each new one at once, until `heal`."""
        self._refuses = True
        self.cut()

    def swallow(self, directions: Iterable[str]) -> None:
        """Keep connections and take new ones, and let nothing through in these directions until `heal`."""
        self._swallows = frozenset(directions)

    def slow(self, seconds: float) -> None:
        """Delay whatever passes until `heal`."""
        self._delay = seconds

    def heal(self, *, forgets: bool = False) -> None:
        """Let all pass again; connections that something is missing from end.

        `forgets`: they do not; they stay as silent as those that a firewall has forgotten.
        """
        self._refuses, self._swallows, self._delay = False, frozenset(), 0.0
        if forgets:
            return
        self._loop.call_soon_threadsafe(self._end, lambda pair: bool(pair.gaps))

    def _run(self, listening: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._accept, "127.0.0.1", 0))
        user, at, _ = self._parts.netloc.rpartition("@")
        port = server.sockets[0].getsockname()[1]
        self.url = urlunsplit(self._parts._replace(netloc=f"{user}{at}127.0.0.1:{port}"))
        listening.set()
        self._loop.run_forever()
        server.close()
        going = asyncio.all_tasks(self._loop)
        for task in going:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*going, return_exceptions=True))
        self._loop.close()

    def _end(self, wanted: object) -> None:
        for pair in list(self._pairs):
            if wanted(pair):  # type: ignore[operator]
                for end in pair.ends:
                    end.transport.abort()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._refuses:
            writer.transport.abort()
            return
        pair = _Pair([writer])
        self._pairs.add(pair)
        try:
            if self._swallows:
                pair.gaps = {UP, DOWN}
                await self._carry(reader, None, pair, UP)
            else:
                answers, there = await asyncio.open_connection(*self._server)
                pair.ends.append(there)
                await asyncio.gather(
                    self._carry(reader, there, pair, UP), self._carry(answers, writer, pair, DOWN)
                )
        except (OSError, asyncio.CancelledError):
            writer.transport.abort()
        finally:
            self._pairs.discard(pair)

    async def _carry(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter | None, pair: _Pair, way: str
    ) -> None:
        try:
            while chunk := await source.read(65536):
                if way in self._swallows:
                    pair.gaps.add(way)
                if way in pair.gaps or target is None:
                    continue
                if self._delay:
                    await asyncio.sleep(self._delay)
                target.write(chunk)
                await target.drain()
        except OSError:
            pass
        finally:
            for end in pair.ends:
                end.close()
