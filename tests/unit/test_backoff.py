from __future__ import annotations

import statistics
from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.backoff import delay
from app.domain.retry import (
    DEFAULT_RETRY,
    Exponential,
    ExponentialOverrides,
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
SPECS = st.builds(
    replace,
    st.just(DEFAULT_RETRY),
    jitter=st.floats(0, 1),
    exponential=st.builds(Exponential, SECONDS, st.floats(1, 1000), SECONDS),
    linear=st.builds(Linear, SECONDS, SECONDS),
    immediate=st.builds(Immediate, SECONDS),
)
POLICIES = st.sampled_from(["exponential", "linear", "immediate"])
FAILURES = st.integers(1, 50) | st.integers(1, 10**9)
JITTER = st.floats(-1, 1)
RETRY_AFTER = st.none() | st.timedeltas()


def seconds(policy: str, failures: int, spec: RetrySpec = DEFAULT_RETRY, jitter: float = 0) -> float:
    return delay(policy, failures, spec, jitter=jitter).total_seconds()


def test_the_default_ladders() -> None:
    assert [seconds("exponential", n) for n in range(1, 9)] == [60, 120, 240, 480, 960, 1920, 3600, 3600]
    assert [seconds("linear", n) for n in (1, 2, 3, 12, 13)] == [300, 600, 900, 3600, 3600]
    assert [seconds("immediate", n) for n in (1, 2, 9)] == [0, 0, 0]


def test_the_first_wait_for_a_resource_is_slower_than_for_the_network() -> None:
    assert seconds("linear", 1, jitter=-1) > seconds("exponential", 1, jitter=1)


def test_a_fixed_cooldown_is_an_immediate_policy_with_a_delay() -> None:
    spec = resolve_retry(RetryOverrides(immediate=ImmediateOverrides(delay_seconds=30)))
    assert [seconds("immediate", n, spec) for n in (1, 5)] == [30, 30]


@pytest.mark.parametrize("policy", ["exponential", "linear"])
@pytest.mark.parametrize("factor", [1, 1.0000001, 2, 1000])
def test_no_number_of_failures_overflows(policy: str, factor: float) -> None:
    spec = resolve_retry(RetryOverrides(exponential=ExponentialOverrides(factor=factor)))
    expected = 60 if (policy, factor) == ("exponential", 1) else 3600
    assert seconds(policy, 10**9, spec) == expected


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
@given(st.sampled_from(["exponential", "linear"]), FAILURES, SPECS, JITTER)
def test_the_cap_holds_with_jitter(policy: str, failures: int, spec: RetrySpec, jitter: float) -> None:
    cap = spec.exponential.cap_seconds if policy == "exponential" else spec.linear.cap_seconds
    assert seconds(policy, failures, spec, jitter) <= cap + 1e-6


@QUICK
@given(POLICIES, FAILURES, FAILURES, SPECS)
def test_without_jitter_more_failures_never_wait_less(
    policy: str, one: int, two: int, spec: RetrySpec
) -> None:
    fewer, more = sorted((one, two))
    assert seconds(policy, fewer, spec) <= seconds(policy, more, spec)


@QUICK
@given(POLICIES, st.integers(1, 100), SPECS, JITTER)
def test_jitter_stays_within_its_ratio(policy: str, failures: int, spec: RetrySpec, jitter: float) -> None:
    plain = seconds(policy, failures, spec)
    assert abs(seconds(policy, failures, spec, jitter) - plain) <= plain * spec.jitter + 1e-5


@pytest.mark.parametrize(("failures", "retry_after"), [(1, None), (9, None), (1, timedelta(minutes=10))])
def test_a_crowd_is_spread_over_the_window(failures: int, retry_after: timedelta | None) -> None:
    draws = [-1 + 2 * i / 499 for i in range(500)]
    waits = [delay("exponential", failures, DEFAULT_RETRY, jitter=j, retry_after=retry_after) for j in draws]
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
