"""Keep garbage in a queue from ending a worker before any of our code has seen it.

kombu and amqp parse messages outside every guard. Here an unreadable message is wrapped in a readable one
that says so. It reaches the consumer like any other, which sets it aside (message_guard.py). kombu also
puts messages back on a connection that is already gone: here they stay where they are. A bell lost this way
is rung again.
Source: celery/celery#4308.
"""

from __future__ import annotations

import base64
import bz2
import lzma
import struct
import zlib
from collections.abc import Callable
from typing import Any, Final
from uuid import uuid4

from amqp import abstract_channel  # type: ignore[import-untyped]
from amqp.serialization import GenericContent  # type: ignore[import-untyped]
from kombu import compression
from kombu.transport import redis, virtual

UNREADABLE: Final = "remand-unreadable"
"""The header that says why a message could not be read."""
MOST_UNPACKED_BYTES: Final = 64 * 1024 * 1024
"""Limit for a body that its sender had compressed."""
_DELIVER: Final = "sLbss"
"""The arguments of AMQP's basic.deliver: names as short strings, the tag, a bit."""

# These libraries offer no other place for a guard, and their types do not know the replacements.
_redis: Any = redis
_content: Any = GenericContent
_channel: Any = abstract_channel
_compression: Any = compression
_transport: Any = virtual.Transport
_restore: Any = _redis.QoS.restore_unacked
_loads: Any = _redis.loads
_load_properties: Any = _content._load_properties  # noqa: SLF001 - as said
_load_arguments: Any = _channel.loads


def install() -> None:
    """Guard the transports of this process. Idempotent."""
    _redis.QoS.restore_unacked = restore_if_connected
    _redis.loads = parsed
    _redis.bytes_to_str = text_of
    _redis.Transport._deliver = deliver  # noqa: SLF001 - as said
    _content._load_properties = load_properties  # noqa: SLF001 - as said
    _channel.loads = load_arguments
    for name in _compression.encoders():
        encode, _ = _compression.get_encoder(name)
        _compression.register(encode, _UNPACKERS.get(name, _not_unpacked), name)


def restore_if_connected(qos: Any, client: Any = None) -> None:
    """Put messages back that were taken but not begun, unless the connection is gone already."""
    transport = qos.channel.connection
    if transport is not None and transport.client is not None:
        _restore(qos, client)


def text_of(raw: Any) -> Any:
    """Return what Redis sent, as text from which the original bytes can be restored."""
    return raw.decode(errors="surrogateescape") if isinstance(raw, bytes) else raw


def parsed(text: str) -> Any:
    """Parse a message from Redis; one that is no JSON comes back as a message that says so."""
    try:
        text.encode()
        return _loads(text)
    except Exception:  # noqa: BLE001 - whatever a parser says to somebody's garbage, it is garbage
        return unreadable(text, "it is no JSON")


def deliver(transport: Any, message: Any, queue: str) -> None:
    """Deliver a message to the listener of its queue, in an envelope that kombu can always read."""
    _transport._deliver(transport, envelope(message, queue), queue)  # noqa: SLF001 - as said


def envelope(received: Any, queue: str) -> dict[str, Any]:
    """Return a message's envelope, with a tag of its own: two messages of one tag would hide each other."""
    problem = _problem(received)
    message: dict[str, Any] = received if problem is None else unreadable(_redis_text(received), problem)
    properties = message["properties"]
    properties["delivery_tag"] = str(uuid4())
    # The queue that the message came from, and goes back to if it must.
    properties["delivery_info"] = {"exchange": "", "routing_key": queue}
    return message


def unreadable(text: str, why: str) -> dict[str, Any]:
    """Wrap what could not be read as a message."""
    return {
        "body": base64.b64encode(text.encode(errors="surrogateescape")).decode(),
        "content-type": "application/octet-stream",
        "content-encoding": "binary",
        "headers": {UNREADABLE: why},
        "properties": {"body_encoding": "base64"},
    }


def load_properties(content: Any, class_id: int, buf: Any, offset: int) -> int:
    """Read a message's properties; if amqp cannot read them, they become one header that says so."""
    try:
        read: int = _load_properties(content, class_id, buf, offset)
    except Exception:  # noqa: BLE001 - as in `parsed`; some of these would make the connection begin anew
        content.properties = {
            "content_type": "application/octet-stream",
            "application_headers": {UNREADABLE: "its properties are none of AMQP"},
        }
        return offset
    return read


def load_arguments(format: str, buf: Any, offset: int) -> Any:  # noqa: A002 - amqp's word
    """Read the arguments of a method of AMQP; names in a delivery need not be UTF-8."""
    try:
        return _load_arguments(format, buf, offset)
    except UnicodeDecodeError:
        if format != _DELIVER:
            raise
        return _read_delivery(bytes(buf), offset)


def _read_delivery(buf: bytes, offset: int) -> tuple[list[Any], int]:
    def name() -> str:
        nonlocal offset
        end = offset + 1 + buf[offset]
        read, offset = buf[offset + 1 : end].decode(errors="replace"), end
        return read

    consumer = name()
    tag, bits = struct.unpack_from(">QB", buf, offset)
    offset += 9
    return [consumer, tag, bool(bits & 1), name(), name()], offset


def _problem(received: Any) -> str | None:
    """Say what is wrong with an envelope of kombu's, None for nothing."""
    if not isinstance(received, dict):
        return "it is no envelope of a message"
    headers, properties = received.get("headers"), received.get("properties")
    if headers is not None and not isinstance(headers, dict):
        return "its headers are no object"
    if not isinstance(properties, dict):
        return "its properties are no object"
    body, encoding = received.get("body"), properties.get("body_encoding")
    if body is not None and not isinstance(body, str):
        return "its body is no text"
    if encoding not in (None, "base64", "utf-8"):
        return "its body encoding is neither base64 nor utf-8"
    if encoding == "base64" and body is not None and not _is_base64(body):
        return "its body is no base64"
    received["headers"] = headers or {}
    return None


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except ValueError:
        return False
    return True


def _redis_text(received: Any) -> str:
    try:
        return str(_redis.dumps(received))
    except Exception:  # noqa: BLE001 - as in `parsed`
        return repr(type(received))


def _unpacked(make: Callable[[], Any]) -> Callable[[bytes], bytes]:
    def unpack(body: bytes) -> bytes:
        unpacker = make()
        unpacked: bytes = unpacker.decompress(body, MOST_UNPACKED_BYTES)
        if not unpacker.eof:
            raise ValueError("it is cut off, or unpacks to more than a message may hold")
        return unpacked

    return unpack


_UNPACKERS: Final = {
    "application/x-gzip": _unpacked(zlib.decompressobj),
    "application/x-bz2": _unpacked(bz2.BZ2Decompressor),
    "application/x-lzma": _unpacked(lambda: lzma.LZMADecompressor(memlimit=MOST_UNPACKED_BYTES)),
}
"""How bodies are unpacked: a kilobyte may unpack to a gigabyte."""


def _not_unpacked(_body: bytes) -> bytes:
    raise ValueError("workers unpack gzip, bzip2 and lzma alone")
