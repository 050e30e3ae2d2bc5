"""Close two gaps of kombu's Redis transport through which a worker ends that should live.

It parses outside every guard, so that anybody's garbage in a queue ends the worker: here garbage becomes a
message of no task, which Celery logs and throws away. And it puts messages back on a connection that is no
more: here they stay where they are. A bell lost so is rung again. Source: celery/celery#4308.
"""

from __future__ import annotations

import base64
from typing import Any
from uuid import uuid4

from kombu.transport import redis

_restore: Any = redis.QoS.restore_unacked
_loads: Any = redis.loads  # type: ignore[attr-defined]  # what the transport imported


def install() -> None:
    """Guard the Redis transport of this process. Idempotent."""
    redis.QoS.restore_unacked = restore_if_connected  # type: ignore[method-assign]  # that is the repair
    redis.loads = readable  # type: ignore[attr-defined, assignment]  # as above


def restore_if_connected(qos: Any, client: Any = None) -> None:
    """Put messages back that were taken but not begun, unless the connection is gone already."""
    transport = qos.channel.connection
    if transport is not None and transport.client is not None:
        _restore(qos, client)


def readable(text: str) -> Any:
    """Parse what lay in Redis; what is no envelope of a message comes back wrapped in one."""
    try:
        parsed = _loads(text)
        if not isinstance(parsed, dict):
            # The transport's own notes are lists; nothing else that is no object is a message.
            return parsed if isinstance(parsed, list) else _wrapped(text)
        properties = parsed["properties"]
        if properties["delivery_tag"] and properties.get("body_encoding") == "base64":
            base64.b64decode(parsed["body"], validate=True)
    except (ValueError, KeyError, TypeError, AttributeError):
        return _wrapped(text)
    return parsed


def _wrapped(text: str) -> dict[str, Any]:
    return {
        "body": base64.b64encode(text.encode(errors="surrogateescape")).decode(),
        "content-type": "application/octet-stream",
        "content-encoding": "binary",
        "headers": {},
        "properties": {
            "body_encoding": "base64",
            "delivery_tag": str(uuid4()),
            "delivery_info": {"exchange": "", "routing_key": ""},
        },
    }
