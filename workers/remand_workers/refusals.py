"""When Redis takes no writes (full, a replica): a worker goes on with the messages it has already taken.

kombu records in Redis each message that is taken, and each that is done. When Redis refuses such a record,
the message would be lost, or would keep its place among those a worker may hold at once, so that the worker
stays deaf for ever. And a full Redis would refuse the very worker that could empty it. A missing record costs
nothing: messages are bells.
"""

from __future__ import annotations

from typing import Any

from kombu.transport import redis, virtual
from redis.exceptions import OutOfMemoryError, ResponseError

_append: Any = redis.QoS.append
_ack: Any = redis.QoS.ack
_reject: Any = redis.QoS.reject
_restore: Any = redis.QoS.restore_visible
_bind: Any = redis.Channel._queue_bind  # noqa: SLF001 - kombu leaves no other place to decide it
_known: Any = virtual.QoS
"""Messages held in this process, without the notes in Redis."""


def install() -> None:
    """Guard the Redis transport of this process. Idempotent."""
    redis.QoS.append = append  # type: ignore[method-assign]  # that is the repair
    redis.QoS.ack = ack  # type: ignore[method-assign]  # as above
    redis.QoS.reject = reject  # type: ignore[method-assign]  # as above
    redis.QoS.restore_visible = restore  # type: ignore[method-assign, assignment]  # as above
    redis.Channel._queue_bind = bind  # type: ignore[method-assign]  # noqa: SLF001 - as above


def append(qos: Any, message: Any, delivery_tag: str) -> None:
    """Note a message as taken; if Redis refuses the note, the message is delivered all the same."""
    try:
        _append(qos, message, delivery_tag)
    except ResponseError:
        _known.append(qos, message, delivery_tag)


def ack(qos: Any, delivery_tag: str) -> None:
    """Note a message as done, at least in this process."""
    try:
        _ack(qos, delivery_tag)
    except ResponseError:
        _known.ack(qos, delivery_tag)


def reject(qos: Any, delivery_tag: str, requeue: bool = False) -> None:
    """Drop a message, or put it back; one that Redis does not take back is dropped."""
    try:
        _reject(qos, delivery_tag, requeue)
    except ResponseError:
        _known.ack(qos, delivery_tag)


def restore(qos: Any, *args: Any, **kwargs: Any) -> None:
    """Put back messages that others took long ago and never finished; if Redis refuses, try another time."""
    try:
        _restore(qos, *args, **kwargs)
    except ResponseError:
        return


def bind(channel: Any, exchange: str, routing_key: str, pattern: str, queue: str) -> None:
    """Note where an exchange leads; a full Redis can deliver the messages it holds without this note."""
    try:
        _bind(channel, exchange, routing_key, pattern, queue)
    except OutOfMemoryError:
        return
