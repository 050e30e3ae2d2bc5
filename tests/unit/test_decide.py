from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remand_app.domain.decide import Dead, EndedAttempt, Retry, decide, route, schedule
from remand_app.domain.queues import RETRY, queue_of
from remand_app.domain.retry import DEFAULT_RETRY, POLICIES, Fixed, Immediate, RetrySpec

NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)


def ended(outcome: Any = "failed", **facts: Any) -> EndedAttempt:
    known: dict[str, Any] = {"failures": 1, "lost": 0, "category": "network", "policy": "exponential"}
    return EndedAttempt(outcome, **{**known, **facts})


def judge(attempt: EndedAttempt, jitter: float = 0, **rules: Any) -> Retry | Dead:
    return decide(attempt, replace(DEFAULT_RETRY, **rules), now=NOW, jitter=jitter)


def test_a_first_failure_waits_by_its_policy() -> None:
    decision = judge(ended())
    assert decision == Retry(
        "exponential", timedelta(minutes=1), NOW + timedelta(minutes=1), decision.explanation
    )
    assert "attempt 1 of 3" in decision.explanation


@pytest.mark.parametrize(
    ("attempt", "rules", "reason", "words"),
    [
        (ended(policy="never", category="validation"), {}, "permanent_failure", "validation is never"),
        (ended(), {"retryable": False}, "permanent_failure", "retryable: false"),
        (ended("lost", failures=0, lost=1), {"retryable": False}, "permanent_failure", "worker was lost"),
        (ended(), {"retryable": "connection_only"}, "permanent_failure", "may have been sent"),
        (ended("timed_out"), {"retryable": "connection_only"}, "permanent_failure", "connection_only"),
        (
            ended("lost", failures=0, lost=1),
            {"retryable": "connection_only"},
            "permanent_failure",
            "may have",
        ),
        (
            ended(failures=3, is_nothing_sent=True),
            {"retryable": "connection_only"},
            "max_retries_exceeded",
            "3 of 3",
        ),
        (ended(is_nothing_sent=True), {"retryable": False}, "permanent_failure", "retryable: false"),
        (ended(failures=3), {}, "max_retries_exceeded", "3 of 3"),
        (ended(failures=7), {}, "max_retries_exceeded", "7 of 3"),
        (ended(), {"max_attempts": 1}, "max_retries_exceeded", "1 of 1"),
        (ended("timed_out", failures=3), {}, "max_retries_exceeded", "timed out"),
        (ended("lost", failures=0, lost=3), {}, "worker_lost", "3 of 3 lost"),
        (ended("lost", failures=2, lost=1), {"lost_attempts": 1}, "worker_lost", "1 of 1 lost"),
        (ended(retry_after=timedelta(days=1)), {}, "permanent_failure", "max_retry_after_seconds"),
        (ended(retry_after=timedelta.max), {}, "permanent_failure", "more than"),
        (ended(failures=3, retry_after=timedelta.max), {}, "max_retries_exceeded", "3 of 3"),
    ],
)
def test_what_is_dead_and_why(attempt: EndedAttempt, rules: dict[str, Any], reason: str, words: str) -> None:
    decision = judge(attempt, **rules)
    assert isinstance(decision, Dead)
    assert decision.reason == reason
    assert words in decision.explanation


def test_what_was_never_sent_is_tried_again_where_only_that_is_allowed() -> None:
    assert isinstance(judge(ended(is_nothing_sent=True), retryable="connection_only"), Retry)
    assert isinstance(judge(ended(is_nothing_sent=True)), Retry)


@pytest.mark.parametrize(
    ("attempt", "seconds"),
    [
        (ended("timed_out", policy="linear", failures=2), 600),
        (ended("lost", failures=0, lost=2), 0),
        (ended("lost", failures=2, lost=1, retry_after=timedelta.max), 0),
        (ended(policy="immediate"), 0),
        (ended(retry_after=timedelta(hours=1)), 3600),
        (ended(retry_after=timedelta(hours=6)), 21_600),
        (ended(retry_after=timedelta(seconds=5)), 60),
    ],
)
def test_what_is_tried_again_and_when(attempt: EndedAttempt, seconds: float) -> None:
    decision = judge(attempt)
    assert isinstance(decision, Retry)
    assert decision.due_at == NOW + timedelta(seconds=seconds)


def test_a_lost_worker_does_not_spend_the_attempts_of_the_step() -> None:
    assert isinstance(judge(ended("lost", failures=0, lost=2), max_attempts=1), Retry)


def test_overrides_send_a_category_to_another_queue() -> None:
    spec = replace(DEFAULT_RETRY, policies={"network": "never"})
    assert route("network", "exponential", spec) == "never"
    assert route("resource", "linear", spec) == "linear"


def test_policies_that_grow_alike_share_a_queue() -> None:
    assert {policy: queue_of(policy) for policy in POLICIES} == {
        "exponential": "retry.exponential",
        "linear": "retry.linear",
        "immediate": "retry.immediate",
        "never": "retry.never",
        "fibonacci": "retry.exponential",
        "fixed": "retry.linear",
    }
    assert {queue_of(policy) for policy in POLICIES} == set(RETRY)
    with pytest.raises(ValueError, match="sometimes"):
        queue_of("sometimes")


@pytest.mark.parametrize("attempt", [ended(), ended("timed_out"), ended("lost", failures=0, lost=1)])
def test_retry_for_counts_from_the_first_failure_in_a_row(attempt: EndedAttempt) -> None:
    rules: dict[str, Any] = {"retry_for_seconds": 600, "immediate": Immediate(60)}
    last = NOW + timedelta(seconds=60) - timedelta(seconds=600)

    in_time = judge(replace(attempt, failing_since=last), **rules)
    late = judge(replace(attempt, failing_since=last - timedelta(seconds=1)), **rules)

    assert isinstance(in_time, Retry)
    assert isinstance(late, Dead)
    assert late.reason == "max_retries_exceeded"
    assert "failing since 2026-11-27 11:50:59 UTC" in late.explanation
    assert "due at 2026-11-27 12:01:00 UTC" in late.explanation
    assert "retry_for_seconds (600 s)" in late.explanation


def test_without_retry_for_a_step_may_fail_for_years() -> None:
    assert isinstance(judge(ended(failing_since=NOW - timedelta(days=9999))), Retry)


def test_a_first_failure_is_judged_by_its_own_wait() -> None:
    assert isinstance(judge(ended(), retry_for_seconds=60), Retry)
    assert isinstance(judge(ended(), retry_for_seconds=59), Dead)


def test_the_plan_goes_on_up_to_the_death() -> None:
    plan = schedule(ended(), replace(DEFAULT_RETRY, max_attempts=4), now=NOW)

    assert [one.attempt for one in plan] == [1, 2, 3, 4]
    *retries, death = [one.decision for one in plan]
    assert [one.delay.total_seconds() for one in retries if isinstance(one, Retry)] == [60, 120, 240]
    assert isinstance(death, Dead)
    assert [(one.least.total_seconds(), one.most.total_seconds()) for one in plan] == [
        (51, 69), (102, 138), (204, 276), (0, 0),
    ]  # fmt: skip


def test_the_plan_ends_where_retry_for_ends() -> None:
    plan = schedule(ended(), replace(DEFAULT_RETRY, max_attempts=99, retry_for_seconds=500), now=NOW)

    assert len(plan) == 4  # due after 60, 180, 420 s; the fourth would be due after 900 s
    assert "retry_for_seconds" in plan[-1].decision.explanation


def test_the_longest_plan_stays_within_the_calendar() -> None:
    spec = replace(DEFAULT_RETRY, max_attempts=10_000, fixed=Fixed(366 * 86_400))
    assert len(schedule(ended(policy="fixed"), spec, now=NOW)) == 10_000


def test_a_lost_attempt_has_no_plan() -> None:
    with pytest.raises(ValueError, match="planned"):
        schedule(ended("lost", lost=1), DEFAULT_RETRY, now=NOW)


ATTEMPTS = st.builds(
    EndedAttempt,
    outcome=st.sampled_from(["failed", "timed_out", "lost"]),
    failures=st.integers(1, 9) | st.integers(1, 10**9),
    lost=st.integers(1, 9),
    category=st.just("network"),
    policy=st.sampled_from(POLICIES),
    retry_after=st.none() | st.timedeltas(timedelta(-1), timedelta(1)) | st.timedeltas(),
    failing_since=st.none() | st.timedeltas(timedelta(0), timedelta(9)).map(lambda since: NOW - since),
)
SPECS = st.builds(
    replace,
    st.just(DEFAULT_RETRY),
    max_attempts=st.integers(1, 9) | st.just(10**10),
    lost_attempts=st.integers(1, 9),
    retryable=st.sampled_from([True, True, True, False]),
    retry_for_seconds=st.none() | st.floats(1, 1e6),
    jitter=st.floats(0, 1) | st.sampled_from(["none", "full", "equal"]),
)


@settings(max_examples=60, deadline=None)
@given(ATTEMPTS, SPECS, st.floats(-1, 1))
def test_limits_hold_and_a_retry_is_never_early(
    attempt: EndedAttempt, spec: RetrySpec, jitter: float
) -> None:
    decision = decide(attempt, spec, now=NOW, jitter=jitter)
    assert decision.explanation
    if isinstance(decision, Dead):
        return
    assert spec.retryable
    assert attempt.policy != "never"
    assert decision.due_at == NOW + decision.delay >= NOW
    if spec.retry_for_seconds is not None:
        since = attempt.failing_since or NOW
        assert (decision.due_at - since).total_seconds() <= spec.retry_for_seconds
    if attempt.outcome == "lost":
        assert attempt.lost < spec.lost_attempts
    else:
        assert attempt.failures < spec.max_attempts
        assert decision.delay >= (attempt.retry_after or timedelta(0))


@pytest.mark.parametrize(
    ("attempt", "words"),
    [
        (ended(failures=0), "failures"),
        (ended("lost", failures=0), "lost"),
        (ended(policy="sometimes"), "sometimes"),
    ],
)
def test_counts_that_cannot_be_are_refused(attempt: EndedAttempt, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        judge(attempt)


def test_a_naive_instant_is_refused() -> None:
    with pytest.raises(ValueError, match="time zone"):
        decide(ended(), DEFAULT_RETRY, now=NOW.replace(tzinfo=None), jitter=0)
