"""Retry-After in every form that servers send, and in forms that they should not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.message import Message

import httpx
import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st

from remand.retry_after import CAP, from_headers, header_reader, parse_retry_after

NOW = datetime(2026, 10, 21, 7, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("30", 30),
        (" 30 ", 30),
        ("0", 0),
        ("1.5", 1.5),
        (b"7", 7),
        (12, 12),
        (timedelta(minutes=2), 120),
        ("3600", 3600),
        ("5, 10", 5),
        ("Wed, 21 Oct 2026 07:28:00 GMT", 28 * 60),
        ("Wed, 21 Oct 2026 06:28:00 GMT", 0),
        ("2026-10-21T07:01:00+00:00", 60),
        (datetime(2026, 10, 21, 7, 0, 9, tzinfo=UTC), 9),
        (timedelta(seconds=-4), 0),
    ],
)
def test_reads(value: object, seconds: float) -> None:
    assert parse_retry_after(value, NOW) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "value", ["9999999999", "9" * 300, 1e308, float("inf"), timedelta.max, "Fri, 31 Dec 9999 23:59:59 GMT"]
)
def test_caps_the_absurd(value: object) -> None:
    assert parse_retry_after(value, NOW) == CAP


@pytest.mark.parametrize(
    "value",
    ["", "abc", "-5", -5, "1e9", "٣", float("nan"), True, None, [], {}, datetime(2026, 1, 1), "1 2 3"],  # noqa: DTZ001
)
def test_ignores_junk(value: object) -> None:
    assert parse_retry_after(value, NOW) is None


@given(st.one_of(st.text(), st.binary(), st.floats(), st.integers(), st.timedeltas(), st.datetimes()))
def test_never_raises_and_stays_in_bounds(value: object) -> None:
    wait = parse_retry_after(value, NOW)
    assert wait is None or timedelta(0) <= wait <= CAP


def _message() -> Message:
    message = Message()
    message["RETRY-AFTER"] = "9"
    return message


@pytest.mark.parametrize(
    "headers",
    [
        {"retry-after": "9"},
        {"Retry-After": b"9"},
        {"RETRY-AFTER": ["9", "10"]},
        [(b"Retry-After", b"9"), ("retry-after", "10")],
        requests.structures.CaseInsensitiveDict({"Retry-after": "9"}),
        httpx.Headers({"Retry-After": "9"}),
        _message(),
        {"retry-after-ms": "9000", "retry-after": "10"},
        {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(NOW.timestamp()) + 9)},
    ],
)
def test_reads_the_headers_of_any_client(headers: object) -> None:
    assert from_headers(header_reader(headers), NOW) == timedelta(seconds=9)


@pytest.mark.parametrize("headers", [None, 5, "text", [1, 2], {1: 2}, {"X-RateLimit-Reset": "60"}])
def test_finds_nothing_in_odd_headers(headers: object) -> None:
    assert from_headers(header_reader(headers), NOW) is None
