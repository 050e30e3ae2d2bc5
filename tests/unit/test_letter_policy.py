"""When a letter goes back by itself, decided from what is set."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remand_app.domain.dead_letters import AutoRequeue, AutoRequeueOverrides, DlqSettings, LetterPolicy

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
MONTH = timedelta(days=30)


@given(
    interval=st.floats(1, MONTH.total_seconds()),
    multiplier=st.floats(1, 100),
    most=st.integers(1, 100),
    requeues=st.integers(0, 120),
    jitter=st.floats(-1, 1),
)
def test_the_wait_grows_up_to_a_month_and_ends(
    interval: float, multiplier: float, most: int, requeues: int, jitter: float
) -> None:
    auto = AutoRequeue(
        enabled=True, interval_seconds=interval, backoff_multiplier=multiplier, max_requeues=most
    )
    at = LetterPolicy("automatic", auto).requeue_at("permanent", requeues, NOW, jitter)

    assert at is not None
    if requeues >= most:
        assert at == NOW
    else:
        assert NOW + timedelta(seconds=interval * 0.849) <= at <= NOW + MONTH * 1.151


@pytest.mark.parametrize("category", ["transient", "network", "resource"])
def test_selective_sends_back_what_passes_with_time(category: str) -> None:
    assert LetterPolicy("selective", AutoRequeue(enabled=True)).requeue_at(category, 0, NOW, 0) is not None


@pytest.mark.parametrize("category", ["permission", "validation", "permanent"])
def test_selective_leaves_the_others_to_people(category: str) -> None:
    assert LetterPolicy("selective", AutoRequeue(enabled=True)).requeue_at(category, 0, NOW, 0) is None


def test_a_template_changes_only_what_it_says() -> None:
    settings = DlqSettings(strategy="manual", auto_requeue=AutoRequeue(enabled=True, max_requeues=7))

    policy = settings.policy("selective", AutoRequeueOverrides(interval_seconds=5))

    assert policy.strategy == "selective"
    assert (policy.auto.enabled, policy.auto.max_requeues, policy.auto.interval_seconds) == (True, 7, 5)
    assert settings.policy() == LetterPolicy("manual", settings.auto_requeue)
