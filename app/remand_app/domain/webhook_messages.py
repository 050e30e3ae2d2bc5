"""What is sent to a target: bodies, headers and the signature.

A message holds one notice, or several at once as a digest. Its id stays the same over all tries, so that a
receiver can recognise a repeat. Headers and signature are those of the Standard Webhooks specification. Pure.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias
from uuid import UUID

Format: TypeAlias = Literal["json", "slack"]

DIGEST: Final = "digest"
TEST: Final = "test"
SHOWN: Final = 10
"""Notices of a digest that are listed one by one; the rest is counted."""
_LONGEST_FACT: Final = 300
_ESCAPES: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


@dataclass(frozen=True, slots=True)
class Told:
    """One notice, as a message tells it."""

    kind: str
    subject_id: str
    title: str
    facts: Mapping[str, Any]
    link: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class Message:
    """What is sent at once: `notices` one by one, and of all how many there are of each kind."""

    id: UUID
    notices: Sequence[Told]
    counts: Mapping[str, int]

    @property
    def count(self) -> int:
        """How many notices the message holds."""
        return sum(self.counts.values())


def body(message: Message, format: Format) -> bytes:  # noqa: A002 - named like the setting
    """Return what is sent; the same for every try."""
    payload = _slack(message) if format == "slack" else _json(message)
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()


def headers(message: Message, sent: bytes, at: datetime, key: bytes | None) -> dict[str, str]:
    """Return the headers that identify the message and prove its sender."""
    stamp = str(int(at.timestamp()))
    made = {"webhook-id": f"msg_{message.id}", "webhook-timestamp": stamp}
    if key is not None:
        made["webhook-signature"] = signature(made["webhook-id"], stamp, sent, key)
    return made


def signature(message_id: str, timestamp: str, sent: bytes, key: bytes) -> str:
    """Return "v1," and the Base64 of HMAC-SHA256 over id, timestamp and body, with dots between."""
    signed = hmac.new(key, f"{message_id}.{timestamp}.".encode() + sent, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(signed).decode()}"


def _json(message: Message) -> dict[str, Any]:
    first = message.notices[0]
    if message.count == 1:
        return {"type": first.kind, "timestamp": first.at.isoformat(), "data": _data(first)}
    data = {
        "count": message.count,
        "kinds": dict(message.counts),
        "notices": [
            {"kind": notice.kind, "at": notice.at.isoformat(), **_data(notice)} for notice in message.notices
        ],
    }
    return {"type": DIGEST, "timestamp": first.at.isoformat(), "data": data}


def _data(notice: Told) -> dict[str, Any]:
    return {
        "subject_id": notice.subject_id,
        "title": notice.title,
        "link": notice.link,
        "facts": dict(notice.facts),
    }


def _slack(message: Message) -> dict[str, str]:
    first = message.notices[0]
    if message.count == 1:
        known = [
            f"{_words(name)}: {_plain(value)[:_LONGEST_FACT]}"
            for name, value in first.facts.items()
            if _simple(value)
        ]
        return {"text": "\n".join([f"*{_words(first.kind)}*: {_titled(first)}", *known])}
    counts = ", ".join(f"{count} × {_words(kind)}" for kind, count in message.counts.items())
    lines = [f"*{message.count} notices* since {first.at:%Y-%m-%d %H:%M} UTC: {counts}"]
    lines += [f"• {_titled(notice)}" for notice in message.notices]
    if message.count > len(message.notices):
        lines.append(f"… and {message.count - len(message.notices)} more")
    return {"text": "\n".join(lines)}


def _titled(notice: Told) -> str:
    title = _plain(notice.title)
    # The bar ends the address in Slack's markup.
    return title if notice.link is None else f"<{_plain(notice.link).replace('|', '%7C')}|{title}>"


def _words(name: str) -> str:
    return name.replace("_", " ")


def _plain(value: object) -> str:
    return str(value).translate(_ESCAPES)


def _simple(value: object) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)
