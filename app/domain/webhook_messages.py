"""Own what is sent to a target: bodies, the signature, what an answer means, how long until the next try.

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
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any, Final, Literal, TypeAlias
from uuid import UUID

Format: TypeAlias = Literal["json", "slack"]

DIGEST: Final = "digest"
TEST: Final = "test"
SHOWN: Final = 10
"""Notices of a digest that are listed one by one; the rest is counted."""
_WORTH_ANOTHER_TRY: Final = frozenset({408, 425, 429})
_FIRST_SECONDS: Final = 10.0
_LONGEST_SECONDS: Final = 3600.0
_GATE_SECONDS: Final = 300.0
_LONGEST_RETRY_AFTER: Final = timedelta(days=1)
_SPREAD: Final = 0.25
_LONGEST_FACT: Final = 300
_DOUBLINGS: Final = 12
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


@dataclass(frozen=True, slots=True)
class Delivered:
    """The target took it."""

    answer: str


@dataclass(frozen=True, slots=True)
class TryAgain:
    """It did not, for now."""

    why: str
    after: timedelta | None = None
    """The wait that the target asked for."""


@dataclass(frozen=True, slots=True)
class Refused:
    """It never will take this message as it is set up."""

    why: str


Outcome: TypeAlias = Delivered | TryAgain | Refused


def judge(status: int, excerpt: str, retry_after: timedelta | None) -> Outcome:
    """Return what an HTTP status means; `excerpt`: the start of the answer, redacted."""
    answer = f"{status} {_phrase(status)}{f': {excerpt}' if excerpt else ''}".strip()
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return Delivered(answer)
    if status in _WORTH_ANOTHER_TRY or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return TryAgain(answer, retry_after)
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        return Refused(f"{answer} (redirects are not followed: set the address it leads to)")
    return Refused(answer)


def wait(attempts: int, after: timedelta | None, jitter: float) -> timedelta:
    """Return how long a message waits after so many tries: doubled each time, never less than asked for."""
    return _wait(attempts, _LONGEST_SECONDS, after, jitter)


def gate(failures: int, after: timedelta | None, jitter: float) -> timedelta:
    """Return how long nothing is sent to a target after so many failures in a row, of any messages."""
    return _wait(failures, _GATE_SECONDS, after, jitter)


def _wait(times: int, longest: float, after: timedelta | None, jitter: float) -> timedelta:
    seconds = min(_FIRST_SECONDS * 2.0 ** min(max(times - 1, 0), _DOUBLINGS), longest)
    planned = timedelta(seconds=seconds * (1 + _SPREAD * jitter))
    return planned if after is None else max(planned, min(after, _LONGEST_RETRY_AFTER))


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


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
