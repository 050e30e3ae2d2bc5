"""Instants and durations from outside: one range, one parser, the same refusal at every door."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from remand_app.cli.arguments import read_since
from remand_app.domain import durations
from remand_app.domain.errors import DurationInvalid, InstantInvalid
from remand_app.domain.instants import EARLIEST, LATEST, Instant, bounded, read_instant

NOW = datetime(2026, 11, 27, 8, tzinfo=UTC)
HOSTILE = (
    "9999-12-31T23:59:59-14:00",
    "9999-12-31T23:59:59Z",
    "0001-01-01T00:00:00+14:00",
    "0001-01-01T00:00:00Z",
    "1969-12-31T23:59:59Z",
    "3000-01-01T00:00:00Z",
    "2026-11-27T08:00:00+23:59",
    "2026-11-27T08:00:00-23:59",
    "2026-11-27T08:00:00+14:01",
    "2026-11-27T08:00:00",
    "infinity",
    "-infinity",
    "1e400",
    "now",
    "",
    "٢٠٢٦-١١-٢٧T08:00:00Z",
    "2026-11-27T08:00:00Z\0",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_instant_out_of_range_is_refused(text: str) -> None:
    with pytest.raises(InstantInvalid) as refused:
        read_instant(text)
    assert refused.value.code == "INSTANT_INVALID"
    assert refused.value.hint


@pytest.mark.parametrize("value", [*HOSTILE, 1e400, 32_503_680_000_000, -62_135_596_800, True, [], {}])
def test_field_of_a_request_refuses_what_is_out_of_range(value: object) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Instant).validate_python(value)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("2026-11-27T08:00:00Z", NOW),
        ("2026-11-27T22:00:00+14:00", NOW),
        ("2026-11-26T18:00:00-14:00", NOW),
        ("1970-01-01T00:00:00Z", EARLIEST),
        ("2999-12-31T23:59:59.999999Z", LATEST - timedelta(microseconds=1)),
    ],
)
def test_instant_in_range_is_read_into_utc(text: str, read: datetime) -> None:
    assert read_instant(text) == TypeAdapter(Instant).validate_python(text) == read
    assert read_instant(text).tzinfo is UTC


def test_text_without_offset_is_utc_only_where_the_door_says_so() -> None:
    assert read_instant("2026-11-27T08:00", naive_is_utc=True) == NOW


@given(st.datetimes(timezones=st.timezones() | st.just(timezone(timedelta(hours=23, minutes=59)))))
def test_any_instant_is_refused_or_can_be_shown_everywhere(instant: datetime) -> None:
    try:
        kept = bounded(instant)
    except InstantInvalid:
        return
    # In UTC: a local time that a change of clocks leaves out equals nothing of another zone.
    assert kept == instant.astimezone(UTC)
    for hours in (-14, 14):
        assert (kept + timedelta(hours=hours)).astimezone(timezone(timedelta(hours=hours))).isoformat()


@pytest.mark.parametrize(
    "text",
    ["9999999999999d", "1" * 400 + "d", "0s", "-1d", "1e9d", "nand", "١d", "1.d", "7 years", "", "367d"],
)
def test_duration_out_of_bounds_is_refused(text: str) -> None:
    with pytest.raises(DurationInvalid):
        durations.read_seconds(text)


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("1.5h", 5400), ("7 d", 604_800), ("2min", 120)])
def test_duration_is_read(text: str, seconds: float) -> None:
    assert durations.read_seconds(text) == seconds


@pytest.mark.parametrize(
    "text", ["9999999999999d", "1" * 5000 + "d", *(HOSTILE[place] for place in (0, 1, 2, 6))]
)
def test_command_line_says_what_is_wrong_with_a_since(text: str) -> None:
    with pytest.raises(typer.BadParameter):
        read_since(text, NOW)


def test_since_of_a_century_reaches_back_to_the_first_instant_at_most() -> None:
    assert read_since("36000d", NOW) == EARLIEST
