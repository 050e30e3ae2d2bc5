"""A guard between the broker and Celery's worker: no message ends the worker, and none is lost silently.

Everything from the broker is treated as hostile until `remand_app.domain.celery_protocol` has read it. A
message that cannot be read becomes the order to set it aside, `remand.set_aside`. Celery handles this order
as usual, and acknowledges it when its letter is stored.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection
from typing import Any, Final
from uuid import uuid4

from celery import bootsteps
from celery.worker import consumer, control, pidbox
from celery.worker.consumer.control import Control as CelerysControl
from kombu.exceptions import ContentDisallowed, DecodeError
from kombu.utils import json as wire_json

from remand.failure import storable
from remand_app.domain.celery_protocol import (
    EMBEDDED,
    MAX_NAME,
    TOKEN,
    WireInvalid,
    check_content,
    read_command,
    read_task,
)
from remand_app.engine.set_aside import MAX_BODY_BYTES, MAX_FIELDS_BYTES
from remand_app.telemetry import log
from remand_workers.celery import settings
from remand_workers.messages import UNREADABLE

SET_ASIDE: Final = "remand.set_aside"
_NOT_KEPT: Final = ("redelivered", "delivery_tag", "delivery_info", UNREADABLE, TOKEN)
"""Keys that transports add and that differ in another delivery; and keys that nobody may see."""
_REASON_LENGTH: Final = 500


class Guarded(consumer.Consumer):
    """Celery's consumer, which gets only messages it can handle; without gossip, which trusts them all."""

    class Blueprint(consumer.Consumer.Blueprint):
        """Celery's steps, with a mailbox that reads commands before it obeys them."""

        default_steps = tuple(
            "remand_workers.message_guard:Control"
            if step == "celery.worker.consumer.control:Control"
            else step
            for step in consumer.Consumer.Blueprint.default_steps
        )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        options = {
            **(kwargs.pop("worker_options", None) or {}),
            "without_gossip": True,
            "without_mingle": True,
        }
        super().__init__(*args, worker_options=options, **kwargs)
        self._take: Callable[[Any], Any] | None = None

    def create_task_handler(self, *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
        """Return the function that is called with each message of a task queue."""
        self._take = super().create_task_handler(*args, **kwargs)
        return self._receive

    def on_decode_error(self, message: Any, exc: Exception) -> None:
        """Set aside a message whose body could not be unpacked; drop a command of the remote control."""
        if self.task_consumer is None or message.channel is not self.task_consumer.channel:
            log("control.refused", reason=_named(exc))
            message.ack()
            return
        self.set_aside(message, f"its body could not be unpacked: {_named(exc)}")

    def on_unknown_message(self, body: Any, message: Any) -> None:  # noqa: ARG002 - Celery's signature
        """Set aside a message that names no task."""
        self.set_aside(message, "it names no task")

    def on_invalid_task(self, body: Any, message: Any, exc: Exception) -> None:  # noqa: ARG002 - as above
        """Set aside a message that Celery itself refuses."""
        self.set_aside(message, f"Celery refuses it: {_named(exc)}")

    def set_aside(self, message: Any, reason: str) -> None:
        """Turn a message into the order to store what can be kept of it, and handle that order instead."""
        kept = json.dumps([[_kept(message, reason)], {}, {}])
        message.headers = {
            "lang": "py", "task": SET_ASIDE, "id": str(uuid4()), "argsrepr": "()", "kwargsrepr": "{}",
            "ignore_result": True,
        }  # fmt: skip
        message.properties = {}
        message.body, message.content_type, message.content_encoding = kept, "application/json", "utf-8"
        message._decoded_cache, message.errors = None, []  # noqa: SLF001 - it is another message now
        self._hand_on(message)

    def _receive(self, message: Any) -> None:
        try:
            _clean(message)
        except WireInvalid as error:
            self.set_aside(message, str(error))
            return
        try:
            self._hand_on(message)
        except (*self.connection_errors, *self.channel_errors):
            raise
        except Exception as error:  # noqa: BLE001 - no message may end a worker
            self.set_aside(message, f"the worker could not take it: {_named(error)}")

    def _hand_on(self, message: Any) -> None:
        assert self._take is not None, "the event loop has made the handler before it hands out a message"
        self._take(message)


class Mailbox(pidbox.Pidbox):
    """Receives commands of the remote control; only those of the setting `commands.control` are obeyed."""

    def __init__(self, c: Any) -> None:
        super().__init__(c)
        self.node.handlers = handlers(settings.commands.control)

    def on_message(self, body: Any, message: Any) -> None:
        """Obey a command that can be read; log any other as refused."""
        exchange = self.node.mailbox.reply_exchange.name
        try:
            command = read_command(message.headers, body, reply_exchange=exchange)
        except WireInvalid as error:
            log("control.refused", reason=str(error))
            return
        if command.method not in control.Panel.data:
            log("control.refused", reason=f"there is no command {command.method[:80]!r}")
            return
        message.headers = {"clock": message.headers.get("clock")}
        super().on_message(
            {
                "method": command.method,
                "arguments": command.arguments,
                "destination": command.destination,
                "pattern": command.pattern,
                "matcher": "glob" if command.pattern else None,
                "reply_to": command.reply_to,
                "ticket": command.ticket,
            },
            message,
        )


def handlers(obeyed: Collection[str]) -> dict[str, Callable[..., Any]]:
    """Return the handler of each command of the remote control; forbidden commands answer with an error."""
    return {
        name: handler if name in obeyed else _forbidden(name) for name, handler in control.Panel.data.items()
    }


def _forbidden(name: str) -> Callable[..., dict[str, str]]:
    def refuse(_state: Any, **_arguments: Any) -> dict[str, str]:
        log("control.forbidden", command=name)
        return {"error": f"{name} is not among the setting commands.control of this worker"}

    return refuse


class Control(CelerysControl):
    """Celery's step of the remote control, with our mailbox."""

    name = "Control"

    def __init__(self, c: Any, **kwargs: Any) -> None:
        self.box = Mailbox(c)
        self.start, self.stop, self.shutdown = self.box.start, self.box.stop, self.box.shutdown
        bootsteps.StartStopStep.__init__(self, c, **kwargs)


def _clean(message: Any) -> None:
    """Reduce a message to what `read_task` finds in it.

    Raises:
        WireInvalid: it is no task.
    """
    why = message.headers.get(UNREADABLE) if isinstance(message.headers, dict) else None
    if why is not None:
        raise WireInvalid(str(why)[:_REASON_LENGTH])
    check_content(message.content_type, message.content_encoding)
    try:
        payload = message.decode()
    except ContentDisallowed:
        raise WireInvalid("its content type is not application/json") from None
    except DecodeError:
        raise WireInvalid("its body is no JSON") from None
    except Exception as error:  # noqa: BLE001 - whatever a parser says to somebody's garbage
        raise WireInvalid(f"its body could not be read: {_named(error)}") from None
    task = read_task(message.headers, message.properties, payload)
    is_as_sent = (
        isinstance(payload, list) and payload[:2] == task.body[:2] and EMBEDDED.issuperset(payload[2] or ())
    )
    if not is_as_sent:
        message.body = _written(task.body)
        message.content_type, message.content_encoding = "application/json", "utf-8"
    message.headers, message.properties = task.headers, task.properties
    message._decoded_cache = task.body  # noqa: SLF001 - what it is decoded to, from here on


def _written(body: list[Any]) -> str:
    # Arguments may be of the types that kombu's JSON adds to those of JSON.
    return str(wire_json.dumps(body))  # type: ignore[no-untyped-call]


def _kept(message: Any, reason: str) -> dict[str, Any]:
    place = message.delivery_info if isinstance(message.delivery_info, dict) else {}
    body = _bytes_of(message.body)
    fields = {
        "queue": storable(str(place.get("routing_key") or "unknown"))[:MAX_NAME],
        "content_type": storable(str(message.content_type))[:MAX_NAME],
        "content_encoding": storable(str(message.content_encoding))[:MAX_NAME],
        "headers": _text_of(_lasting(message.headers)),
        "properties": _text_of(_lasting(message.properties)),
    }
    digest = hashlib.sha256(json.dumps(fields).encode() + body).hexdigest()
    return {
        **fields,
        "headers": fields["headers"][:MAX_FIELDS_BYTES],
        "properties": fields["properties"][:MAX_FIELDS_BYTES],
        "reason": storable(reason)[:_REASON_LENGTH],
        "digest": digest,
        "size": len(body),
        "body": body[:MAX_BODY_BYTES].decode("latin-1"),
    }


def _lasting(fields: Any) -> dict[Any, Any]:
    """Return the parts of a message that stay the same when it is delivered again."""
    return {k: v for k, v in fields.items() if k not in _NOT_KEPT} if isinstance(fields, dict) else {}


def _bytes_of(body: Any) -> bytes:
    if isinstance(body, str):
        return body.encode(errors="surrogatepass")
    return bytes(body) if isinstance(body, (bytes, bytearray, memoryview)) else _text_of(body).encode()


def _text_of(value: Any) -> str:
    try:
        return json.dumps(value, default=str, skipkeys=True)
    except Exception:  # noqa: BLE001 - only what can be kept is kept
        return json.dumps(f"<{type(value).__name__}>")


def _named(error: BaseException) -> str:
    return type(error).__name__
