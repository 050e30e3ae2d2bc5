"""Own how messages of Celery's protocol are read, versions 1 and 2: fields are known, dropped or refused.

A program with access to the broker can send any message. Celery takes most fields unchecked, and a field
that it does not expect ends the worker. Here a message becomes a `TaskMessage` whose values cannot do that,
or `WireInvalid` says what is wrong with the message. Time limits, stamps and display names are dropped: no
sender decides when a child process of a worker is killed. Source: Celery 5.7, docs/internals/protocol.rst.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from remand_app.domain.errors import InstantInvalid
from remand_app.domain.instants import bounded, read_instant
from remand_app.domain.jsonvalue import first_problem

MAX_NAME: Final = 255
TOKEN: Final = "remand_token"  # noqa: S105 - the name of a header
"""The header by which the sender of a verb is recognised: a token, as for the API."""
_JSON: Final = ("application/json",)
_ENCODINGS: Final = ("utf-8", "utf8", "us-ascii", "ascii", "binary")
_MAX_PRIORITY: Final = 255
_MAX_RETRIES: Final = 1_000_000
EMBEDDED: Final = frozenset({"callbacks", "errbacks", "chain", "chord"})
"""What a message may say of tasks that follow it."""


class WireInvalid(ValueError):
    """A message that no worker can take; its text says why, and is the same for all with the same fault."""


@dataclass(frozen=True, slots=True)
class TaskMessage:
    """What a worker needs of a message: headers and body of protocol 2, and where to send the answer."""

    headers: dict[str, Any]
    body: list[Any]
    """Positional arguments, keyword arguments, and what is to follow the task."""
    properties: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Command:
    """A message of Celery's remote control."""

    method: str
    arguments: dict[str, Any]
    destination: list[str] | None
    pattern: str | None
    reply_to: dict[str, str] | None
    ticket: str | None


def check_content(content_type: object, content_encoding: object) -> None:
    """Make sure that a body is JSON in UTF-8.

    Raises:
        WireInvalid: it says that it is something else.
    """
    if content_type not in _JSON:
        raise WireInvalid("its content type is not application/json")
    if content_encoding is not None and (
        not isinstance(content_encoding, str) or content_encoding.lower() not in _ENCODINGS
    ):
        raise WireInvalid("its content encoding is not utf-8")


def read_task(headers: object, properties: object, payload: object) -> TaskMessage:
    """Return the task that a message asks for.

    `payload` is its body, parsed: a list of three in protocol 2; in protocol 1 an object, whose fields are
    overridden by those in the headers.

    Raises:
        WireInvalid: it asks for none, or a field is not what it must be.
    """
    stated = _mapping(headers, "headers")
    if isinstance(payload, Mapping):
        fields: Mapping[Any, Any] = {**_mapping(payload, "body"), **stated}
        body = _body(fields.get("args", ()), fields.get("kwargs", {}), _embedded(fields))
    elif isinstance(payload, list) and len(payload) == 3:
        fields = stated
        body = _body(payload[0], payload[1], _embedded(_mapping(payload[2], "body")))
    else:
        raise WireInvalid("its body is neither that of protocol 1 nor of protocol 2")
    return TaskMessage(_headers(fields, stated), body, _properties(properties))


def read_command(headers: object, payload: object, *, reply_exchange: str) -> Command:
    """Return the command that a message of the remote control gives; answers go to `reply_exchange` alone.

    Raises:
        WireInvalid: it gives none, or a field is not what it must be.
    """
    clock = _mapping(headers, "headers").get("clock")
    if clock is not None and not _is_count(clock, 1 << 53):
        raise WireInvalid("its clock is not a count")
    fields = _mapping(payload, "body")
    arguments = _mapping(fields.get("arguments"), "arguments")
    if any(not isinstance(name, str) for name in arguments):
        raise WireInvalid("its arguments are not named by text")
    if fields.get("matcher") not in (None, "glob"):
        raise WireInvalid("its matcher is not glob")
    return Command(
        method=_text(fields, "method", required=True) or "",
        arguments=dict(arguments),
        destination=_destination(fields.get("destination")),
        pattern=_text(fields, "pattern"),
        reply_to=_reply_to(fields.get("reply_to"), reply_exchange),
        ticket=_text(fields, "ticket"),
    )


def _headers(fields: Mapping[Any, Any], stated: Mapping[Any, Any]) -> dict[str, Any]:
    task_id = _text(fields, "id", required=True)
    return {
        "lang": _text(fields, "lang") or "py",
        "task": _text(fields, "task", required=True),
        "id": task_id,
        "root_id": _text(fields, "root_id"),
        "parent_id": _text(fields, "parent_id"),
        "group": _text(fields, "taskset") if "taskset" in fields else _text(fields, "group"),
        "eta": _instant(fields, "eta"),
        "expires": _instant(fields, "expires"),
        "retries": _count(fields, "retries", _MAX_RETRIES) or 0,
        "replaced_task_nesting": _count(fields, "replaced_task_nesting", _MAX_RETRIES) or 0,
        "timelimit": [None, None],
        "argsrepr": "()",
        "kwargsrepr": "{}",
        "origin": _text(fields, "origin"),
        "ignore_result": _flag(fields, "ignore_result"),
        TOKEN: _text(stated, TOKEN),
    }


def _properties(properties: object) -> dict[str, Any]:
    fields = _mapping(properties, "properties")
    return {
        "reply_to": _text(fields, "reply_to"),
        "correlation_id": _text(fields, "correlation_id"),
        "priority": _count(fields, "priority", _MAX_PRIORITY),
    }


def _body(args: object, kwargs: object, embedded: dict[str, Any]) -> list[Any]:
    args, kwargs = [] if args is None else args, {} if kwargs is None else kwargs
    if not isinstance(args, (list, tuple)):
        raise WireInvalid("its args are no list")
    if not isinstance(kwargs, Mapping) or any(not isinstance(name, str) for name in kwargs):
        raise WireInvalid("its kwargs are no object")
    return [list(args), dict(kwargs), embedded]


def _embedded(fields: Mapping[Any, Any]) -> dict[str, Any]:
    signatures = {name: fields.get(name) for name in EMBEDDED}
    for name, value in signatures.items():
        of_many = isinstance(value, list) and all(_is_signature(signature) for signature in value)
        if value is not None and not of_many and not (name == "chord" and _is_signature(value)):
            raise WireInvalid(f"its {name} are no signatures of tasks")
    return signatures


def _is_signature(value: object) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("task"), str)


def _mapping(value: object, what: str) -> Mapping[Any, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise WireInvalid(f"its {what} are no object" if what != "body" else "its body is no object")
    return value


def _text(fields: Mapping[Any, Any], name: str, *, required: bool = False) -> str | None:
    value = fields.get(name)
    if value is None and not required:
        return None
    if not isinstance(value, str) or (required and not value):
        raise WireInvalid(f"its {name} is no text")
    if len(value) > MAX_NAME or first_problem(value) is not None:
        raise WireInvalid(f"its {name} is too long, or holds what is no text")
    return value


def _count(fields: Mapping[Any, Any], name: str, most: int) -> int | None:
    value = fields.get(name)
    if value is None:
        return None
    if not _is_count(value, most):
        raise WireInvalid(f"its {name} is no count")
    return int(value)


def _is_count(value: object, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most


def _flag(fields: Mapping[Any, Any], name: str) -> bool | None:
    value = fields.get(name)
    if value is not None and not isinstance(value, bool):
        raise WireInvalid(f"its {name} is neither true nor false")
    return value


def _instant(fields: Mapping[Any, Any], name: str) -> str | None:
    """Return an instant as Celery reads it: senders write it as text, without an offset in UTC."""
    value = fields.get(name)
    if value is None:
        return None
    try:
        if isinstance(value, str):
            return read_instant(value, naive_is_utc=True).isoformat()
        if isinstance(value, datetime):
            return bounded(value if value.tzinfo else value.replace(tzinfo=UTC)).isoformat()
    except InstantInvalid:
        pass
    raise WireInvalid(f"its {name} is no instant")


def _destination(value: object) -> list[str] | None:
    if value is None:
        return None
    if not isinstance(value, list) or any(not isinstance(name, str) for name in value):
        raise WireInvalid("its destination is no list of names")
    return value


def _reply_to(value: object, exchange: str) -> dict[str, str] | None:
    if value is None:
        return None
    fields = _mapping(value, "reply_to")
    routing_key = _text(fields, "routing_key", required=True) or ""
    if fields.get("exchange") != exchange:
        raise WireInvalid("it wants its answer elsewhere than answers go")
    return {"exchange": exchange, "routing_key": routing_key}
