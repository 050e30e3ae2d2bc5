from __future__ import annotations

import threading
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from remand_app.engine.sweeps import rescue as rescue_sweep
from remand_app.engine.sweeps.partitions import partitions
from remand_app.engine.sweeps.rescue import rescue
from remand_app.engine.sweeps.ring import ring
from remand_app.engine.worker_limits import limits_of
from remand_app.store import sweeping
from remand_app.store.claims import Claim, Completed
from remand_app.store.database import Database
from remand_app.store.ids import new_id
from remand_app.store.sweeping import Limits
from remand_app.store.tables import PARTITIONED
from remand_app.store.workers import Incarnation, WorkerHeartbeat
from tests.support.clock import NOON
from tests.support.engine import Harness, Worker, settings_for
from tests.support.shapes import CHAIN, always, fails, shape
from tests.support.threads import together, values

ONE = shape("one", {"a": ()})
RESET = ConnectionResetError("reset")


def claimed(harness: Harness, count: int = 1) -> tuple[Worker, list[Claim]]:
    """A worker that has died over its claims."""
    harness.publish(ONE)
    harness.submit_many("t/one", range(count))
    worker = harness.new_worker(hostname="dead@test")
    return worker, worker.queue.claim("steps", count)


# counts


def test_the_ring_sweep_forgets_counts_that_no_window_reaches(harness: Harness) -> None:
    harness.publish(ONE)
    harness.play(a=always(RESET))
    harness.submit("t/one")
    harness.run_until_quiet()
    kept = "select count(*), sum(attempts), sum(failures) from remand.traffic"
    assert harness.database.call(kept) == [(1, 1, 1)]

    harness.advance(59)
    harness.sweep_ring()
    assert harness.database.call(kept) == [(1, 1, 1)]
    harness.advance(120)
    harness.sweep_ring()

    assert harness.database.call(kept) == [(0, None, None)]


# rescue


def test_the_step_of_a_dead_worker_is_run_again(harness: Harness) -> None:
    _, [claim] = claimed(harness)
    harness.play()
    harness.advance(31)

    rescued = harness.sweep_rescue()
    harness.run_until_quiet()

    assert (rescued.attempts, rescued.workers) == (1, 1)
    workflow_id = claim.workflow_id
    assert harness.workflow(workflow_id).state == "complete"
    assert [one.outcome for one in harness.attempts(workflow_id)] == ["lost", "complete"]
    step = harness.step(workflow_id, "a")
    assert (step.failures, step.lost_attempts) == (0, 1)
    assert harness.moves(workflow_id, "a") == [
        "enqueue", "start", "fail", "schedule_retry", "retry", "start", "complete",
    ]  # fmt: skip


def test_a_heartbeat_keeps_the_step_whatever_its_age(harness: Harness) -> None:
    worker, [claim] = claimed(harness)
    for _ in range(50):
        harness.advance(20)
        worker.beat()
        assert harness.sweep_rescue().attempts == 0

    assert worker.queue.settle([Completed(claim, "1")], "steps", 0).counted == 1


def test_a_lease_that_ran_out_is_the_end_even_of_a_living_workers_claim(harness: Harness) -> None:
    worker, [claim] = claimed(harness)
    harness.advance(1800 + 40 + 1)
    worker.beat()

    assert harness.sweep_rescue().attempts == 1

    [attempt] = harness.attempts(claim.workflow_id)
    assert attempt.failure is not None
    assert "lease run out" in attempt.failure.message


def between(monkeypatch: pytest.MonkeyPatch, act: Any) -> None:
    """Let something happen after the sweep has looked and before it acts."""
    really = sweeping.find_orphans

    def find(*arguments: Any) -> list[sweeping.Orphan]:
        found = really(*arguments)
        if found:
            act()
        return found

    monkeypatch.setattr(sweeping, "find_orphans", find)


def test_a_step_that_ends_while_the_sweep_looks_stays_ended(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, [claim] = claimed(harness)
    harness.advance(31)
    between(monkeypatch, lambda: worker.queue.settle([Completed(claim, '"well"')], "steps", 0))
    harness.bell.take()

    assert harness.sweep_rescue().attempts == 0

    step = harness.step(claim.workflow_id, "a")
    assert (step.state, step.result, step.attempt, step.failure) == ("complete", "well", 1, None)
    assert harness.bell.take() == []


def test_a_step_that_another_worker_took_meanwhile_is_left_to_it(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, [claim] = claimed(harness)
    harness.advance(31)
    taken: list[Claim] = []

    def taken_over() -> None:
        worker.queue.interrupt([(claim.workflow_id, "a", 1)])
        taken.extend(harness.worker.queue.claim("steps", 1))

    between(monkeypatch, taken_over)

    assert harness.sweep_rescue().attempts == 0

    assert harness.worker.queue.settle([Completed(taken[0], "2")], "steps", 0).counted == 1
    assert harness.step(claim.workflow_id, "a").attempt == 2


def test_hundred_claims_of_living_workers_do_not_hide_the_one_that_is_lost(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rescue_sweep, "BATCH", 10)
    harness.publish(ONE)
    ids = harness.submit_many("t/one", range(101))
    harness.worker.queue.claim("steps", 100)
    dead = harness.new_worker(hostname="dead@test")
    dead.queue.claim("steps", 1)
    harness.advance(31)

    assert harness.sweep_rescue().attempts == 1
    assert len(ids) == 101


def test_more_lost_steps_than_a_batch_are_rescued_by_one_sweep(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rescue_sweep, "BATCH", 10)
    claimed(harness, 35)
    harness.advance(31)

    assert harness.sweep_rescue().attempts == 35


def test_a_worker_whose_row_was_removed_has_lost_its_steps(harness: Harness) -> None:
    _, [claim] = claimed(harness)
    harness.database.call("delete from remand.workers")

    assert harness.sweep_rescue().attempts == 1

    [attempt] = harness.attempts(claim.workflow_id)
    assert attempt.failure is not None
    assert "worker unknown is gone" in attempt.failure.message


def test_a_worker_that_came_back_under_its_name_does_not_hide_what_it_lost(harness: Harness) -> None:
    harness.publish(ONE)
    harness.submit("t/one")
    before = harness.new_worker(hostname="w1@host")
    before.queue.claim("steps", 1)
    harness.advance(31)
    after = harness.new_worker(hostname="w1@host")
    after.beat()

    assert harness.sweep_rescue().attempts == 1


def test_two_sweeps_at_once_take_each_step_back_once(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    claimed(harness, 100)
    harness.advance(31)
    both_have_looked = threading.Barrier(2)
    really = sweeping.find_orphans

    def find(*arguments: Any) -> list[sweeping.Orphan]:
        found = really(*arguments)
        if found:
            both_have_looked.wait(10)
        return found

    monkeypatch.setattr(sweeping, "find_orphans", find)
    ends = values(together(*(partial(rescue, harness.engine) for _ in range(2))))

    assert sum(end.attempts for end in ends) == 100
    assert harness.database.call("select count(*), max(attempt) from remand.attempts") == [(100, 1)]


def test_a_sweep_says_only_of_what_it_took_back_that_it_did(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, [claim] = claimed(harness)
    harness.advance(31)
    said: list[str] = []
    monkeypatch.setattr(rescue_sweep, "log", lambda event, **fields: said.append(event))
    between(monkeypatch, lambda: worker.queue.settle([Completed(claim, "1")], "steps", 0))

    harness.sweep_rescue()

    assert "attempt.rescued" not in said


def test_a_poison_step_is_dead_after_its_own_limit_while_others_go_on(harness: Harness) -> None:
    harness.publish(shape("one", {"a": ()}, retry={"max_attempts": 9, "lost_attempts": 2}))
    poison = harness.submit("t/one", priority=9)
    for _ in range(2):
        killer = harness.new_worker(hostname="killed@test")
        [claim] = killer.queue.claim("steps", 1)
        assert claim.workflow_id == poison
        harness.advance(31)
        harness.sweep_rescue()
        harness.drain_failures("immediate")
    harness.play()
    others = harness.submit_many("t/one", range(20))
    harness.run_until_quiet()

    letter = harness.open_letter(poison)
    assert (letter.reason, letter.attempts, letter.worker) == ("worker_lost", 2, "killed@test")
    assert {harness.workflow(one).state for one in others} == {"complete"}


def test_after_a_restart_of_the_server_nobody_is_declared_dead_at_once(harness: Harness) -> None:
    claimed(harness)
    harness.advance(31)
    patient = Limits(gone=3, silent=30, pause=1e9, away=60)

    alive = sweeping.heard_queues(harness.database, patient, harness.clock)
    orphans = sweeping.find_orphans(harness.database, harness.clock, patient, 10)

    assert ("steps" in alive, orphans) == (True, [])
    assert sweeping.mark_gone(harness.database, harness.clock, patient) == []


def test_the_lock_of_a_worker_keeps_it_alive_and_its_loss_is_seen_at_once(
    harness: Harness, database_url: str
) -> None:
    incarnation = Incarnation(new_id(), "w@test", 1, ["steps"], "prefork", 2, "test")
    pulse = WorkerHeartbeat(database_url, incarnation)
    pulse.beat()
    [(beat,)] = harness.database.call("select heartbeat_at from remand.workers")
    harness.clock.now = beat
    harness.clock.advance(10)
    limits = limits_of(settings_for())
    held = sweeping.heard_queues(harness.database, limits, harness.clock)

    pulse._connection.close()

    assert held == {"steps"}
    for _ in range(200):
        if not sweeping.heard_queues(harness.database, limits, harness.clock):
            break
    assert sweeping.heard_queues(harness.database, limits, harness.clock) == set()


def test_a_lock_is_no_sign_of_life_without_heartbeats(harness: Harness, database_url: str) -> None:
    pulse = WorkerHeartbeat(database_url, Incarnation(new_id(), "w@test", 1, ["steps"], "prefork", 2, "test"))
    pulse.beat()
    [(beat,)] = harness.database.call("select heartbeat_at from remand.workers")
    harness.clock.now = beat
    harness.clock.advance(31)

    assert sweeping.heard_queues(harness.database, limits_of(settings_for()), harness.clock) == set()
    pulse.stop()


def test_a_worker_found_gone_is_marked_once(harness: Harness) -> None:
    harness.new_worker(hostname="dead@test")
    harness.advance(31)

    assert (harness.sweep_rescue().workers, harness.sweep_rescue().workers) == (1, 0)


# ring


def test_a_lost_bell_is_rung_again(harness: Harness) -> None:
    harness.publish(shape("chain", CHAIN, each={"c": {"queue": "other"}}))
    ran = harness.play()
    harness.queues.append("other")
    workflow_id = harness.submit("t/chain")
    for _ in range(3):
        harness.bell.take()
        for queue in harness.sweep_ring().queues:
            harness.drain(queue)

    assert ran == ["a", "b", "c", "d"]
    assert harness.workflow(workflow_id).state == "complete"


def test_fifty_queued_steps_survive_an_emptied_broker(harness: Harness) -> None:
    harness.publish(ONE)
    ran = harness.play()
    harness.submit_many("t/one", range(50))
    harness.bell.take()

    harness.run_until_quiet()

    assert len(ran) == 50


def test_a_back_off_survives_workers_and_broker(harness: Harness) -> None:
    harness.publish(ONE)
    harness.play(a=fails(RESET))
    workflow_id = harness.submit("t/one")
    harness.drain()
    harness.drain_failures("exponential")
    harness.bell.take()
    again = Harness(harness.database, harness.clock, harness.bell)
    again.handlers = harness.handlers
    again.advance(3600)

    again.run_until_quiet()

    assert again.workflow(workflow_id).state == "complete"
    assert again.step(workflow_id, "a").attempt == 2


def test_a_bell_that_lies_in_the_broker_is_enough(harness: Harness) -> None:
    harness.publish(ONE)
    harness.submit("t/one")
    harness.bell.lying["steps"] = 1
    harness.bell.take()

    assert harness.sweep_ring().queues == ()
    harness.bell.lying.clear()
    assert harness.sweep_ring().queues == ("steps",)


def test_a_queue_without_a_living_worker_is_not_rung(harness: Harness) -> None:
    harness.publish(shape("one", {"a": ()}, each={"a": {"queue": "far"}}))
    harness.submit("t/one")
    assert harness.sweep_ring().queues == ()

    harness.new_worker("far")

    assert harness.sweep_ring().queues == ("far",)


def test_failures_that_nobody_heard_of_are_rung_for(harness: Harness) -> None:
    harness.publish(ONE)
    harness.play(a=always(RESET))
    harness.submit("t/one")
    harness.drain()
    harness.bell.take()

    assert harness.sweep_ring().queues == ("retry.exponential",)


def test_two_ring_sweeps_at_once_wake_each_retry_once(harness: Harness) -> None:
    harness.publish(ONE)
    harness.play(a=fails(RESET))
    ids = harness.submit_many("t/one", range(80))
    harness.run_until_quiet()
    harness.advance(3600)

    ends = values(together(*(partial(ring, harness.engine) for _ in range(3))))
    harness.run_until_quiet()

    assert sum(end.woken for end in ends) <= 80
    assert {harness.step(one, "a").attempt for one in ids} == {2}


def test_a_retry_of_a_locked_workflow_is_woken_by_the_next_sweep(harness: Harness) -> None:
    harness.publish(ONE)
    harness.play(a=fails(RESET))
    workflow_id = harness.submit("t/one")
    harness.run_until_quiet()
    harness.advance(3600)
    with harness.database.begin() as connection:
        connection.exec_driver_sql("select 1 from remand.workflows for update")
        assert harness.sweep_ring().woken == 0

    assert harness.sweep_ring().woken == 1
    harness.run_until_quiet()
    assert harness.workflow(workflow_id).state == "complete"


def test_many_queues_are_all_found(harness: Harness) -> None:
    names = [f"q{n}" for n in range(12)]
    harness.publish(shape("many", dict.fromkeys(names, ()), each={name: {"queue": name} for name in names}))
    harness.submit_many("t/many", range(3))

    assert sorted(sweeping.waiting_queues(harness.database)) == sorted(names)


# partitions


def partition_of(database: Database, workflow_id: UUID) -> str:
    [(name,)] = database.call(
        "select tableoid::regclass::text from remand.workflows where id = %s", (workflow_id,)
    )
    return str(name)


def test_the_coming_months_have_partitions(fresh_database: Database) -> None:
    harness = Harness(fresh_database)
    harness.clock.now = NOON.replace(year=2031, month=11, day=30)

    created = partitions(harness.engine)

    months = ["2031_11", "2031_12", "2032_01"]
    tables = ["workflows", "steps", "attempts", "history"]
    assert created == [f"{table}_{month}" for month in months for table in tables]
    assert partitions(harness.engine) == []


def uuid_of(month: str) -> UUID:
    """An id of a workflow of the middle of a month."""
    from datetime import UTC, datetime

    at = datetime.fromisoformat(f"{month}-15T00:00:00").replace(tzinfo=UTC)
    return UUID(int=(int(at.timestamp() * 1000) << 80) | (7 << 76) | (2 << 62) | (new_id().int & (2**62 - 1)))


@pytest.mark.usefixtures("ids_of_any_month")
def test_rows_that_fell_into_the_default_partition_are_moved_home(fresh_database: Database) -> None:
    harness = Harness(fresh_database)
    harness.publish(shape("chain", CHAIN))
    harness.play(b=fails(RESET))
    early = harness.submit("t/chain", id=uuid_of("2031-03"))
    other = harness.submit("t/chain", id=uuid_of("2033-01"))
    harness.run_until_quiet()
    assert partition_of(fresh_database, early) == "remand.workflows_default"
    counted = "select (select count(*) from remand.steps), (select count(*) from remand.attempts)"
    before = fresh_database.call(counted)
    real_now, harness.clock.now = harness.clock.now, NOON.replace(year=2031)

    partitions(harness.engine)

    assert partition_of(fresh_database, early) == "remand.workflows_2031_03"
    assert partition_of(fresh_database, other) == "remand.workflows_default"
    assert fresh_database.call(counted) == before
    harness.clock.now = real_now
    assert harness.run_to_end(early).state == "complete"


def test_two_partition_sweeps_at_once_share_the_work(fresh_database: Database) -> None:
    harness = Harness(fresh_database)
    harness.clock.now = NOON.replace(year=2031)

    ends = values(together(*(partial(partitions, harness.engine) for _ in range(3))))

    # Who makes which month is chance: each is made by one of them, whole.
    months = ("2031_03", "2031_04", "2031_05")
    assert sorted(name for end in ends for name in end) == sorted(
        f"{table}_{month}" for table in PARTITIONED for month in months
    )
    assert {len(end) % len(PARTITIONED) for end in ends} == {0}


@pytest.mark.usefixtures("ids_of_any_month")
def test_workflows_are_submitted_without_a_partition_for_their_month(fresh_database: Database) -> None:
    harness = Harness(fresh_database)
    harness.publish(shape("chain", CHAIN))
    harness.play()
    workflow_id = harness.submit("t/chain", id=uuid_of("2041-06"))

    assert harness.run_to_end(workflow_id).state == "complete"
