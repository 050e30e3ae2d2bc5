"""Messages that no worker can take: put into Redis by hand, sent to RabbitMQ frame by frame."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import amqp
import kombu
import redis

TASK = "remand.drain"
GOOD_ID = "0b6f3a3e-3b54-4f4a-9f3e-6b8a5a0c9a11"


@dataclass(frozen=True, slots=True)
class Hostile:
    """One message; what is not given is as it must be."""

    name: str
    headers: dict[str, Any] = field(default_factory=dict)
    properties: dict[str, Any] = field(default_factory=dict)
    body: bytes = b'[["steps"], {}, {}]'
    content_type: Any = "application/json"
    content_encoding: Any = "utf-8"
    is_v1: bool = False
    raw: str | bytes | None = None
    """Redis alone: what lies in the list, instead of an envelope."""
    raw_properties: bytes | None = None
    """RabbitMQ alone: the properties as they are sent."""

    @property
    def names_itself(self) -> bool:
        """Whether its letter tells its name."""
        is_plain = self.raw is None and self.raw_properties is None and "body_encoding" not in self.properties
        return is_plain and "\0" not in self.headers.values()

    @property
    def all_headers(self) -> dict[str, Any]:
        told = {"origin": self.name}
        return told if self.is_v1 else {**told, "task": TASK, "id": GOOD_ID, "lang": "py", **self.headers}


def v1(name: str, **fields: Any) -> Hostile:
    """Return a message of protocol 1, with these fields in its body."""
    body = {"task": TASK, "id": GOOD_ID, "args": ["steps"], "kwargs": {}, **fields}
    return Hostile(name, is_v1=True, body=json.dumps(body).encode())


_WRONG: dict[str, tuple[Any, ...]] = {
    "task": ([], {}, 7, "", "x" * 400, None),
    "id": ([], {}, 7, "", "\0", None),
    "expires": ([], {}, 7, "garbage", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", True),
    "eta": ([], {}, 7, "garbage", "9999-12-31T23:59:59-14:00", "2026-11-27T08:00:00+23:59"),
    "retries": ([], "many", -1, 10**30),
    "root_id": ([], {}, 7),
    "group": ([], {}, 7),
}
_DROPPED: dict[str, tuple[Any, ...]] = {
    "timelimit": (["a", "b"], [0.01, 0.01], 7, "x", [None], [1, 2, 3]),
    "shadow": ([], {}, 7),
    "stamped_headers": (7, "x"),
    "stamps": (7, "x"),
    "argsrepr": ([], 7),
    "callbacks": (7,),
    "hostname": ([],),
    "delivery_info": (7,),
}
REFUSED = [
    *(Hostile(f"{name} {value!r:.30}", {name: value}) for name, values in _WRONG.items() for value in values),
    *(v1(f"v1 {name} {value!r:.30}", **{name: value}) for name, values in _WRONG.items() for value in values),
    *(
        v1(f"v1 {name} 7", **{name: 7})
        for name in ("args", "kwargs", "callbacks", "errbacks", "chord", "taskset")
    ),
    *(
        Hostile(f"body {body[:20]!r}", body=body)
        for body in (
            b"7",
            b"",
            b"null",
            b"true",
            b'"text"',
            b"[]",
            b"[1, 2]",
            b"[7, {}, {}]",
            b"[[], 7, {}]",
            b"[[], {}, 7]",
            b'[[], {}, {"callbacks": 7}]',
            b'[[], {}, {"chord": [7]}]',
            b"{truncated",
            b"\xff\xfe",
            b"[" * 100_000,
            b"1" * 10_000,
            b'[[], {}, {"__type__": "uuid", "__value__": 7}]',
            b'{"__type__": [], "__value__": 7}',
        )
    ),
    *(
        Hostile(f"content type {value!r}", content_type=value)
        for value in (None, "", "text/plain", "application/x-python-serialize")
    ),
    *(Hostile(f"encoding {value!r}", content_encoding=value) for value in ("nosuch", "zlib_codec", "idna")),
    *(
        Hostile(f"compression {value!r}", {"compression": value})
        for value in ("application/x-gzip", "nosuch", ["x"], 7)
    ),
    Hostile(
        "pickle",
        body=base64.b64decode("gASVBgAAAAAAAABLB0sIhpQu"),
        content_type="application/x-python-serialize",
    ),
    Hostile("no headers", is_v1=True),
]
"""Become dead letters, on either broker."""
HARMLESS = [
    *(
        Hostile(f"{name} {value!r:.30}", {name: value})
        for name, values in _DROPPED.items()
        for value in values
    ),
    v1("v1 timelimit", timelimit=["a", "b"]),
    v1("v1 good"),
    v1("v1 utc", utc=[]),
    Hostile("hybrid", body=json.dumps({"args": ["steps"], "kwargs": {}}).encode()),
    Hostile("nulls", body=b"[null, null, null]"),
    Hostile("unknown headers", {"a": {"b": [1, None]}, "compression": None}),
    Hostile("embedded", body=b'[["steps"], {}, {"hostname": [], "id": 7}]'),
]
"""Run: what is wrong with them is dropped."""
_ENVELOPE = {"body": "", "headers": {}, "properties": {}, "content-type": "application/json"}
ON_REDIS = [
    *(
        Hostile(f"raw {raw!r:.30}", raw=raw)
        for raw in (
            "{truncated",
            "",
            "7",
            "null",
            "true",
            '"text"',
            "[]",
            "[1, 2, 3]",
            '[{}, "", ""]',
            "{}",
            b"\xff\xfe\x00",
            "[" * 100_000,
            "NaN",
            "1" * 10_000,
            '{"__type__": "uuid", "__value__": 7}',
            '{"__type__": [], "__value__": 7}',
            '{"__type__": "decimal", "__value__": "x"}',
            '{"body": "%%%", "headers": {}, "properties": {}}',
        )
    ),
    *(
        Hostile(f"envelope {name} {value!r}", raw=json.dumps({**_ENVELOPE, name: value}))
        for name in ("body", "headers", "properties", "content-type", "content-encoding")
        for value in ([], 7, True, "x", {"a": 1})
    ),
    *(
        Hostile(f"{name} {value!r}", properties={name: value})
        for name, values in {
            "body_encoding": ([], 7, "nosuch"),
            "reply_to": ([], 7),
            "correlation_id": ([], {}),
            "priority": ("x", [], -1, 1e300),
        }.items()
        for value in values
    ),
]
"""What only whoever writes into Redis can make."""
HARMLESS_ON_REDIS = [
    Hostile(f"{name} {value!r}", properties={name: value})
    for name in ("delivery_tag", "delivery_info")
    for value in ([], {}, 7, None, "unacked", {"exchange": "nosuch", "routing_key": []})
]


def _table(entries: bytes) -> bytes:
    return len(entries).to_bytes(4, "big") + entries


def _nested(depth: int) -> bytes:
    table = _table(b"")
    for _ in range(depth):
        table = _table(b"\x01aF" + table)
    return table


ON_RABBITMQ = [
    Hostile(f"properties {name}", raw_properties=raw, body=name.encode())
    for name, raw in {
        "with a year beyond": b"\x00\x40" + b"\xff" * 8,
        "with a header of a year beyond": b"\x20\x00" + _table(b"\x01aT" + b"\xff" * 8),
        "not in UTF-8": b"\x80\x00" + b"\x04" + b"\xff\xfe\xfd\xfc",
        "nested": b"\x20\x00" + _nested(5_000),
    }.items()
]
"""What only whoever speaks AMQP himself can make."""


COMMANDS: list[Any] = [
    7,
    [],
    {},
    "ping",
    None,
    {"method": []},
    {"method": {}},
    {"method": "ping", "arguments": []},
    {"method": "ping", "arguments": 7},
    {"method": "ping", "arguments": {"state": 1}},
    {"method": "ping", "destination": 7},
    {"method": "ping", "destination": {}},
    {"method": "ping", "reply_to": 7, "ticket": "x"},
    {"method": "ping", "reply_to": {}, "ticket": []},
    {"method": "ping", "reply_to": {"exchange": "amq.direct", "routing_key": "x"}},
    {"method": "ping", "reply_to": {"exchange": "reply.celery.pidbox", "routing_key": []}},
    {"method": "ping", "matcher": "pcre", "pattern": "(\\w+)+$"},
    {"method": "ping", "matcher": [], "pattern": 7},
    {"method": "nosuch"},
    {"method": "query_task", "arguments": {"ids": [[], {}]}},
    {"method": "registered", "arguments": {"taskinfoitems": 7}},
]


class Sender:
    """Puts such messages into a queue."""

    def __init__(self, broker_url: str) -> None:
        self._url = broker_url
        self.is_redis = broker_url.startswith("redis")

    def kinds(self) -> tuple[list[Hostile], list[Hostile]]:
        """Return what this broker can carry: what becomes a letter, and what does not."""
        if self.is_redis:
            return [*REFUSED, *ON_REDIS], [*HARMLESS, *HARMLESS_ON_REDIS]
        refused = [one for one in REFUSED if _fits_a_table(one.headers)]
        return [*refused, *ON_RABBITMQ], HARMLESS

    def send(self, queue: str, messages: list[Hostile]) -> None:
        if self.is_redis:
            with redis.Redis.from_url(self._url) as client:
                for one in messages:
                    client.lpush(queue, _enveloped(one) if one.raw is None else one.raw)
            return
        parts = urlsplit(self._url)
        with amqp.Connection(
            f"{parts.hostname}:{parts.port or 5672}",
            parts.username,
            parts.password,
            virtual_host=parts.path[1:] or "/",
        ) as connection:
            for one in messages:
                connection.channel().basic_publish(_message(one), exchange="", routing_key=queue)

    def broadcast(self, bodies: list[Any], headers: dict[str, Any]) -> None:
        """Send commands of the remote control to all workers, as Celery would send good ones."""
        with kombu.Connection(self._url) as connection, connection.channel() as channel:
            exchange = kombu.Exchange("celery.pidbox", "fanout", durable=False, delivery_mode="transient")
            producer = kombu.Producer(channel, exchange=exchange.bind(channel), serializer="json")
            for body in bodies:
                producer.publish(body, headers=headers)
                producer.publish(
                    json.dumps(body),
                    headers=headers,
                    content_type="application/x-nosuch",
                    content_encoding="utf-8",
                )
        if self.is_redis:
            with redis.Redis.from_url(self._url) as client:
                for one in ON_REDIS:
                    client.publish(
                        f"/{urlsplit(self._url).path[1:]}.celery.pidbox",
                        _enveloped(one) if one.raw is None else one.raw,
                    )


def _enveloped(one: Hostile) -> str:
    properties = {
        "body_encoding": "base64",
        "delivery_tag": "the same for all",
        "delivery_info": {"exchange": "", "routing_key": "steps"},
        **one.properties,
    }
    return json.dumps(
        {
            "body": base64.b64encode(one.body).decode(),
            "headers": one.all_headers,
            "properties": properties,
            "content-type": one.content_type,
            "content-encoding": one.content_encoding,
        }
    )


def _message(one: Hostile) -> Any:
    given = {"content_type": one.content_type, "content_encoding": one.content_encoding, **one.properties}
    message = amqp.Message(
        one.body,
        application_headers=one.all_headers,
        **{name: value for name, value in given.items() if value is not None},
    )
    if one.raw_properties is not None:
        message._serialize_properties = lambda: one.raw_properties
    return message


def _fits_a_table(headers: dict[str, Any]) -> bool:
    return not any(isinstance(value, int) and value >= 2**63 for value in headers.values())
