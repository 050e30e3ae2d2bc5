"""Own the periods by which the live tables are partitioned: where they begin and end, and which are to come.

Pure: instants in, periods out. All boundaries are midnights UTC. A period reaches to the end of its month,
ISO week or day, but begins where the one before it ends: so the interval can change while the system runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Protocol, assert_never

_DAY = timedelta(days=1)


class Interval(StrEnum):
    """How long a new period is."""

    MONTHLY = "monthly"
    WEEKLY = "weekly"
    DAILY = "daily"


class Span(Protocol):
    """What begins at an instant and ends before another."""

    @property
    def starts_at(self) -> datetime: ...
    @property
    def ends_at(self) -> datetime: ...


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of time whose workflows lie in the tables `workflows_<name>`, `steps_<name>` and so on."""

    name: str
    starts_at: datetime
    """Aware, UTC; the first instant of it."""
    ends_at: datetime
    """The first instant after it."""


def whole_period(interval: Interval, instant: datetime) -> Period:
    """Return the month, ISO week or day of UTC that an instant lies in."""
    day = instant.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    match interval:
        case Interval.MONTHLY:
            first = day.replace(day=1)
            return Period(f"{first:%Y_%m}", first, (first + 31 * _DAY).replace(day=1))
        case Interval.WEEKLY:
            year, week, weekday = day.isocalendar()
            first = day - (weekday - 1) * _DAY
            return Period(f"{year:04}_w{week:02}", first, first + 7 * _DAY)
        case Interval.DAILY:
            return Period(f"{day:%Y_%m_%d}", day, day + _DAY)
        case _:
            assert_never(interval)


def period_from(interval: Interval, starts_at: datetime) -> Period:
    """Return the period that begins at an instant and ends with its month, ISO week or day.

    One that is not whole has its first day in its name, so that no two have the same: `2026_w48_from_11_28`.
    """
    whole = whole_period(interval, starts_at)
    if whole.starts_at == starts_at:
        return whole
    first = f"{starts_at:%m_%d}" if starts_at == _midnight(starts_at) else f"{starts_at:%m_%d_%H%M%S}"
    return Period(f"{whole.name}_from_{first}", starts_at, whole.ends_at)


def missing_periods(
    interval: Interval, ahead: int, now: datetime, existing: Sequence[Span]
) -> Iterator[Period]:
    """Yield the periods that are not there but should be, in order: up to now, and `ahead` later ones.

    After missed runs, the first begins where the last period before now ends. Gaps between older periods
    are left alone: new ids fall into the present, and archived periods must not come back.
    """
    later = sorted((span for span in existing if span.ends_at > now), key=lambda span: span.starts_at)
    at = _first_uncovered(interval, now, existing)
    while ahead > 0 or at <= now:
        there = [span for span in later if span.starts_at <= at < span.ends_at]
        if there:
            begins, at = at, max(span.ends_at for span in there)
        else:
            piece = period_from(interval, at)
            ends_at = min([piece.ends_at, *(span.starts_at for span in later if span.starts_at > at)])
            yield replace(piece, ends_at=ends_at)
            begins, at = at, ends_at
        ahead -= begins > now


def shortened(period: Period, interval: Interval, now: datetime) -> Period | None:
    """Return what is left of a period from the next midnight on; None: nothing."""
    tomorrow = _midnight(now.astimezone(UTC)) + _DAY
    if tomorrow <= period.starts_at:
        return period
    if tomorrow >= period.ends_at:
        return None
    return replace(period_from(interval, tomorrow), ends_at=period.ends_at)


def _first_uncovered(interval: Interval, now: datetime, existing: Sequence[Span]) -> datetime:
    """Return the start of the period of now, or where the last one before now ends."""
    current = [span.starts_at for span in existing if span.starts_at <= now < span.ends_at]
    if current:
        return max(current)
    before = [span.ends_at for span in existing if span.ends_at <= now]
    return max(before) if before else whole_period(interval, now).starts_at


def _midnight(instant: datetime) -> datetime:
    return instant.replace(hour=0, minute=0, second=0, microsecond=0)
