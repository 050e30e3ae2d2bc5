"""What counts as stale: thresholds, signs of life, and what waits with good reason. Source: D1, D2."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from remand_app.domain.staleness import (
    PATIENT,
    Health,
    Lifecycle,
    Signs,
    Verdict,
    Why,
    judge,
)
from remand_app.domain.states import FINAL_WORKFLOW_STATES, WorkflowState

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DEFAULT = Lifecycle()
IN_PROCESS = WorkflowState.STEPS_IN_PROCESS


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def judged(state: WorkflowState = IN_PROCESS, *, age: float = 0, sign: float = 0, **more: object) -> Verdict:
    return judge(Signs(state, ago(age), ago(sign), **more), DEFAULT, NOW)  # type: ignore[arg-type]


@pytest.mark.parametrize("state", [one for one in WorkflowState if one not in FINAL_WORKFLOW_STATES])
def test_every_state_that_is_not_final_has_a_limit(state: WorkflowState) -> None:
    limit = DEFAULT.limit(state)
    lasting = Lifecycle(max_lifetime_seconds=10 * limit)

    def health(waited: float) -> Health:
        return judge(Signs(state, ago(waited), ago(waited)), lasting, NOW).health

    assert [health(limit * part) for part in (0.74, 0.75, 0.99, 1.0)] == [
        Health.HEALTHY,
        Health.WARNING,
        Health.WARNING,
        Health.STALE,
    ]


def test_a_sign_of_life_counts_the_lifetime_goes_on() -> None:
    assert judged(age=80_000, sign=5).health is Health.WARNING
    assert judged(age=86_400, sign=5).why is Why.LIFETIME
    assert judged(age=86_400, sign=5).health is Health.STALE


def test_a_retry_that_is_not_yet_due_is_a_sign_of_the_future() -> None:
    assert judged(WorkflowState.WAITING_FOR_RETRY, age=7200, sign=-600).health is Health.HEALTHY


@pytest.mark.parametrize("why", sorted(PATIENT))
def test_what_waits_with_good_reason_is_never_stale_by_its_state(why: Why) -> None:
    verdict = judged(sign=80_000, stand=why)

    assert verdict.health is (Health.HEALTHY if why is Why.RUNNING else Health.WARNING)
    assert judged(age=90_000, sign=80_000, stand=why).health is (
        Health.WARNING if why in (Why.PAUSED, Why.QUEUE_PAUSED, Why.BLOCKED) else Health.STALE
    )


def test_a_queue_without_a_worker_says_more_than_silence() -> None:
    verdict = judged(age=3600, sign=3600, unheard_since=ago(1900))

    assert (verdict.why, verdict.health) == (Why.WORKER_UNAVAILABLE, Health.STALE)
    assert judged(age=3600, sign=3600, unheard_since=ago(60)).health is Health.HEALTHY
    assert judged(sign=3600, unheard_since=ago(1900), stand=Why.PAUSED).why is Why.PAUSED


def test_a_verdict_says_when() -> None:
    assert judged(sign=600).stale_at == NOW + timedelta(seconds=1200)
