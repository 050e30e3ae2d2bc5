"""Read how long a server asks us to wait: the Retry-After header and its relatives.

Pure and forgiving: an unreadable value counts as absent, an absurd one is capped, and nothing raises.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from itertools import islice
from typing import Any, Final

CAP: Final = timedelta(days=3650)
"""The longest wait: ten years fit every clock and database column."""

_CAP_SECONDS: Final = CAP.total_seconds()
_HEADERS: Final = 200
"""The most headers read in one response."""
_SECONDS = re.compile(r"\+?(\d{1,400}(?:\.\d{0,20})?|\.\d{1,20})", re.ASCII)

Header = Callable[[str], str | None]
"""Look up a header by its lower-case name."""


def parse_retry_after(value: object, now: datetime) -> timedelta | None:
    """Return the wait that a header or an attribute names, from zero to `CAP`; None when it is not readable.

    Takes seconds (number or text), a timedelta, an aware datetime, an HTTP date or an ISO 8601 date. A moment
    that has passed means now.
    """
    if isinstance(value, bytes):
        value = value.decode("latin-1")
    if isinstance(value, str):
        return _from_text(value.strip(), now)
    if isinstance(value, timedelta):
        return _clamp(value)
    if isinstance(value, datetime):
        return _until(value, now)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _from_number(value)
    return None


def from_headers(header: Header, now: datetime) -> timedelta | None:
    """Return the wait named by the headers of a response: the most exact one that can be read, or None."""
    for name in ("retry-after-ms", "x-ms-retry-after-ms"):
        if (said := header(name)) is not None and (milliseconds := _number(said)) is not None:
            return _from_number(milliseconds / 1000)
    said = header("retry-after")
    asked = None if said is None else _from_text(said.strip(), now)
    if asked is None and (header("x-ratelimit-remaining") or "").strip() == "0":
        return _from_reset(header("x-ratelimit-reset"), now)
    return asked


def header_reader(headers: object) -> Header:
    """Return a case-insensitive lookup over the headers of any client: a mapping, or pairs.

    Raises what the mapping raises, also later, at a lookup.
    """
    keys = getattr(headers, "keys", None)
    if not callable(keys):
        return _of_pairs(headers)
    # Going over the names is cheap; values are looked up only where a name is there.
    names: dict[str, Any] = {}
    for name in islice(keys(), _HEADERS):
        if isinstance(name, (str, bytes)):
            names.setdefault(name.lower() if isinstance(name, str) else _text(name).lower(), name)
    return lambda name: _one(headers[names[name]]) if name in names else None  # type: ignore[index]


def _nothing(_name: str) -> None:
    return None


def _of_pairs(headers: object) -> Header:
    if not hasattr(headers, "__iter__"):
        return _nothing
    headers_read: dict[str, str] = {}
    for pair in islice(headers, _HEADERS):
        if isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], (str, bytes)):
            said = _one(pair[1])
            if said is not None:
                headers_read.setdefault(_text(pair[0]).lower(), said)
    return headers_read.get


def _one(value: object) -> str | None:
    """Return the value of a header as text; the first where a client keeps every value."""
    if isinstance(value, (list, tuple)) and value:
        value = value[0]
    return _text(value) if isinstance(value, (str, bytes, int, float)) else None


def _text(value: str | bytes | float) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _from_text(text: str, now: datetime) -> timedelta | None:
    # Most clients join two headers of the same name with a comma; an HTTP date contains a comma as well.
    if (number := _number(text)) is not None or (number := _number(text.partition(",")[0])) is not None:
        return _from_number(number)
    if len(text) > 64:
        return None
    for read in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            moment = read(text)
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
        return _until(moment if moment.tzinfo else moment.replace(tzinfo=UTC), now)
    return None


def _number(text: str | None) -> float | None:
    match = _SECONDS.fullmatch(text.strip()) if text else None
    return float(match.group(1)) if match else None


def _from_number(seconds: float) -> timedelta | None:
    if seconds >= _CAP_SECONDS:
        return CAP
    # NaN compares false to everything.
    return timedelta(seconds=float(seconds)) if seconds >= 0 else None


def _from_reset(value: str | None, now: datetime) -> timedelta | None:
    number = _number(value)
    if number is None:
        return None
    # Some services send the moment as a Unix time, others the seconds that are left.
    return _from_number(max(0.0, number - now.timestamp()) if number > 1_000_000_000 else number)


def _until(moment: datetime, now: datetime) -> timedelta | None:
    if moment.tzinfo is None:
        return None
    return _clamp(moment - now)


def _clamp(wait: timedelta) -> timedelta:
    return min(max(wait, timedelta(0)), CAP)
