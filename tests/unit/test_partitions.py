"""The periods of the live tables. Source: D4."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remand_app.domain.partitions import (
    Interval,
    Period,
    missing_periods,
    period_from,
    shortened,
    whole_period,
)

MONTHLY, WEEKLY, DAILY = Interval
FIRST, LAST = datetime.fromisoformat("1999-01-01"), datetime.fromisoformat("2120-01-01")
INSTANTS = st.datetimes(FIRST, LAST, timezones=st.just(UTC))
INTERVALS = st.sampled_from(Interval)
DAY = timedelta(days=1)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def missing(interval: Interval, ahead: int, now: str, existing: Sequence[Period] = ()) -> list[str]:
    return [one.name for one in missing_periods(interval, ahead, at(now), existing)]


def kept_up(interval: Interval, ahead: int, now: datetime, existing: Sequence[Period]) -> list[Period]:
    return [*existing, *missing_periods(interval, ahead, now, existing)]


def is_seamless(periods: Sequence[Period]) -> bool:
    ordered = sorted(periods, key=lambda one: one.starts_at)
    return all(one.ends_at == then.starts_at for one, then in pairwise(ordered))


def later_than(now: datetime, periods: Sequence[Period]) -> int:
    return sum(one.starts_at > now for one in periods)


@pytest.mark.parametrize(
    ("interval", "instant", "name", "starts", "ends"),
    [
        (MONTHLY, "2026-11-28T09:30", "2026_11", "2026-11-01", "2026-12-01"),
        (MONTHLY, "2026-12-31T23:59:59.999999", "2026_12", "2026-12-01", "2027-01-01"),
        (MONTHLY, "2024-02-29", "2024_02", "2024-02-01", "2024-03-01"),
        (MONTHLY, "2100-02-28", "2100_02", "2100-02-01", "2100-03-01"),
        (WEEKLY, "2026-11-28", "2026_w48", "2026-11-23", "2026-11-30"),
        # 2026 has 53 ISO weeks: the first three days of 2027 belong to it.
        (WEEKLY, "2027-01-03T23:59", "2026_w53", "2026-12-28", "2027-01-04"),
        (WEEKLY, "2027-01-04", "2027_w01", "2027-01-04", "2027-01-11"),
        # The last days of 2024 belong to the first week of 2025.
        (WEEKLY, "2024-12-30", "2025_w01", "2024-12-30", "2025-01-06"),
        (WEEKLY, "2024-02-29", "2024_w09", "2024-02-26", "2024-03-04"),
        (DAILY, "2026-11-28T00:00", "2026_11_28", "2026-11-28", "2026-11-29"),
        (DAILY, "2024-02-29T12:00", "2024_02_29", "2024-02-29", "2024-03-01"),
        (DAILY, "2026-03-29T01:30", "2026_03_29", "2026-03-29", "2026-03-30"),
    ],
)
def test_the_period_of_an_instant(
    interval: Interval, instant: str, name: str, starts: str, ends: str
) -> None:
    assert whole_period(interval, at(instant)) == Period(name, at(starts), at(ends))


def test_a_period_is_one_of_utc_whatever_zone_the_instant_is_told_in() -> None:
    there = datetime(2026, 12, 1, 5, 0, tzinfo=timezone(timedelta(hours=9)))

    assert whole_period(MONTHLY, there).name == "2026_11"
    assert whole_period(DAILY, there).starts_at == at("2026-11-30")


@pytest.mark.parametrize(
    ("interval", "starts", "name", "ends"),
    [
        (WEEKLY, "2026-11-23", "2026_w48", "2026-11-30"),
        (WEEKLY, "2027-01-01", "2026_w53_from_01_01", "2027-01-04"),
        (MONTHLY, "2026-11-30", "2026_11_from_11_30", "2026-12-01"),
        (DAILY, "2026-11-30T06:00", "2026_11_30_from_11_30_060000", "2026-12-01"),
    ],
)
def test_a_period_that_begins_where_another_ended(
    interval: Interval, starts: str, name: str, ends: str
) -> None:
    assert period_from(interval, at(starts)) == Period(name, at(starts), at(ends))


@pytest.mark.parametrize(
    ("interval", "names"),
    [
        (MONTHLY, ["2026_11", "2026_12", "2027_01"]),
        (WEEKLY, ["2026_w48", "2026_w49", "2026_w50"]),
        (DAILY, ["2026_11_28", "2026_11_29", "2026_11_30"]),
    ],
)
def test_an_empty_database_gets_the_period_of_now_and_those_ahead(
    interval: Interval, names: list[str]
) -> None:
    assert missing(interval, 2, "2026-11-28T09:30", []) == names


def test_nothing_is_missing_once_it_is_there() -> None:
    existing = kept_up(MONTHLY, 2, at("2026-11-28"), [])

    assert missing(MONTHLY, 2, "2026-11-30T23:59:59", existing) == []
    assert missing(MONTHLY, 2, "2026-12-01", existing) == ["2027_02"]


def test_a_shorter_interval_begins_where_the_last_long_period_ends() -> None:
    existing = kept_up(MONTHLY, 1, at("2026-11-28"), [])

    assert missing(WEEKLY, 1, "2026-11-28", existing) == []
    assert missing(WEEKLY, 3, "2026-11-28", existing) == ["2026_w53_from_01_01", "2027_w01"]


def test_a_longer_interval_begins_where_the_last_short_period_ends() -> None:
    existing = kept_up(DAILY, 1, at("2026-11-28"), [])

    found = list(missing_periods(MONTHLY, 2, at("2026-11-28"), existing))

    assert found == [Period("2026_11_from_11_30", at("2026-11-30"), at("2026-12-01"))]
    assert missing(MONTHLY, 3, "2026-11-28", existing) == ["2026_11_from_11_30", "2026_12"]


def test_missed_runs_are_caught_up_from_the_last_period_on() -> None:
    existing = kept_up(MONTHLY, 2, at("2026-11-28"), [])

    assert missing(MONTHLY, 2, "2027-04-15", existing) == [
        "2027_02",
        "2027_03",
        "2027_04",
        "2027_05",
        "2027_06",
    ]


def test_old_periods_that_were_archived_are_not_missed() -> None:
    existing = [whole_period(MONTHLY, at(month)) for month in ("2026-01-01", "2026-04-01", "2026-05-01")]

    assert missing(MONTHLY, 1, "2026-04-10", existing) == []


def test_a_hole_among_the_coming_periods_is_filled_and_no_further() -> None:
    existing = [whole_period(MONTHLY, at(month)) for month in ("2026-11-01", "2027-01-01", "2027-02-01")]

    assert missing(MONTHLY, 2, "2026-11-10", existing) == ["2026_12"]


def test_a_hole_ends_where_the_next_period_begins() -> None:
    day = whole_period(DAILY, at("2026-11-27"))

    found = list(missing_periods(WEEKLY, 1, at("2026-11-24"), [day]))

    assert [(one.name, one.ends_at) for one in found] == [("2026_w48", at("2026-11-27"))]
    assert missing(WEEKLY, 2, "2026-11-24", [day]) == ["2026_w48", "2026_w48_from_11_28"]


def test_a_clock_that_was_set_back_finds_its_period() -> None:
    existing = kept_up(MONTHLY, 2, at("2026-11-28"), [])

    assert missing(MONTHLY, 2, "2026-09-10", existing) == ["2026_09", "2026_10"]


def test_what_is_left_of_a_period_begins_at_the_next_midnight() -> None:
    period = whole_period(MONTHLY, at("2026-11-28"))

    assert shortened(period, MONTHLY, at("2026-11-15T12:00")) == Period(
        "2026_11_from_11_16", at("2026-11-16"), at("2026-12-01")
    )
    assert shortened(period, MONTHLY, at("2026-11-30T12:00")) is None
    assert shortened(period, MONTHLY, at("2026-10-30T12:00")) == period
    assert shortened(period, MONTHLY, at("2026-10-31T12:00")) == period


@given(INTERVALS, INSTANTS)
def test_every_instant_is_in_its_period(interval: Interval, instant: datetime) -> None:
    period = whole_period(interval, instant)

    assert period.starts_at <= instant < period.ends_at
    assert whole_period(interval, period.starts_at) == period
    assert whole_period(interval, period.ends_at - timedelta(microseconds=1)) == period
    assert whole_period(interval, period.ends_at).starts_at == period.ends_at
    assert period.ends_at - period.starts_at in {DAY, 7 * DAY, 28 * DAY, 29 * DAY, 30 * DAY, 31 * DAY}


@given(INTERVALS, st.lists(INSTANTS, min_size=2, max_size=2, unique=True))
def test_periods_sort_by_their_names_and_have_one_name_each(
    interval: Interval, instants: list[datetime]
) -> None:
    one, other = (whole_period(interval, instant) for instant in sorted(instants))

    assert (one.name <= other.name) if one != other else (one.name == other.name)
    assert (one.name == other.name) == (one.starts_at == other.starts_at)


@given(
    INSTANTS,
    st.lists(
        st.tuples(INTERVALS, st.integers(1, 5), st.timedeltas(timedelta(0), timedelta(days=100))), max_size=8
    ),
)
def test_whatever_changes_when_the_periods_cover_now_and_ahead_without_gap_or_overlap(
    now: datetime, changes: list[tuple[Interval, int, timedelta]]
) -> None:
    """Each change: the interval and the number ahead from then on, and how long no run follows."""
    existing: list[Period] = []
    for interval, ahead, pause in changes:
        existing = kept_up(interval, ahead, now, existing)

        assert is_seamless(existing)
        assert later_than(now, existing) >= ahead
        assert any(one.starts_at <= now < one.ends_at for one in existing)
        assert len({one.name for one in existing}) == len(existing)
        assert kept_up(interval, ahead, now, existing) == existing
        assert all(len(f"workflows_{one.name}") < 64 for one in existing)
        now += pause


@given(
    INSTANTS,
    st.lists(st.tuples(INTERVALS, st.integers(0, 400), st.integers(1, 40)), max_size=6),
    INTERVALS,
    st.integers(1, 4),
)
def test_holes_of_every_kind_are_filled_from_the_period_of_now_on(
    now: datetime, others: list[tuple[Interval, int, int]], interval: Interval, ahead: int
) -> None:
    existing: list[Period] = []
    for kind, behind, count in others:
        instant = now - behind * DAY + count * 10 * DAY
        period = whole_period(kind, instant)
        if all(period.ends_at <= one.starts_at or one.ends_at <= period.starts_at for one in existing):
            existing.append(period)

    made = list(missing_periods(interval, ahead, now, existing))

    ordered = sorted([*existing, *made], key=lambda one: one.starts_at)
    assert all(one.ends_at <= then.starts_at for one, then in pairwise(ordered))
    [current] = [n for n, one in enumerate(ordered) if one.starts_at <= now < one.ends_at]
    assert is_seamless(ordered[current : current + ahead + 1])
    assert len(ordered[current:]) > ahead
    assert len({one.name for one in ordered}) == len(ordered)


@given(INTERVALS, INSTANTS, INSTANTS)
def test_what_is_left_of_a_period_is_in_the_future_and_ends_with_it(
    interval: Interval, starts_at: datetime, now: datetime
) -> None:
    period = period_from(interval, starts_at)

    left = shortened(period, interval, now)

    if left is None:
        assert period.ends_at - now <= DAY
    else:
        assert left.starts_at > now
        assert (left == period) or (left.starts_at > period.starts_at and left.ends_at == period.ends_at)
