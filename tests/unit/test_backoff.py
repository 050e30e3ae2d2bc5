from __future__ import annotations

import statistics
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from remand_app.domain.backoff import bounds, delay
from remand_app.domain.retry import (
    DEFAULT_RETRY,
    Exponential,
    ExponentialOverrides,
    Fibonacci,
    FibonacciOverrides,
    Fixed,
    FixedOverrides,
    Immediate,
    ImmediateOverrides,
    Linear,
    RetryOverrides,
    RetrySpec,
    resolve_retry,
)

# A draw takes as long as the machine is busy: no deadline.
QUICK = settings(max_examples=25, deadline=None)

SECONDS = st.floats(0, 1e7)
RATIOS = st.floats(0, 1)
KINDS = st.sampled_from(["none", "full", "equal"])


def specs(jitters: st.SearchStrategy[Any] = RATIOS | KINDS) -> st.SearchStrategy[RetrySpec]:
    return st.builds(
        replace,
        st.just(DEFAULT_RETRY),
        jitter=jitters,
        exponential=st.builds(Exponential, SECONDS, st.floats(1, 1000), SECONDS),
        linear=st.builds(Linear, SECONDS, SECONDS),
        immediate=st.builds(Immediate, SECONDS),
        fixed=st.builds(Fixed, SECONDS),
        fibonacci=st.builds(Fibonacci, SECONDS, SECONDS),
    )


SPECS = specs()
POLICIES = st.sampled_from(["exponential", "linear", "immediate", "fixed", "fibonacci"])
CAPPED = st.sampled_from(["exponential", "linear", "fibonacci"])
FAILURES = st.integers(1, 50) | st.integers(1, 10**9)
JITTER = st.floats(-1, 1)
RETRY_AFTER = st.none() | st.timedeltas()


def seconds(policy: str, failures: int, spec: RetrySpec = DEFAULT_RETRY, jitter: float = 0) -> float:
    return delay(policy, failures, spec, jitter=jitter).total_seconds()


def test_the_default_ladders() -> None:
    assert [seconds("exponential", n) for n in range(1, 9)] == [60, 120, 240, 480, 960, 1920, 3600, 3600]
    assert [seconds("linear", n) for n in (1, 2, 3, 12, 13)] == [300, 600, 900, 3600, 3600]
    assert [seconds("immediate", n) for n in (1, 2, 9)] == [0, 0, 0]
    assert [seconds("fixed", n) for n in (1, 2, 10**9)] == [60, 60, 60]
    ladder = [seconds("fibonacci", n) / 60 for n in range(1, 13)]
    assert ladder == [1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 60, 60]


def test_the_first_wait_for_a_resource_is_slower_than_for_the_network() -> None:
    assert seconds("linear", 1, jitter=-1) > seconds("exponential", 1, jitter=1)


def test_fixed_and_immediate_have_delays_of_their_own() -> None:
    overrides = RetryOverrides(
        immediate=ImmediateOverrides(delay_seconds=3), fixed=FixedOverrides(delay_seconds=30)
    )
    spec = resolve_retry(overrides)
    assert [seconds("immediate", n, spec) for n in (1, 5)] == [3, 3]
    assert [seconds("fixed", n, spec) for n in (1, 5)] == [30, 30]


@pytest.mark.parametrize("policy", ["exponential", "linear"])
@pytest.mark.parametrize("factor", [1, 1.0000001, 2, 1000])
def test_no_number_of_failures_overflows(policy: str, factor: float) -> None:
    spec = resolve_retry(RetryOverrides(exponential=ExponentialOverrides(factor=factor)))
    expected = 60 if (policy, factor) == ("exponential", 1) else 3600
    assert seconds(policy, 10**9, spec) == expected


@pytest.mark.parametrize(("base", "expected"), [(0, 0), (5e-324, 9e6), (1, 9e6), (1e7, 9e6)])
def test_fibonacci_ends_at_its_cap_from_any_base(base: float, expected: float) -> None:
    overrides = RetryOverrides(fibonacci=FibonacciOverrides(base_seconds=base, cap_seconds=9e6))
    assert seconds("fibonacci", 10**9, resolve_retry(overrides)) == expected


@pytest.mark.parametrize(("base", "failures"), [(4.8e-303, 105), (5e-324, 103), (5e-324, 2)])
def test_a_tiny_base_overflows_no_power(base: float, failures: int) -> None:
    exponential = ExponentialOverrides(base_seconds=base, factor=921, cap_seconds=869_308)
    wait = seconds("exponential", failures, resolve_retry(RetryOverrides(exponential=exponential)))
    assert 0 <= wait <= 869_308


@QUICK
@given(POLICIES, FAILURES, SPECS, JITTER, RETRY_AFTER)
def test_never_negative_never_before_the_server_allows(
    policy: str, failures: int, spec: RetrySpec, jitter: float, retry_after: timedelta | None
) -> None:
    wait = delay(policy, failures, spec, jitter=jitter, retry_after=retry_after)
    assert wait >= max(retry_after or timedelta(0), timedelta(0))


@QUICK
@given(CAPPED, FAILURES, SPECS, JITTER)
def test_the_cap_holds_with_jitter(policy: str, failures: int, spec: RetrySpec, jitter: float) -> None:
    cap = getattr(spec, policy).cap_seconds
    assert seconds(policy, failures, spec, jitter) <= cap + 1e-6


@QUICK
@given(POLICIES, FAILURES, FAILURES, SPECS)
def test_without_jitter_more_failures_never_wait_less(
    policy: str, one: int, two: int, spec: RetrySpec
) -> None:
    fewer, more = sorted((one, two))
    plain = replace(spec, jitter="none")
    assert seconds(policy, fewer, plain) <= seconds(policy, more, plain)


@QUICK
@given(POLICIES, st.integers(1, 100), specs(RATIOS), JITTER)
def test_jitter_stays_within_its_ratio(policy: str, failures: int, spec: RetrySpec, jitter: float) -> None:
    plain = seconds(policy, failures, spec)
    assert isinstance(spec.jitter, float)
    assert abs(seconds(policy, failures, spec, jitter) - plain) <= plain * spec.jitter + 1e-5


@QUICK
@given(POLICIES, FAILURES, specs(KINDS), JITTER)
def test_full_and_equal_jitter_only_shorten(
    policy: str, failures: int, spec: RetrySpec, jitter: float
) -> None:
    planned = seconds(policy, failures, replace(spec, jitter="none"), jitter)
    least = {"none": planned, "full": 0, "equal": planned / 2}[str(spec.jitter)]
    assert least - 1e-6 <= seconds(policy, failures, spec, jitter) <= planned + 1e-6


@pytest.mark.parametrize(
    ("kind", "waits"),
    [("none", [60, 60, 60]), ("full", [0, 30, 60]), ("equal", [30, 45, 60]), (0.5, [30, 60, 90])],
)
def test_the_ends_and_the_middle_of_each_jitter(kind: Any, waits: list[float]) -> None:
    spec = replace(DEFAULT_RETRY, jitter=kind)
    assert [seconds("exponential", 1, spec, draw) for draw in (-1, 0, 1)] == waits


@QUICK
@given(POLICIES, FAILURES, SPECS, JITTER, RETRY_AFTER)
def test_no_draw_leaves_the_bounds(
    policy: str, failures: int, spec: RetrySpec, jitter: float, retry_after: timedelta | None
) -> None:
    least, most = bounds(policy, failures, spec, retry_after=retry_after)
    wait = delay(policy, failures, spec, jitter=jitter, retry_after=retry_after)
    slack = timedelta(seconds=1e-5)
    assert least - slack <= wait <= most + min(slack, timedelta.max - most)


@pytest.mark.parametrize(
    ("jitter", "failures", "retry_after", "expected"),
    [
        (0.15, 1, None, (51, 69)),
        (0.15, 9, None, (3060, 3600)),
        ("full", 3, None, (0, 240)),
        ("equal", 3, None, (120, 240)),
        ("none", 3, None, (240, 240)),
        (0.15, 1, 1000, (1000, 1150)),
        ("full", 3, 100, (100, 240)),
        ("none", 1, 100, (100, 100)),
    ],
)
def test_the_bounds_of_a_wait(
    jitter: Any, failures: int, retry_after: float | None, expected: tuple[float, float]
) -> None:
    asked = None if retry_after is None else timedelta(seconds=retry_after)
    found = bounds("exponential", failures, replace(DEFAULT_RETRY, jitter=jitter), retry_after=asked)
    assert tuple(round(one.total_seconds(), 6) for one in found) == expected


@pytest.mark.parametrize("kind", [0.15, "full", "equal"])
@pytest.mark.parametrize(("failures", "retry_after"), [(1, None), (9, None), (1, timedelta(minutes=10))])
def test_a_crowd_is_spread_over_the_window(kind: Any, failures: int, retry_after: timedelta | None) -> None:
    draws = [-1 + 2 * i / 499 for i in range(500)]
    spec = replace(DEFAULT_RETRY, jitter=kind)
    waits = [delay("exponential", failures, spec, jitter=j, retry_after=retry_after) for j in draws]
    values = [wait.total_seconds() for wait in waits]
    window = max(values) - min(values)
    assert window > 0.1 * min(values)
    assert statistics.pstdev(values) > 0.1 * window
    assert max(Counter(values).values()) <= 4


def test_a_negative_retry_after_is_no_floor() -> None:
    assert delay("immediate", 1, DEFAULT_RETRY, jitter=1, retry_after=timedelta(-5)) == timedelta(0)


@pytest.mark.parametrize(
    ("policy", "failures", "jitter", "words"),
    [
        ("never", 1, 0, "never"),
        ("sometimes", 1, 0, "sometimes"),
        ("linear", 0, 0, "at least 1"),
        ("linear", 1, 1.5, "jitter"),
        ("linear", 1, float("nan"), "jitter"),
    ],
)
def test_arguments_out_of_range_are_refused(policy: str, failures: int, jitter: float, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        delay(policy, failures, DEFAULT_RETRY, jitter=jitter)


@pytest.mark.parametrize(
    ("given", "read"), [(0, 0.0), (1, 1.0), (0.3, 0.3), ("0.3", 0.3), ("full", "full"), ("none", "none")]
)
def test_what_jitter_may_be(given: Any, read: Any) -> None:
    assert RetryOverrides.model_validate({"jitter": given}).jitter == read


@pytest.mark.parametrize("given", [-0.1, 1.1, "some", True, "nan", float("inf"), [], {}])
def test_what_jitter_may_not_be(given: Any) -> None:
    with pytest.raises(ValidationError, match="none, full, equal"):
        RetryOverrides.model_validate({"jitter": given})


def test_a_number_in_quotes_is_no_jitter_in_a_template() -> None:
    with pytest.raises(ValidationError, match="none, full, equal"):
        RetryOverrides.model_validate_json('{"jitter": "0.3"}', strict=True)
