"""Own the arithmetic of waiting: how long until the next attempt, given the policy and the failures so far.

Pure numbers: `jitter` is a draw in [-1, 1] made by the caller, and nothing here knows the time of day.
Source: B3, B6.
"""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Final

from remand_app.domain.retry import Exponential, Fibonacci, RetrySpec

_LONGEST_SECONDS: Final = timedelta(days=999_999_998).total_seconds()
_LARGEST_LOG: Final = 700.0
_FLOOR_RATIO: Final = 0.15
"""By how much a Retry-After is spread upwards under full and equal jitter, so that not all retry at once."""


def delay(
    policy: str,
    failures: int,
    spec: RetrySpec,
    *,
    jitter: float,
    retry_after: timedelta | None = None,
) -> timedelta:
    """Return the wait before the next attempt: never negative, never below `retry_after`.

    `failures` counts from 1 and may be any size. `jitter` in [-1, 1] is applied as `spec.jitter` says: a
    ratio spreads the policy's own delay to both sides and folds it back at its cap, so that nothing exceeds
    it or piles up there; full and equal jitter only shorten it. A server's Retry-After is a floor and spread
    upwards only.
    Raises `ValueError` for `never`, an unknown policy, or arguments out of range.
    """
    if not -1 <= jitter <= 1:
        raise ValueError(f"jitter must be within -1..1, not {jitter}")
    seconds, cap = _planned(policy, failures, spec)
    floor = _floor(retry_after) * (1 + _upwards(spec) * abs(jitter))
    return _wait(max(_spread(seconds, cap, spec, jitter), floor), retry_after)


def bounds(
    policy: str, failures: int, spec: RetrySpec, *, retry_after: timedelta | None = None
) -> tuple[timedelta, timedelta]:
    """Return the shortest and the longest wait that `delay` may give, whatever the draw.

    Raises as `delay` does.
    """
    seconds, cap = _planned(policy, failures, spec)
    floor = _floor(retry_after)
    least = max(_spread(seconds, math.inf, spec, -1), floor)
    most = max(min(_spread(seconds, math.inf, spec, 1), cap), floor * (1 + _upwards(spec)))
    return _wait(least, retry_after), _wait(most, retry_after)


def _planned(policy: str, failures: int, spec: RetrySpec) -> tuple[float, float]:
    """Return the delay without jitter and its cap, in seconds."""
    if failures < 1:
        raise ValueError(f"failures must be at least 1, not {failures}")
    match policy:
        case "exponential":
            return _exponential(spec.exponential, failures), spec.exponential.cap_seconds
        case "linear":
            return min(spec.linear.step_seconds * failures, spec.linear.cap_seconds), spec.linear.cap_seconds
        case "immediate":
            return spec.immediate.delay_seconds, math.inf
        case "fixed":
            return spec.fixed.delay_seconds, math.inf
        case "fibonacci":
            return _fibonacci(spec.fibonacci, failures), spec.fibonacci.cap_seconds
        case "never":
            raise ValueError("the policy 'never' has no delay")
        case _:
            raise ValueError(f"unknown retry policy {policy!r}")


def _exponential(rule: Exponential, failures: int) -> float:
    if rule.base_seconds <= 0:
        return 0.0
    if rule.base_seconds >= rule.cap_seconds:
        return rule.cap_seconds
    # Compared as logarithms: the power itself overflows from about the thousandth failure on.
    growth = (failures - 1) * math.log(rule.factor)
    start = math.log(rule.base_seconds)
    if growth >= math.log(rule.cap_seconds) - start:
        return rule.cap_seconds
    if growth > _LARGEST_LOG:
        return min(math.exp(start + growth), rule.cap_seconds)
    return min(rule.base_seconds * rule.factor ** (failures - 1), rule.cap_seconds)


def _fibonacci(rule: Fibonacci, failures: int) -> float:
    if rule.base_seconds <= 0:
        return 0.0
    this, following = rule.base_seconds, rule.base_seconds
    # It grows by more than half each time: the smallest base reaches the largest cap within 1600 rounds.
    for _ in range(failures - 1):
        if this >= rule.cap_seconds:
            break
        this, following = following, this + following
    return min(this, rule.cap_seconds)


def _spread(seconds: float, cap: float, spec: RetrySpec, jitter: float) -> float:
    share = (1 + jitter) / 2
    match spec.jitter:
        case "none":
            return seconds
        case "full":
            return seconds * share
        case "equal":
            return seconds / 2 + seconds / 2 * share
        case ratio:
            return _fold(seconds * (1 + ratio * jitter), cap)


def _fold(seconds: float, cap: float) -> float:
    return max(2 * cap - seconds, 0.0) if seconds > cap else seconds


def _upwards(spec: RetrySpec) -> float:
    match spec.jitter:
        case "none":
            return 0.0
        case "full" | "equal":
            return _FLOOR_RATIO
        case ratio:
            return ratio


def _floor(retry_after: timedelta | None) -> float:
    return max(retry_after.total_seconds(), 0.0) if retry_after else 0.0


def _wait(seconds: float, retry_after: timedelta | None) -> timedelta:
    wait = timedelta(seconds=min(seconds, _LONGEST_SECONDS))
    # The sums ran in floats; a floor is kept to the microsecond.
    return wait if retry_after is None else max(wait, retry_after)
