"""What breakers, pauses and budgets withstand: odd clocks, deaf queues, changed settings, people, crashes."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from remand import PermanentError
from remand.failure import capture
from remand_app.domain.breaker import DEFAULT_BREAKER, after_failures
from remand_app.domain.states import BreakerState
from remand_app.engine import breakers, operate
from remand_app.engine.attempt_counter import AttemptCounter
from remand_app.engine.breakers import Breakers
from remand_app.engine.operate import Who
from remand_app.engine.operate.breakers import close_breaker, open_breaker, reset_breaker
from remand_app.engine.pauses import pause_queue
from remand_app.engine.sweeps.ring import ring
from remand_app.store import breakers as store
from remand_app.store.breakers import BreakerStatus
from remand_app.store.claims import Completed, EndedBadly
from remand_app.store.database import Database
from remand_app.store.ids import new_id
from remand_app.store.workflows import lock_workflow
from tests.support.clock import NOON
from tests.support.engine import Harness, settings_for
from tests.support.shapes import always, fails, shape
from tests.support.threads import together, values
from tests.support.waiting import eventually

RESET = ConnectionResetError("reset")
ONE = shape("one", {"a": ()})
TWO = shape("two", {"a": (), "b": ()}, on_failure="fail_fast")
AFAR = shape("afar", {"a": ()}, each={"a": {"queue": "afar"}})
TRIP = {"enabled": True, "failures": 3, "cool_down_seconds": 30, "release_per_second": 2}

Rig = Callable[..., Harness]


class PostgresClock:
    """As in production: the instant is Postgres' own."""

    now = NOON

    def fixed(self) -> None:
        return None


@pytest.fixture
def rig(harness_with: Callable[..., Harness]) -> Rig:
    """Make a harness whose breaker opens at the third failure."""

    def make(**breaker: Any) -> Harness:
        harness = harness_with(breaker={**TRIP, **breaker})
        for template in (ONE, TWO, AFAR):
            harness.publish(template)
        return harness

    return make


def standing(harness: Harness, name: str = "h") -> BreakerStatus:
    [one] = store.listed(harness.database, name)
    return one


def state(harness: Harness) -> BreakerState:
    return standing(harness).breaker.state


def rows(harness: Harness) -> list[tuple[str, str | None]]:
    found = harness.database.call("select phase, gate from remand.run_queue order by 1, 2")
    return [(row[0], row[1]) for row in found]


def trip(harness: Harness) -> list[UUID]:
    harness.play(a=always(RESET))
    ids = harness.submit_many("t/one", range(3))
    harness.run_until_quiet()
    assert state(harness) is BreakerState.OPEN
    return ids


def half_open(harness: Harness, waiting: int = 1) -> list[UUID]:
    """Open it by hand, let work wait, and let the first probes through without running them."""
    open_breaker(harness.engine, "h", by="ann", seconds=30)
    ids = harness.submit_many("t/one", range(waiting))
    harness.sweep_ring()
    harness.advance(30)
    harness.sweep_ring()
    assert state(harness) is BreakerState.HALF_OPEN
    return ids


def wait_for_lock(database: Database) -> None:
    """Return once somebody in this database waits for a lock."""
    query = (
        "select 1 from pg_locks l join pg_stat_activity a using (pid)"
        " where not l.granted and a.datname = current_database()"
    )
    eventually(lambda: database.call(query), message="nobody waits for a lock")


# Clocks


def test_a_clock_that_jumps_back_does_not_stop_the_sweep_while_it_lets_go(raw_database: Database) -> None:
    """Without the invariants: the moves of a workflow are ordered by that clock."""
    harness = Harness(raw_database, settings=settings_for(breaker={**TRIP, "release_per_second": 10}))
    harness.publish(ONE)
    open_breaker(harness.engine, "h", by="ann")
    harness.submit_many("t/one", range(40))
    harness.sweep_ring()
    close_breaker(harness.engine, "h", by="ann")
    held = standing(harness).held

    harness.clock.now -= timedelta(seconds=20)
    for _ in range(2):
        harness.advance(1)
        harness.sweep_ring()

    assert standing(harness).held == held - 20


# Settings


def test_fewer_probes_wanted_than_went_well_already_close_it(
    rig: Rig, harness_with: Callable[..., Harness]
) -> None:
    harness = rig(probes=3)
    half_open(harness, 2)
    harness.play()
    harness.run_until_quiet()
    assert (state(harness), standing(harness).breaker.probes_succeeded) == (BreakerState.HALF_OPEN, 2)
    harness.submit("t/one")

    changed = harness_with(breaker={**TRIP, "probes": 2})
    changed.play()
    changed.run_until_quiet()

    assert state(changed) is BreakerState.CLOSED


def test_one_that_was_turned_off_meanwhile_is_opened_by_no_probe(
    rig: Rig, harness_with: Callable[..., Harness]
) -> None:
    harness = rig()
    trip(harness)
    harness.submit("t/one")

    changed = harness_with(breaker={**TRIP, "enabled": False})
    changed.play(a=always(RESET))
    changed.run_until_quiet()
    changed.advance(30)
    changed.run_until_quiet()

    assert state(changed) is BreakerState.CLOSED


# Probes


def test_every_probe_of_a_batch_counts(rig: Rig) -> None:
    harness = rig(probes=3)
    half_open(harness, 9)
    claims = harness.worker.queue.claim("steps", 9)
    assert len(claims) == 3

    settled = harness.worker.queue.settle([Completed(one, "1") for one in claims], "steps", 0)
    Breakers(harness.engine).succeeded(settled.passed)

    assert state(harness) is BreakerState.CLOSED


def test_a_probe_whose_result_was_parked_counts_when_it_is_applied(rig: Rig) -> None:
    harness = rig()
    [workflow] = half_open(harness)
    [claim] = harness.worker.queue.claim("steps", 1)
    with harness.database.begin() as connection:
        lock_workflow(connection, workflow)
        harness.worker.queue.settle([Completed(claim, "1")], "steps", 0)

    assert harness.sweep_rescue().parked == 1

    assert state(harness) is BreakerState.CLOSED


def test_a_probe_whose_result_was_parked_counts_for_the_drain_too(rig: Rig) -> None:
    harness = rig()
    [workflow] = half_open(harness)

    with ExitStack() as held:
        connection = held.enter_context(harness.database.begin())
        lock_workflow(connection, workflow)
        settle = harness.worker.queue.settle

        def settle_and_let_go(*args: Any) -> Any:
            settled = settle(*args)
            held.close()
            return settled

        harness.worker.queue.settle = settle_and_let_go  # type: ignore[method-assign]
        harness.play()
        harness.drain()

    assert harness.workflow(workflow).state == "complete"
    assert state(harness) is BreakerState.CLOSED


@pytest.mark.parametrize("end", ["complete", "resolve", "cancel", "interrupt", "give back", "lose"])
def test_a_probe_that_ends_without_an_answer_makes_room_for_another(rig: Rig, end: str) -> None:
    harness = rig()
    half_open(harness, 2)
    [claim] = harness.worker.queue.claim("steps", 9)
    who = Who("ann")
    match end:
        case "complete":
            operate.complete_step(harness.engine, claim.workflow_id, "a", who, result=1)
        case "resolve":
            operate.resolve_step(harness.engine, claim.workflow_id, "a", who)
        case "cancel":
            operate.cancel(harness.engine, claim.workflow_id, who)
        case "interrupt":
            harness.worker.queue.interrupt([(claim.workflow_id, "a", 1)])
        case "give back":
            harness.worker.queue.give_back([claim])
        case "lose":
            harness.advance(3000)
            assert harness.sweep_rescue().attempts == 1
    harness.play()

    harness.run_until_quiet()

    assert state(harness) is BreakerState.CLOSED


@pytest.mark.parametrize("why", ["it is paused", "nobody hears it", "it fell silent"])
def test_no_probe_is_lost_in_a_queue_in_which_nobody_works(rig: Rig, why: str) -> None:
    harness = rig()
    afar = harness.new_worker("afar", hostname="afar@test")
    open_breaker(harness.engine, "h", by="ann", seconds=30)
    waiting = harness.submit_many("t/afar", range(2))
    harness.sweep_ring()
    harness.submit("t/one")
    ran = harness.play()
    if why == "it is paused":
        pause_queue(harness.engine, "afar", by="ann")
    harness.advance(31)
    if why != "nobody hears it":
        afar.beat()
    if why == "it fell silent":
        harness.sweep_ring()
        assert harness.drain().claimed == 0, "the oldest is the probe, and it is afar"
        harness.advance(31)

    harness.sweep_ring()

    assert harness.drain().claimed == 1
    assert (ran, state(harness)) == (["a"], BreakerState.CLOSED)
    assert {harness.step(one, "a").attempt for one in waiting} == {0}


def test_the_most_urgent_step_is_not_used_up_as_probe(rig: Rig) -> None:
    harness = rig(failures=3)
    trip(harness)
    urgent = harness.submit("t/one", 99, priority=9)
    harness.submit_many("t/one", range(20))
    harness.run_until_quiet()

    for _ in range(8):
        harness.advance(600)
        harness.run_until_quiet()

    assert harness.step(urgent, "a").attempt <= 1, "others were there that had not been tried"


# Rows between two moves


def test_what_is_given_back_after_it_opened_again_is_not_claimed(rig: Rig) -> None:
    harness = rig()
    half_open(harness, 2)
    [claim] = harness.worker.queue.claim("steps", 9)

    open_breaker(harness.engine, "h", by="ann")
    harness.worker.queue.give_back([claim])

    assert harness.worker.queue.claim("steps", 9) == []
    harness.sweep_ring()
    assert standing(harness).held == 2


def test_nothing_is_held_before_it_was_enqueued(database: Database) -> None:
    """The moves of a step are ordered by their instants: the sweep's must be of after it saw the step."""
    harness = Harness(database, PostgresClock(), settings=settings_for(breaker=TRIP))  # type: ignore[arg-type]
    harness.publish(ONE)
    template = harness.engine.templates.find("t/one").id
    open_breaker(harness.engine, "h", by="ann")

    with ThreadPoolExecutor(1) as beside:
        with database.begin() as other:
            other.exec_driver_sql("lock table remand.run_queue")
            sweep = beside.submit(store.hold_gated, database, harness.clock, 9)
            wait_for_lock(database)
            workflow = new_id()
            other.exec_driver_sql(
                "select remand.submit_v2(%s, array[%s]::uuid[], array['1']::jsonb[], array[null]::text[],"
                " array[5]::smallint[], 'test', 12)",
                (template, workflow),
            )
        held = sweep.result(10)

    assert held == 1
    assert harness.moves(workflow, "a") == ["enqueue", "hold"]


@pytest.mark.parametrize("what", ["start", "fail"])
def test_nothing_is_cancelled_before_what_the_person_waited_for(database: Database, what: str) -> None:
    """Who waits for a worker's rows has looked at the clock before the worker did."""
    harness = Harness(database, PostgresClock(), settings=settings_for())  # type: ignore[arg-type]
    harness.publish(ONE)
    workflow = harness.submit("t/one")
    worker = harness.worker
    claims = worker.queue.claim("steps", 1) if what == "fail" else []

    with ThreadPoolExecutor(1) as beside:
        with database.begin() as other:
            other.exec_driver_sql("select 1 from remand.run_queue for update")
            person = beside.submit(operate.cancel, harness.engine, workflow, Who("ann"))
            wait_for_lock(database)
            if claims:
                other.exec_driver_sql(
                    "select remand.fail_attempts(array[%s]::uuid[], array['a'], array[1],"
                    " array[%s]::uuid[], array['failed'], array['{}']::jsonb[], array['linear'],"
                    " array['retry.linear'], 'drain')",
                    (workflow, worker.id),
                )
            else:
                other.exec_driver_sql(
                    "select remand.claim_v2('steps', 1, %s, 1, 60, 60, 0, 5, 500000)", (worker.id,)
                )
        assert person.result(10).changed

    expected = ["enqueue", "start", *(["fail"] if claims else []), "cancel"]
    assert harness.moves(workflow, "a") == expected


@pytest.mark.parametrize("how", ["hold", "pass"])
def test_what_fail_fast_withdraws_is_free_of_its_breaker(rig: Rig, how: str) -> None:
    harness = rig(release_per_second=2)
    workflow = harness.submit("t/two")
    harness.play(a=always(ValueError("no")))
    claims = harness.worker.queue.claim("steps", 1)
    open_breaker(harness.engine, "h", by="ann")
    if how == "pass":
        close_breaker(harness.engine, "h", by="ann")
    gated = ("ready", "passed") if how == "pass" else ("waiting", "held")
    assert rows(harness) == [("claimed", None), gated]

    failure = capture(PermanentError("no"))
    one = claims[0]
    harness.worker.queue.fail(
        [EndedBadly(workflow, one.step, 1, harness.worker.id, "failed", failure, "never")], by="test"
    )
    harness.drain_failures("never")
    assert rows(harness) == []
    assert harness.workflow(workflow).state == "blocked_by_failures"

    operate.requeue_letter(harness.engine, harness.open_letter(workflow).id, Who("ann"))
    reset_breaker(harness.engine, "h", by="ann")
    harness.play()
    harness.run_until_quiet()

    assert harness.workflow(workflow).state == "complete"


def test_a_retry_that_waits_is_never_held_by_a_breaker_that_closed_meanwhile(rig: Rig) -> None:
    harness = rig(cool_down_seconds=100)
    ids = trip(harness)
    harness.advance(61)
    harness.sweep_ring()
    assert standing(harness).held == 3

    reset_breaker(harness.engine, "h", by="ann")
    harness.play()
    harness.run_until_quiet()

    assert {harness.workflow(one).state for one in ids} == {"complete"}


def test_who_opens_it_does_not_wait_for_rows_that_somebody_takes_away(rig: Rig) -> None:
    """A person who cancels holds the rows of a workflow, in another order: waiting would close a circle."""
    harness = rig()
    half_open(harness)

    with harness.database.begin() as other:
        other.exec_driver_sql("select 1 from remand.run_queue for update")
        opened = together(lambda: open_breaker(harness.engine, "h", by="ann"))

    assert values(opened)[0].to_state is BreakerState.OPEN


# Rate


def test_closing_it_again_and_again_lets_no_more_out(rig: Rig) -> None:
    harness = rig(release_per_second=2)
    open_breaker(harness.engine, "h", by="ann")
    harness.submit_many("t/one", range(30))
    harness.sweep_ring()

    for _ in range(5):
        close_breaker(harness.engine, "h", by="ann")

    assert standing(harness).passed == 2


def test_work_that_comes_faster_than_it_is_held_keeps_the_sweep_from_nothing(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = rig()
    open_breaker(harness.engine, "h", by="ann")
    monkeypatch.setattr(breakers, "HOLD_BATCH", 2)
    calls = 0
    hold_gated = store.hold_gated

    def ever_more(*args: Any) -> int:
        nonlocal calls
        calls += 1
        assert calls < 1000, "it holds back for ever"
        harness.submit_many("t/one", range(3))
        return hold_gated(*args)

    monkeypatch.setattr(store, "hold_gated", ever_more)

    ring(harness.engine)


def test_it_ends_its_release_only_when_all_is_held_that_is_ready(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = rig(release_per_second=2)
    open_breaker(harness.engine, "h", by="ann")
    monkeypatch.setattr(breakers, "HOLD_BATCH", 1)
    monkeypatch.setattr(breakers, "HOLD_ROUNDS", 1, raising=False)
    close_breaker(harness.engine, "h", by="ann")
    assert not standing(harness).breaker.is_gating
    open_breaker(harness.engine, "h", by="ann")
    harness.submit_many("t/one", range(20))

    close_breaker(harness.engine, "h", by="ann")

    assert standing(harness).breaker.is_gating
    assert len(harness.worker.queue.claim("steps", 99)) <= 2


# Counts


def test_attempts_count_for_the_second_in_which_they_ended(rig: Rig) -> None:
    harness = rig(failures=3)
    harness.play()
    seconds = 1000.0
    counter = AttemptCounter(
        harness.database, harness.engine.templates, harness.clock, seconds=lambda: seconds
    )
    harness.worker.executor._state.counter = counter
    harness.submit_many("t/one", range(50))
    harness.run_until_quiet()

    harness.advance(600)
    seconds += 600
    harness.play(a=always(RESET))
    harness.submit_many("t/one", range(3))
    harness.run_until_quiet()

    assert state(harness) is BreakerState.OPEN


# People


def test_an_operator_who_opens_it_while_it_trips_has_the_last_word(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = rig()
    lock = store.lock
    done = False

    def late(connection: Any, name: str, **more: Any) -> Any:
        nonlocal done
        found = lock(connection, name, **more)
        if not done:
            done = True
            with harness.database.begin() as other:
                spec, now = DEFAULT_BREAKER, harness.clock.now
                tripped = after_failures(None, "h", spec, attempts=99, failures=99, now=now)
                assert tripped is not None
                store.move(other, "h", tripped, by="remand", now=now)
        return found

    monkeypatch.setattr(store, "lock", late)

    open_breaker(harness.engine, "h", by="ann", reason="maintenance")

    known = standing(harness).breaker
    assert (known.by, known.probe_at) == ("ann", None)


# Budgets


def test_a_budget_puts_no_retry_off_beyond_retry_for(harness_with: Callable[..., Harness]) -> None:
    harness = harness_with(
        retry_budget={"enabled": True, "ratio": 0, "min_per_second": 0.1, "window_seconds": 10},
        retry={"retry_for_seconds": 120, "max_attempts": 3},
    )
    harness.publish(ONE)
    harness.play(a=fails(RESET))
    ids = harness.submit_many("t/one", range(30))

    harness.run_until_quiet()

    due = [harness.attempts(one)[0].due_at for one in ids]
    assert all(at is not None and at - harness.clock.now <= timedelta(seconds=120) for at in due)


def test_a_line_that_reaches_too_far_is_cut(harness_with: Callable[..., Harness]) -> None:
    harness = harness_with(retry_budget={"enabled": True, "max_delay_seconds": 100})
    harness.publish(ONE)
    harness.database.call(
        "insert into remand.retry_budgets values ('t', 'h', %s)", (harness.clock.now + timedelta(days=2),)
    )
    harness.play(a=fails(RESET))
    workflow = harness.submit("t/one")

    harness.run_until_quiet()

    due = harness.attempts(workflow)[0].due_at
    assert due is not None
    assert due - harness.clock.now <= timedelta(seconds=60 + 100)
