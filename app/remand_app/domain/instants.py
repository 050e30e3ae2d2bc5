"""Own how instants from outside are read: one format and one range in every interface.

Python and Postgres accept years to which they cannot add an hour, and which they cannot show in another
zone. An instant outside the range here would break every page that shows it, for every user.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

from pydantic import AfterValidator, AwareDatetime, BeforeValidator

from remand_app.domain.errors import InstantInvalid

EARLIEST: Final = datetime(1970, 1, 1, tzinfo=UTC)
LATEST: Final = datetime(3000, 1, 1, tzinfo=UTC)
"""The first instant that is too late."""
_FARTHEST: Final = timedelta(hours=14)
_ISO: Final = re.compile(r"[0-9TtWZz:., +-]{8,40}")
_HINT: Final = "write it as 2026-07-25T18:00:00Z"


def read_instant(text: str, *, naive_is_utc: bool = False) -> datetime:
    """Read an instant of ISO 8601 and return it in UTC.

    `naive_is_utc`: a text without an offset is one in UTC; otherwise it is refused.

    Raises:
        InstantInvalid: it is no instant, has no offset, one beyond 14 hours, or a year outside 1970 to 2999.
    """
    try:
        # The standard library stops at a NUL, and reads digits of other scripts.
        read = datetime.fromisoformat(text.strip() if _ISO.fullmatch(text.strip()) else "")
    except ValueError:
        raise InstantInvalid(f"{text[:80]!r} is no instant", hint=_HINT) from None
    if read.tzinfo is None and naive_is_utc:
        read = read.replace(tzinfo=UTC)
    return bounded(read)


def bounded(instant: datetime) -> datetime:
    """Return the instant in UTC.

    Raises:
        InstantInvalid: it has no offset, one beyond 14 hours, or is outside the years 1970 to 2999.
    """
    offset = instant.utcoffset()
    if offset is None:
        raise InstantInvalid("an instant needs an offset from UTC, such as Z or +02:00", hint=_HINT)
    if abs(offset) > _FARTHEST:
        raise InstantInvalid(f"an offset from UTC is at most 14 hours, not {offset}", hint=_HINT)
    # Compared before it is converted: the years 1 and 9999 have no room for that.
    if not EARLIEST <= instant < LATEST:
        raise InstantInvalid("an instant lies in the years 1970 to 2999 of UTC", hint=_HINT)
    return instant.astimezone(UTC)


def _parsed(value: object) -> object:
    return _told(read_instant, value) if isinstance(value, str) else value


def _in_range(value: datetime) -> datetime:
    return _told(bounded, value)


def _told(read: Callable[[Any], datetime], value: object) -> datetime:
    try:
        return read(value)
    except InstantInvalid as error:
        # pydantic reports a ValueError together with the other problems of a request.
        raise ValueError(error.message) from None


Instant = Annotated[AwareDatetime, BeforeValidator(_parsed), AfterValidator(_in_range)]
"""An instant in the body or the query of a request: ISO 8601 with an offset; kept in UTC."""
