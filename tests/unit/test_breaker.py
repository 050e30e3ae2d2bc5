from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from remand_app.domain import breaker as rules
from remand_app.domain.breaker import (
    DEFAULT_BREAKER,
    Breaker,
    BreakerOverrides,
    BreakerSpec,
    Move,
    resolve_breaker,
)
from remand_app.domain.states import BreakerState
from remand_app.domain.transitions import is_legal

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
SPEC = replace(
    DEFAULT_BREAKER, failures=5, failure_ratio=0.5, window_seconds=60, cool_down_seconds=30, probes=2
)
CLOSED, OPEN, HALF_OPEN = BreakerState.CLOSED, BreakerState.OPEN, BreakerState.HALF_OPEN


def breaker(state: BreakerState, **more: object) -> Breaker:
    known = Breaker("ledger", state, NOW, 0, None, 0, None, False, None, "remand", None)
    return replace(known, **more)  # type: ignore[arg-type]


def after(moved: Move, at: datetime = NOW) -> Breaker:
    return breaker(
        moved.to_state,
        state_since=at,
        openings=moved.openings,
        probe_at=moved.probe_at,
        releasing_since=moved.releasing_since,
        release_all=moved.release_all,
    )


def trip(known: Breaker | None, failures: int, attempts: int, spec: BreakerSpec = SPEC) -> Move | None:
    return rules.after_failures(known, "ledger", spec, attempts=attempts, failures=failures, now=NOW)


@pytest.mark.parametrize(
    ("failures", "attempts", "opens"),
    [
        (4, 4, False),
        (5, 5, True),
        (5, 10, True),
        (5, 11, False),
        (50, 101, False),
        (51, 100, True),
        (5, 0, True),
    ],
)
def test_it_opens_when_enough_and_a_large_share_failed(failures: int, attempts: int, *, opens: bool) -> None:
    moved = trip(None, failures, attempts)

    assert (moved is not None) is opens
    if moved is not None:
        assert (moved.event, moved.to_state, moved.openings) == ("trip", OPEN, 1)
        assert moved.probe_at == NOW + timedelta(seconds=30)
        assert moved.reason is not None
        assert f"{failures} of" in moved.reason


@pytest.mark.parametrize("state", [OPEN, HALF_OPEN])
def test_failures_of_attempts_that_were_under_way_do_not_move_an_open_one(state: BreakerState) -> None:
    assert trip(breaker(state), 100, 100) is None


def test_one_that_is_off_never_opens_by_itself() -> None:
    assert trip(None, 100, 100, replace(SPEC, enabled=False)) is None


@pytest.mark.parametrize(
    ("category", "rule", "outcome", "counted"),
    [
        ("network", "os.connection", "failed", True),
        ("transient", "product.step-timeout", "timed_out", True),
        ("resource", "http.rate-limit", "failed", True),
        ("validation", "http.bad-request", "failed", False),
        ("permission", "http.forbidden", "failed", False),
        ("transient", "unclassified", "failed", False),
        ("resource", "product.worker-lost", "lost", False),
    ],
)
def test_what_speaks_against_the_dependency(category: str, rule: str, outcome: str, *, counted: bool) -> None:
    assert rules.counts(category, rule, outcome, SPEC) is counted


def test_it_lets_probes_through_when_cooled_down_and_not_before() -> None:
    known = breaker(OPEN, probe_at=NOW, openings=1)

    assert rules.when_due(known, NOW - timedelta(microseconds=1)) is None
    moved = rules.when_due(known, NOW)
    assert moved is not None
    assert (moved.event, moved.to_state, moved.openings) == ("cool_down", HALF_OPEN, 1)


def test_one_that_was_opened_by_hand_stays_open() -> None:
    moved = rules.by_hand_open(None, seconds=None, reason="maintenance", now=NOW)

    assert rules.when_due(after(moved), NOW + timedelta(days=365)) is None
    assert rules.by_hand_open(None, seconds=60, reason=None, now=NOW).probe_at == NOW + timedelta(seconds=60)


def test_a_failed_probe_opens_it_again_for_twice_as_long() -> None:
    moved = rules.after_probe(breaker(HALF_OPEN, openings=1), SPEC, failed=1, now=NOW)

    assert moved is not None
    assert (moved.event, moved.to_state, moved.openings) == ("probe_failed", OPEN, 2)
    assert moved.probe_at == NOW + timedelta(seconds=60)


def test_as_many_probes_as_are_set_must_succeed() -> None:
    one_good = rules.after_probe(breaker(HALF_OPEN, openings=3, probes_succeeded=1), SPEC, failed=0, now=NOW)
    moved = rules.after_probe(breaker(HALF_OPEN, openings=3, probes_succeeded=2), SPEC, failed=0, now=NOW)

    assert one_good is None
    assert moved is not None
    assert (moved.event, moved.to_state, moved.releasing_since) == ("probes_succeeded", CLOSED, NOW)
    assert moved.openings == 3, "a relapse before all is out waits longer"


def test_a_relapse_during_release_waits_longer_than_a_first_opening() -> None:
    relapse = trip(breaker(CLOSED, openings=2, releasing_since=NOW), 5, 5)
    fresh = trip(breaker(CLOSED, openings=0), 5, 5)

    assert relapse is not None
    assert fresh is not None
    assert (relapse.openings, fresh.openings) == (3, 1)
    assert relapse.probe_at == NOW + timedelta(seconds=120)


@given(openings=st.integers(0, 10**9), base=st.floats(0.1, 1e6), cap=st.floats(0.1, 1e7))
def test_the_cool_down_grows_to_its_cap_and_never_beyond(openings: int, base: float, cap: float) -> None:
    spec = replace(SPEC, cool_down_seconds=base, cool_down_cap_seconds=cap)

    wait, next_wait = rules.cool_down(spec, openings), rules.cool_down(spec, openings + 1)

    limit = timedelta(seconds=max(base, cap)) + timedelta(microseconds=1)
    assert timedelta(seconds=base) - timedelta(microseconds=1) <= wait <= next_wait <= limit


@pytest.mark.parametrize(
    ("known", "outstanding", "allowed"),
    [
        (breaker(OPEN), 0, 0),
        (breaker(HALF_OPEN), 0, 2),
        (breaker(HALF_OPEN), 1, 1),
        (breaker(HALF_OPEN), 7, 0),
        (breaker(HALF_OPEN, probes_succeeded=1), 0, 1),
        (breaker(CLOSED, releasing_since=NOW, release_all=True), 0, None),
        (breaker(CLOSED), 0, None),
        (breaker(CLOSED, releasing_since=NOW), 0, 10),
    ],
)
def test_how_many_it_lets_through(known: Breaker, outstanding: int, allowed: int | None) -> None:
    assert rules.allowance(known, SPEC, outstanding=outstanding, now=NOW) == allowed


@given(
    gaps=st.lists(st.floats(0, 30), min_size=1, max_size=60),
    rate=st.floats(0.05, 1000),
    sweep_seconds=st.floats(0.05, 60),
)
def test_no_second_sees_more_than_the_rate_however_sweeps_come(
    gaps: list[float], rate: float, sweep_seconds: float
) -> None:
    spec = replace(SPEC, release_per_second=rate, window_seconds=3600)
    known, at, released = breaker(CLOSED, releasing_since=NOW), NOW, []
    for gap in gaps:
        at += timedelta(seconds=gap)
        allowed = rules.allowance(known, spec, outstanding=0, now=at, sweep_seconds=sweep_seconds)
        assert allowed is not None
        if allowed:
            known = replace(known, released_at=at)
            released.append((at, allowed))

    for start, _ in released:
        within = sum(n for when, n in released if start <= when < start + timedelta(seconds=1))
        # The first sweep within it may give what the time since the sweep before was owed.
        assert within <= max((1 + min(1.0, sweep_seconds)) * rate, rate + 1) + 1e-6


def test_the_rate_doubles_with_every_window_that_stays_well() -> None:
    known = breaker(CLOSED, releasing_since=NOW)

    rates = [rules.release_rate(known, SPEC, NOW + timedelta(seconds=60 * n)) for n in range(4)]

    assert rates == [10, 20, 40, 80]
    assert rules.release_rate(known, SPEC, NOW + timedelta(days=999)) < float("inf")


def test_every_move_is_legal() -> None:
    moves = [
        trip(None, 5, 5),
        rules.when_due(breaker(OPEN, probe_at=NOW), NOW),
        rules.after_probe(breaker(HALF_OPEN), SPEC, failed=1, now=NOW),
        rules.after_probe(breaker(HALF_OPEN, probes_succeeded=2), SPEC, failed=0, now=NOW),
        *(
            decide(breaker(state))
            for state in BreakerState
            for decide in (
                lambda known: rules.by_hand_open(known, seconds=None, reason=None, now=NOW),
                lambda known: rules.by_hand_close(known, reason=None, now=NOW),
                lambda known: rules.by_hand_reset(known, reason=None, now=NOW),
            )
        ),
    ]

    for moved in moves:
        assert moved is not None
        assert is_legal("breaker", moved.from_state, moved.event, moved.to_state)


def test_the_later_override_wins_value_by_value() -> None:
    spec = resolve_breaker(BreakerOverrides(failures=3, probes=4), BreakerOverrides(failures=7))

    assert (spec.failures, spec.probes, spec.window_seconds) == (7, 4, DEFAULT_BREAKER.window_seconds)


@pytest.mark.parametrize(
    "wrong",
    [{"failures": 0}, {"failure_ratio": 1.5}, {"window_seconds": 0.5}, {"release_per_second": 0}, {"typo": 1},
     {"categories": ["weather"]}, {"cool_down_seconds": float("nan")}],
)  # fmt: skip
def test_senseless_rules_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        BreakerOverrides.model_validate(wrong)
