"""No setting of staleness is inert. Those of a lifecycle hold where templates do not say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from remand_app.domain.staleness import Health
from remand_app.engine.sweeps.stale import StaleResult
from remand_app.store import staleness
from tests.integration.test_stale import DAY, HALF_HOUR, far, flood, standing, sweep
from tests.support.engine import Harness
from tests.support.shapes import shape

HarnessWith = Callable[..., Harness]
EITHER = pytest.mark.parametrize("seconds", [11.0, 12.0])


def allowed_in(harness_with: HarnessWith, state: str, **setting: float) -> float:
    """The seconds that a workflow is allowed in that state."""
    harness = harness_with(staleness=setting)
    harness.publish(shape("one", {"a": ()}))
    workflow = harness.submit("t/one")
    harness.clock.advance(5)
    into = "update remand.workflows set state = %s where id = %s"
    harness.database.call(into, (state, workflow))
    harness.database.call("update remand.run_queue set phase = 'settling', worker = gen_random_uuid()")
    told = standing(harness, workflow)
    harness.database.call(into, ("steps_in_process", workflow))
    harness.database.call("update remand.run_queue set phase = 'ready', worker = null")
    return (told.stale_at - told.since).total_seconds()


@EITHER
def test_staleness_max_waiting_for_dependencies_seconds_is_what_is_allowed(
    harness_with: HarnessWith, seconds: float
) -> None:
    told = allowed_in(harness_with, "waiting_for_dependencies", max_waiting_for_dependencies_seconds=seconds)
    assert told == seconds


@EITHER
def test_staleness_max_waiting_for_retry_seconds_is_what_is_allowed(
    harness_with: HarnessWith, seconds: float
) -> None:
    assert allowed_in(harness_with, "waiting_for_retry", max_waiting_for_retry_seconds=seconds) == seconds


@EITHER
def test_staleness_max_steps_in_process_seconds_is_what_is_allowed(
    harness_with: HarnessWith, seconds: float
) -> None:
    assert allowed_in(harness_with, "steps_in_process", max_steps_in_process_seconds=seconds) == seconds


@EITHER
def test_staleness_max_other_seconds_is_what_is_allowed(harness_with: HarnessWith, seconds: float) -> None:
    assert allowed_in(harness_with, "enqueuing_steps", max_other_seconds=seconds) == seconds


@EITHER
def test_staleness_max_lifetime_seconds_is_what_is_allowed_in_all(
    harness_with: HarnessWith, seconds: float
) -> None:
    harness = harness_with(staleness={"max_lifetime_seconds": seconds})
    harness.publish(shape("one", {"a": ()}))
    workflow = harness.submit("t/one")
    harness.advance(DAY)
    told = standing(harness, workflow)

    assert (told.stale_at - told.since).total_seconds() == seconds


@pytest.mark.parametrize(("enabled", "letters"), [(True, 1), (False, 0)])
def test_staleness_enabled_is_whether_anything_is_taken_out(
    harness_with: HarnessWith, enabled: bool, letters: int
) -> None:
    harness = harness_with(staleness={"enabled": enabled})
    far(harness)
    harness.advance(HALF_HOUR)

    assert sweep(harness) == StaleResult(letters=letters)


@pytest.mark.parametrize(("action", "letters"), [("dlq", 1), ("none", 0)])
def test_staleness_stale_action_is_what_becomes_of_it(
    harness_with: HarnessWith, action: str, letters: int
) -> None:
    harness = harness_with(staleness={"stale_action": action})
    far(harness)
    harness.advance(HALF_HOUR)

    assert sweep(harness) == StaleResult(letters=letters)


@pytest.mark.parametrize(("share", "health"), [(0.4, Health.WARNING), (0.6, Health.HEALTHY)])
def test_staleness_warning_share_is_when_it_warns(
    harness_with: HarnessWith, share: float, health: Health
) -> None:
    harness = harness_with(staleness={"warning_share": share})
    workflow = far(harness)
    harness.advance(HALF_HOUR / 2)

    assert standing(harness, workflow).health is health


@pytest.mark.parametrize(("size", "batches"), [(5, 2), (3, 4)])
def test_staleness_batch_size_is_what_one_transaction_takes(
    harness_with: HarnessWith, monkeypatch: pytest.MonkeyPatch, size: int, batches: int
) -> None:
    harness = harness_with(staleness={"batch_size": size})
    flood(harness, 10)
    locked: list[int] = []
    lock = staleness.lock

    def counted(connection: Any, ids: Any) -> Any:
        locked.append(len(ids))
        return lock(connection, ids)

    monkeypatch.setattr(staleness, "lock", counted)

    assert sweep(harness) == StaleResult(letters=10)
    assert len(locked) == batches
