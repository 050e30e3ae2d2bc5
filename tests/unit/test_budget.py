from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from remand_app.domain.retry_budget import BudgetSpec, Used, spread

NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)
QUICK = settings(max_examples=50, deadline=None)
SPEC = BudgetSpec()


def at(*seconds: float) -> list[datetime]:
    return [NOW + timedelta(seconds=one) for one in seconds]


def put_off(planned: Sequence[datetime], used: Used, spec: BudgetSpec = SPEC) -> list[float]:
    return [one.total_seconds() for one in spread(planned, used, spec, now=NOW).delays]


def test_within_the_budget_nothing_is_put_off() -> None:
    found = spread(at(*range(20)), Used(attempts=1000, retries=180), SPEC, now=NOW)

    assert found.delays == (timedelta(0),) * 20
    assert found.next_at is None


def test_beyond_the_budget_each_waits_for_the_one_before() -> None:
    found = spread(at(60, 60, 60, 60), Used(attempts=1000, retries=199), SPEC, now=NOW)

    # 200 retries in 60 s are allowed: a turn every 0.3 s; one is left, and the first turn is now.
    assert [one.total_seconds() for one in found.delays] == [0, 0, 0.3, 0.6]
    assert found.next_at == NOW + timedelta(seconds=0.9)
    assert found.explanation == "199 retries to 1000 attempts in 60 s, at most 20 % or 1 a second"


def test_while_somebody_stands_in_line_the_next_one_stands_behind() -> None:
    used = Used(attempts=1000, retries=0, next_at=NOW + timedelta(seconds=35))

    assert put_off(at(5), used) == [35]


def test_a_line_that_is_over_holds_up_nobody() -> None:
    used = Used(attempts=1000, retries=500, next_at=NOW - timedelta(seconds=35))

    assert put_off(at(5), used) == [0]


def test_few_attempts_have_the_least_rate() -> None:
    spec = BudgetSpec(min_per_second=0.1)

    # 6 a minute are free, then one every 10 s.
    assert put_off(at(*[0] * 9), Used(), spec) == [0] * 7 + [10, 20]


def test_attempts_that_nobody_has_counted_yet_are_those_of_the_retries() -> None:
    # 1000 retries ended 1000 attempts: 200 are free.
    delays = put_off(at(*[0] * 1000), Used())

    assert delays[:201] == [0] * 201
    assert delays[-1] == pytest.approx(799 * 0.3)


def test_those_planned_first_keep_their_instants() -> None:
    used = Used(attempts=600, retries=118)

    assert put_off(at(9, 1, 5, 3), used) == [0.5, 0, 0, 0]


def test_a_long_back_off_holds_up_nobody_behind_it() -> None:
    spent = Used(attempts=600, retries=500)
    found = spread(at(3600), spent, SPEC, now=NOW)

    assert put_off(at(0), Used(600, 501, found.next_at)) == [0.5]


def test_nobody_is_put_off_longer_than_the_longest() -> None:
    spec = BudgetSpec(min_per_second=1, max_delay_seconds=30)
    found = spread(at(*[0] * 100), Used(retries=60), spec, now=NOW)

    assert max(found.delays) == timedelta(seconds=30)
    assert found.next_at == NOW + timedelta(seconds=30)


SPECS = st.builds(
    BudgetSpec,
    ratio=st.floats(0, 1),
    window_seconds=st.floats(1, 3600),
    min_per_second=st.floats(0.001, 1000),
    max_delay_seconds=st.just(366 * 86_400.0),
)
INSTANTS = st.lists(st.floats(0, 1e6).map(lambda one: at(one)[0]), max_size=40)
USED = st.builds(
    Used,
    attempts=st.integers(0, 10**9),
    retries=st.integers(0, 10**9),
    next_at=st.none() | st.floats(-1e6, 1e6).map(lambda one: at(one)[0]),
)


@QUICK
@given(INSTANTS, USED, SPECS)
def test_nothing_is_early_nothing_is_lost_and_the_order_stays(
    planned: list[datetime], used: Used, spec: BudgetSpec
) -> None:
    found = spread(planned, used, spec, now=NOW)

    assert len(found.delays) == len(planned)
    assert all(one >= timedelta(0) for one in found.delays)
    due = sorted((plan, plan + delay) for plan, delay in zip(planned, found.delays, strict=True))
    assert [one for _, one in due] == sorted(one for _, one in due)
    if any(found.delays):
        assert found.next_at is not None
        assert found.next_at >= NOW + max(found.delays)


@QUICK
@given(
    st.lists(st.tuples(st.floats(0, 30), st.integers(1, 30)), min_size=1, max_size=25),
    st.integers(0, 200),
    st.floats(0, 100),
    st.builds(
        BudgetSpec,
        ratio=st.floats(0, 1),
        window_seconds=st.floats(1, 60),
        min_per_second=st.floats(0.05, 2),
        max_delay_seconds=st.just(366 * 86_400.0),
    ),
)
def test_in_no_window_are_more_due_than_the_budget_allows(
    batches: list[tuple[float, int]], attempts: int, wait: float, spec: BudgetSpec
) -> None:
    """Play batches of failures that all wait alike, with the engine's bookkeeping; look at what gets due."""
    now, next_at = NOW, None
    decided: list[datetime] = []
    beyond: list[float] = []
    most = 0.0
    for pause, size in batches:
        now += timedelta(seconds=pause)
        since = now - timedelta(seconds=spec.window_seconds)
        used = Used(attempts, sum(one > since for one in decided), next_at)
        planned = [now + timedelta(seconds=wait)] * size
        found = spread(planned, used, spec, now=now)
        seen = max(used.attempts, used.retries + size)
        most = max(most, spec.ratio * seen, spec.min_per_second * spec.window_seconds)
        beyond += [
            (plan + delay - NOW).total_seconds()
            for plan, delay in zip(planned, found.delays, strict=True)
            if delay
        ]
        next_at = found.next_at or next_at
        decided += [now] * size
    beyond.sort()
    for place, due in enumerate(beyond):
        within = bisect_left(beyond, due + spec.window_seconds - 1e-3) - place
        assert within <= most + 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"ratio": -0.1}, {"ratio": 1.1}, {"window_seconds": 0}, {"min_per_second": 0},
        {"max_delay_seconds": -1}, {"rate": 1},
    ],
)  # fmt: skip
def test_what_a_budget_may_not_be(wrong: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        BudgetSpec.model_validate(wrong)
