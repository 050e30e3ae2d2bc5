"""How every door writes durations, ages and ids."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

SHORTEST_ID: Final = 6


def now() -> datetime:
    """Return the current instant of this machine's clock, to say how old things are."""
    return datetime.now(UTC)


def span(value: timedelta | float) -> str:
    """Return a duration with the unit people would use."""
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if seconds < 0.95:
        return f"{max(0.0, seconds) * 1000:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    for limit, size, unit in ((120, 1, "s"), (7200, 60, "min"), (172_800, 3600, "h")):
        if seconds < limit:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds / 86_400:.0f} d"


def age(instant: datetime | None, at: datetime | None = None) -> str:
    """Return how long ago an instant was, or how far it is ahead as "in …"; "" for None."""
    if instant is None:
        return ""
    seconds = ((at or now()) - instant).total_seconds()
    return span(seconds) if seconds >= 0 else f"in {span(-seconds)}"


def ago(instant: datetime | None, at: datetime) -> str:
    """Return an age as "2 h ago" or "in 3 min"; "–" for None."""
    if instant is None:
        return "–"
    distance = age(instant, at)
    return distance if instant > at else f"{distance} ago"


def ahead(instant: datetime, at: datetime | None = None) -> str:
    """Return how far an instant is ahead as "in …", "now" once it has come."""
    return age(instant, at) if instant > (at or now()) else "now"


def short(identity: object) -> str:
    """Return the end of an id: what lists show, and what searches take."""
    return str(identity)[-SHORTEST_ID:]


def short_ids(ids: Iterable[UUID]) -> dict[UUID, str]:
    """Return for each id an end of it that is unique among them; all ends have one length."""
    wanted = set(ids)
    for length in range(SHORTEST_ID, 13):
        ends = {str(identity)[-length:] for identity in wanted}
        if len(ends) == len(wanted):
            return {identity: str(identity)[-length:] for identity in wanted}
    return {identity: str(identity) for identity in wanted}
