"""Own how durations that people type are read: "90s", "15m", "2h", "7d"."""

from __future__ import annotations

import re
from typing import Final

from remand_app.domain.errors import DurationInvalid

YEAR_SECONDS: Final = 366 * 86_400.0
CENTURY_SECONDS: Final = 100 * YEAR_SECONDS
_UNITS: Final = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
# Only ASCII digits, and no more of them than any duration within bounds has.
_DURATION: Final = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,9})?) {0,3}(s|min|m|h|d|w)")


def is_duration(text: str) -> bool:
    """Tell whether the text is written like a duration, in bounds or not."""
    return re.fullmatch(r"[0-9.]+ *(s|min|m|h|d|w)", text.strip()) is not None


def read_seconds(text: str, *, longest: float = YEAR_SECONDS) -> float:
    """Return the seconds of a duration: more than none, `longest` at most.

    Raises:
        DurationInvalid: it is none, or out of bounds.
    """
    match = _DURATION.fullmatch(text.strip())
    seconds = float(match[1]) * _UNITS[match[2]] if match else 0.0
    if not 0 < seconds <= longest:
        raise DurationInvalid(
            f"{text[:80]!r} is no duration such as 90s, 15m, 2h or 7d",
            hint=f"more than none, and {longest / 86_400:,.0f} days at most",
        )
    return seconds
