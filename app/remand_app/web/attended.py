"""Work for a request that goes on only while the client waits for its response."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

Result = TypeVar("Result")


async def attended(request: Request, work: Callable[[Callable[[], bool]], Result]) -> Result:
    """Run the work in a thread and return its result; the work may ask whether the client has gone."""
    gone = threading.Event()
    watcher = asyncio.create_task(_watch(request, gone))
    try:
        return await run_in_threadpool(work, gone.is_set)
    finally:
        watcher.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watcher


async def _watch(request: Request, gone: threading.Event) -> None:
    # The body was read before: the next message is the end of the connection.
    while (await request.receive())["type"] != "http.disconnect":
        continue
    gone.set()
