"""Bodies of requests: read whole within limits of size and time, then passed on."""

from __future__ import annotations

import asyncio
from urllib.parse import parse_qs

from starlette.requests import HTTPConnection, Request
from starlette.types import Message, Receive

from remand_app.domain.errors import BodyTooLarge

_MOST_FIELDS = 2000
_FORM = "application/x-www-form-urlencoded"


async def read(request: Request, max_bytes: int, seconds: float) -> bytes:
    """Return the body.

    Raises:
        BodyTooLarge: it is larger, or says that it will be.
        TimeoutError: it does not come.
    """
    said = request.headers.get("content-length", "")
    if said.isdecimal() and int(said) > max_bytes:
        raise _too_large(max_bytes)
    parts: list[bytes] = []
    size = 0
    async with asyncio.timeout(seconds):
        async for part in request.stream():
            size += len(part)
            if size > max_bytes:
                raise _too_large(max_bytes)
            parts.append(part)
    return b"".join(parts)


def again(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that yields a body that was read already, and then what the connection sends."""
    is_told = False

    async def told() -> Message:
        nonlocal is_told
        if is_told:
            return await receive()
        is_told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return told


def form_field(connection: HTTPConnection, body: bytes, name: str) -> str | None:
    """Return a field of a form in browsers' default encoding; None: no such field, or the body is no form."""
    kind = connection.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _FORM:
        return None
    try:
        fields = parse_qs(
            body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=_MOST_FIELDS
        )
    except ValueError:
        return None
    return fields.get(name, [""])[0] or None


def _too_large(max_bytes: int) -> BodyTooLarge:
    return BodyTooLarge(
        f"the body is larger than {max_bytes} bytes",
        hint="the setting web.max_body_bytes allows more",
        details={"max_bytes": max_bytes},
    )
