from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from remand_app.domain.errors import BreakerNotFound
from remand_app.domain.states import BreakerState
from remand_app.engine import breakers
from remand_app.engine.breakers import Breakers
from remand_app.engine.operate import Who, cancel
from remand_app.engine.operate.breakers import close_breaker, open_breaker, reset_breaker
from remand_app.engine.sweeps.ring import ring
from remand_app.store import breakers as store
from remand_app.store.breakers import BreakerStatus
from tests.support.engine import Harness
from tests.support.shapes import CHAIN, always, shape
from tests.support.threads import together, values

RESET = ConnectionResetError("reset")
ONE = shape("one", {"a": ()})
SHARED = shape("shared", {"a": ()}, each={"a": {"dependency": "ledger"}})
OTHER = shape("other", {"a": ()}, each={"a": {"dependency": "crm"}})
TRIP = {"enabled": True, "failures": 3, "cool_down_seconds": 30, "release_per_second": 2}

Rig = Callable[..., Harness]


@pytest.fixture
def rig(harness_with: Callable[..., Harness]) -> Rig:
    """Make a harness whose breaker opens at the third failure."""

    def make(**breaker: Any) -> Harness:
        harness = harness_with(breaker={**TRIP, **breaker})
        for template in (ONE, SHARED, OTHER):
            harness.publish(template)
        return harness

    return make


def standing(harness: Harness, name: str = "h") -> BreakerStatus:
    [one] = store.listed(harness.database, name)
    return one


def state(harness: Harness, name: str = "h") -> BreakerState:
    return standing(harness, name).breaker.state


def fail_some(harness: Harness, count: int = 3, template: str = "t/one") -> list[UUID]:
    """Let as many workflows fail once as open the breaker."""
    harness.play(a=always(RESET))
    ids = harness.submit_many(template, range(count))
    harness.run_until_quiet()
    return ids


def released(harness: Harness, ids: list[UUID]) -> int:
    return sum("release" in harness.moves(one, "a") for one in ids)


def test_enough_failures_open_it_and_new_work_waits_uncounted(rig: Rig) -> None:
    harness = rig()
    fail_some(harness)
    ran = harness.play()

    late = harness.submit("t/one")
    harness.run_until_quiet()

    assert state(harness) is BreakerState.OPEN
    assert ran == []
    assert harness.workflow(late).state == "waiting_for_retry"
    step = harness.step(late, "a")
    assert (step.state, step.attempt, step.failures) == ("waiting_for_retry", 0, 0)
    assert harness.moves(late, "a") == ["enqueue", "hold"]
    assert standing(harness).held == 1


def test_retries_that_fall_due_meanwhile_wait_for_the_breaker(rig: Rig) -> None:
    harness = rig(cool_down_seconds=100)
    ids = fail_some(harness)
    ran = harness.play()

    harness.advance(61)
    harness.run_until_quiet()

    assert ran == []
    assert [harness.step(one, "a").attempt for one in ids] == [1, 1, 1]
    assert standing(harness).held == 3


def test_one_probe_that_succeeds_closes_it_and_all_goes_on_at_the_rate(rig: Rig) -> None:
    harness = rig()
    failed = fail_some(harness)
    late = harness.submit_many("t/one", range(6))
    harness.run_until_quiet()
    ran = harness.play()

    harness.advance(30)
    harness.run_until_quiet()

    assert len(ran) == 1 + 2, "the probe, and what the first second of release allows"
    assert state(harness) is BreakerState.CLOSED
    for expected in (5, 7):
        harness.advance(1)
        harness.run_until_quiet()
        assert len(ran) == expected - (expected == 7), "six were held"
    assert not standing(harness).breaker.is_gating
    assert {harness.workflow(one).state for one in late} == {"complete"}
    for one in failed:
        assert harness.run_to_end(one).state == "complete"


def test_a_probe_that_fails_opens_it_again_for_longer(rig: Rig) -> None:
    harness = rig()
    fail_some(harness)
    late = harness.submit_many("t/one", range(4))
    harness.run_until_quiet()

    harness.advance(30)
    harness.run_until_quiet()

    known = standing(harness).breaker
    assert (known.state, known.openings) == (BreakerState.OPEN, 2)
    assert known.probe_at is not None
    assert (known.probe_at - harness.clock.now).total_seconds() == 60
    assert sum(harness.step(one, "a").attempt for one in late) == 1, "only the probe used an attempt up"
    assert [move.event for move in store.moves_of(harness.database, "h", 9)] == [
        "probe_failed",
        "cool_down",
        "trip",
    ]


def test_a_probe_that_fails_for_a_reason_of_its_own_shows_that_the_dependency_answers(rig: Rig) -> None:
    harness = rig()
    fail_some(harness)
    harness.submit("t/one")
    harness.run_until_quiet()
    harness.play(a=always(ValueError("no such account")))

    harness.advance(30)
    harness.run_until_quiet()

    assert state(harness) is BreakerState.CLOSED


def test_only_so_many_probes_are_out_at_a_time(rig: Rig) -> None:
    harness = rig(probes=2)
    fail_some(harness)
    harness.submit_many("t/one", range(5))
    harness.run_until_quiet()
    harness.play()
    harness.advance(30)

    harness.sweep_ring()
    harness.sweep_ring()

    assert (standing(harness).passed, standing(harness).held) == (2, 3)
    harness.run_until_quiet()
    assert state(harness) is BreakerState.CLOSED


def test_another_probe_follows_one_that_was_lost(rig: Rig) -> None:
    harness = rig()
    fail_some(harness)
    harness.submit_many("t/one", range(2))
    harness.run_until_quiet()
    harness.advance(30)
    harness.sweep_ring()
    dead = harness.new_worker(hostname="dead@test")
    assert len(dead.queue.claim("steps", 9)) == 1
    harness.play()

    harness.advance(31)
    harness.sweep_rescue()
    harness.run_until_quiet()

    assert state(harness) is BreakerState.CLOSED


def test_others_go_on(rig: Rig) -> None:
    harness = rig()
    fail_some(harness, template="t/shared")
    harness.play()

    other, same = harness.submit("t/other"), harness.submit("t/shared")
    harness.run_until_quiet()

    assert state(harness, "ledger") is BreakerState.OPEN
    assert harness.workflow(other).state == "complete"
    assert harness.workflow(same).state == "waiting_for_retry"


def test_a_step_that_became_ready_by_its_parent_is_held_too(rig: Rig) -> None:
    harness = rig()
    harness.publish(shape("chain", CHAIN, each={"b": {"dependency": "ledger"}}))
    fail_some(harness, template="t/shared")
    ran = harness.play()

    workflow = harness.submit("t/chain")
    harness.run_until_quiet()

    assert ran == ["a"]
    assert harness.states(workflow)["b"] == "waiting_for_retry"


def test_a_share_that_is_small_does_not_open_it(rig: Rig) -> None:
    harness = rig(failure_ratio=0.5)
    harness.play(a=lambda ctx: always(RESET)(ctx) if ctx.input >= 27 else "well")

    harness.submit_many("t/one", range(30))
    harness.run_until_quiet()

    assert store.listed(harness.database) == []


def test_old_failures_do_not_count(rig: Rig) -> None:
    harness = rig(window_seconds=60)
    fail_some(harness, 2)
    harness.advance(61)
    harness.database.call("delete from remand.run_queue where phase = 'ready'")

    fail_some(harness, 2, template="t/other")

    assert store.listed(harness.database) == []


def test_failures_of_before_it_closed_are_forgotten(rig: Rig) -> None:
    harness = rig(failures=3, window_seconds=3600)
    fail_some(harness)
    close_breaker(harness.engine, "h", by="ann")
    harness.advance(1)
    harness.play(a=always(RESET))

    harness.submit("t/one")
    harness.run_until_quiet()

    assert state(harness) is BreakerState.CLOSED


def test_a_herd_that_fails_again_is_stopped_again(rig: Rig) -> None:
    harness = rig()
    fail_some(harness)
    harness.submit_many("t/one", range(20))
    harness.run_until_quiet()
    harness.play(a=lambda ctx: "well")
    harness.advance(30)
    harness.run_until_quiet()
    ran = harness.play(a=always(RESET))

    for _ in range(4):
        harness.advance(1)
        harness.run_until_quiet()

    known = standing(harness).breaker
    assert (known.state, known.openings) == (BreakerState.OPEN, 2)
    assert len(ran) <= 4, "two a second, until the third failure"


def test_an_operator_opens_it_and_it_stays_open(rig: Rig) -> None:
    harness = rig()
    ran = harness.play()

    open_breaker(harness.engine, "h", by="ann", reason="maintenance")
    workflow = harness.submit("t/one")
    harness.advance(days=3)
    harness.run_until_quiet()

    assert (ran, harness.workflow(workflow).state) == ([], "waiting_for_retry")
    close_breaker(harness.engine, "h", by="ann")
    harness.run_until_quiet()
    assert harness.workflow(workflow).state == "complete"
    [closing, opening] = store.moves_of(harness.database, "h", 9)
    assert (opening.event, opening.by, opening.reason) == ("open_manually", "ann", "maintenance")
    assert closing.event == "close_manually"


def test_opened_for_a_while_it_probes_by_itself(rig: Rig) -> None:
    harness = rig()
    harness.play()
    open_breaker(harness.engine, "h", by="ann", seconds=120)
    workflow = harness.submit("t/one")
    harness.run_until_quiet()
    assert harness.workflow(workflow).state == "waiting_for_retry"

    harness.advance(120)
    harness.run_until_quiet()

    assert harness.workflow(workflow).state == "complete"


def test_a_reset_lets_everything_out_at_once(rig: Rig) -> None:
    harness = rig()
    fail_some(harness)
    late = harness.submit_many("t/one", range(7))
    harness.run_until_quiet()
    ran = harness.play()

    reset_breaker(harness.engine, "h", by="ann")
    harness.run_until_quiet()

    assert len(ran) == 7
    assert {harness.workflow(one).state for one in late} == {"complete"}
    assert not standing(harness).breaker.is_gating


@pytest.mark.parametrize("verb", [close_breaker, reset_breaker])
def test_one_that_never_moved_cannot_be_closed(rig: Rig, verb: Callable[..., Any]) -> None:
    with pytest.raises(BreakerNotFound) as refused:
        verb(rig().engine, "h", by="ann")

    assert refused.value.code == "BREAKER_NOT_FOUND"


def test_urgent_and_old_work_is_let_through_first(rig: Rig) -> None:
    harness = rig(release_per_second=1)
    open_breaker(harness.engine, "h", by="ann")
    late = [harness.submit("t/one", n, priority=priority) for n, priority in enumerate((5, 1, 9, 5))]
    harness.run_until_quiet()
    order: list[int] = []
    harness.play(a=lambda ctx: order.append(ctx.input))

    close_breaker(harness.engine, "h", by="ann")
    for _ in late:
        harness.run_until_quiet()
        harness.advance(1)

    assert order == [2, 0, 3, 1]


def test_two_sweeps_at_once_keep_the_rate(rig: Rig) -> None:
    harness = rig(release_per_second=3)
    open_breaker(harness.engine, "h", by="ann")
    ids = harness.submit_many("t/one", range(30))
    harness.sweep_ring()
    close_breaker(harness.engine, "h", by="ann")
    assert released(harness, ids) == 3
    harness.advance(1)

    values(together(*(lambda: ring(harness.engine) for _ in range(6))))

    assert released(harness, ids) == 6


def test_two_processes_that_see_the_last_failure_open_it_once(rig: Rig) -> None:
    harness = rig(failures=20)
    harness.play(a=always(RESET))
    harness.submit_many("t/one", range(40))
    harness.drain()

    values(together(*(lambda: harness.drain_failures("exponential") for _ in range(4))))

    assert [move.event for move in store.moves_of(harness.database, "h", 9)] == ["trip"]


def test_what_is_cancelled_while_held_is_gone(rig: Rig) -> None:
    harness = rig()
    open_breaker(harness.engine, "h", by="ann")
    workflow = harness.submit("t/one")
    harness.run_until_quiet()

    cancel(harness.engine, workflow, Who("ann"))
    close_breaker(harness.engine, "h", by="ann")
    harness.run_until_quiet()

    assert harness.workflow(workflow).state == "cancelled"
    assert not standing(harness).breaker.is_gating


def test_a_process_that_dies_before_it_judges_leaves_the_counts(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = rig()
    with monkeypatch.context() as patch:
        patch.setattr(Breakers, "judge", lambda self, noted: None)
        fail_some(harness)
    assert store.listed(harness.database) == []

    fail_some(harness, 1)

    assert state(harness) is BreakerState.OPEN


def test_many_held_steps_are_put_aside_and_let_out_whole(rig: Rig) -> None:
    harness = rig(release_per_second=10_000)
    open_breaker(harness.engine, "h", by="ann")
    count = breakers.HOLD_BATCH * 2 + 7
    harness.submit_many("t/one", range(count))
    harness.sweep_ring()
    assert standing(harness).held == count
    harness.play()

    reset_breaker(harness.engine, "h", by="ann")

    assert standing(harness).held == 0
    ready = harness.database.call("select count(*) from remand.run_queue where phase = 'ready'")
    assert ready == [(count,)]


def test_what_goes_well_while_it_lets_go_does_not_wait_for_its_row(rig: Rig) -> None:
    harness = rig()
    open_breaker(harness.engine, "h", by="ann")
    harness.submit_many("t/one", range(4))
    harness.run_until_quiet()
    close_breaker(harness.engine, "h", by="ann")
    harness.play()

    with harness.database.begin() as sweep:
        store.lock(sweep, "h")
        [ran] = values(together(harness.drain))

    assert ran.completed == 2


def test_an_attempt_that_hangs_from_before_it_opened_again_keeps_no_probe_away(rig: Rig) -> None:
    harness = rig(release_per_second=1)
    open_breaker(harness.engine, "h", by="ann")
    harness.submit_many("t/one", range(3))
    harness.run_until_quiet()
    close_breaker(harness.engine, "h", by="ann")
    hanging = harness.new_worker(hostname="hanging@test")
    [hung] = hanging.queue.claim("steps", 9)
    harness.play()

    open_breaker(harness.engine, "h", by="ann", seconds=30)
    harness.advance(30)
    hanging.beat()
    harness.run_until_quiet()

    assert state(harness) is BreakerState.CLOSED
    assert harness.step(hung.workflow_id, "a").state == "in_progress"
