"""Own the arithmetic of waiting: how long until the next attempt, given the policy and the failures so far.

Pure numbers: `jitter` is a draw in [-1, 1] made by the caller, and nothing here knows the time of day.
"""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Final

from app.domain.retry import Exponential, RetrySpec

_LONGEST_SECONDS: Final = timedelta(days=999_999_998).total_seconds()
_LARGEST_LOG: Final = 700.0


def delay(
    policy: str,
    failures: int,
    spec: RetrySpec,
    *,
    jitter: float,
    retry_after: timedelta | None = None,
) -> timedelta:
    """Return the wait before the next attempt: never negative, never below `retry_after`.

    `failures` counts from 1 and may be any size. `jitter` in [-1, 1] is scaled by `spec.jitter`: the policy's
    own delay is spread to both sides and folded back at its cap, so that nothing exceeds it or piles up
    there; a server's Retry-After is a floor and spread upwards only.
    Raises `ValueError` for `never`, an unknown policy, or arguments out of range.
    """
    if failures < 1:
        raise ValueError(f"failures must be at least 1, not {failures}")
    if not -1 <= jitter <= 1:
        raise ValueError(f"jitter must be within -1..1, not {jitter}")
    seconds, cap = _planned(policy, failures, spec)
    spread = _fold(seconds * (1 + spec.jitter * jitter), cap)
    floor = max(retry_after.total_seconds(), 0.0) if retry_after else 0.0
    wanted = max(spread, floor * (1 + spec.jitter * abs(jitter)))
    wait = timedelta(seconds=min(wanted, _LONGEST_SECONDS))
    # The sum above runs in floats; a floor is kept to the microsecond.
    return wait if retry_after is None else max(wait, retry_after)


def _planned(policy: str, failures: int, spec: RetrySpec) -> tuple[float, float]:
    """Return the delay without jitter and its cap, in seconds."""
    match policy:
        case "exponential":
            return _exponential(spec.exponential, failures), spec.exponential.cap_seconds
        case "linear":
            return min(spec.linear.step_seconds * failures, spec.linear.cap_seconds), spec.linear.cap_seconds
        case "immediate":
            return spec.immediate.delay_seconds, math.inf
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


def _fold(seconds: float, cap: float) -> float:
    return max(2 * cap - seconds, 0.0) if seconds > cap else seconds
