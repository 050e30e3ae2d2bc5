from __future__ import annotations

import dataclasses
import os
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from remand.handler import StepContext
from remand_app.domain.errors import ValueRefused
from remand_app.engine.operate import Who, cancel, resolve_step
from remand_app.store.claims import Claim, Completed
from remand_app.store.ids import new_id
from remand_app.store.run_queue import RunQueue
from remand_app.store.workflows import lock_workflow
from tests.support.engine import Harness
from tests.support.invariants import check_invariants
from tests.support.shapes import CHAIN, DIAMOND, shape
from tests.support.threads import together, values


def done(*claims: Claim) -> list[Completed]:
    return [Completed(claim, f'"{claim.step}"') for claim in claims]


def test_a_chain_goes_on_in_the_settle_of_each_step(harness: Harness) -> None:
    harness.publish(shape("chain", CHAIN))
    workflow_id = harness.submit("t/chain")
    queue = harness.worker.queue
    claims = queue.claim("steps", 1)
    steps = []
    while claims:
        steps.append((claims[0].step, claims[0].parents, claims[0].attempt))
        claims = queue.settle(done(*claims), "steps", 1).claims

    assert steps == [("a", None, 1), ("b", {"a": "a"}, 1), ("c", {"b": "b"}, 1), ("d", {"c": "c"}, 1)]
    assert harness.workflow(workflow_id).state == "complete"
    assert harness.moves(workflow_id)[-2:] == ["step_settled", "all_steps_done"]
    assert harness.database.call("select 1 from remand.history") == []


def test_a_settled_step_rings_the_other_queues_that_got_work(harness: Harness) -> None:
    harness.publish(shape("fork", {"a": (), "b": "a", "c": "a"}, each={"b": {"queue": "other"}}))
    harness.submit("t/fork")
    queue = harness.worker.queue

    settled = queue.settle(done(*queue.claim("steps", 1)), "steps", 5)

    assert settled.ring == ["other"]
    assert [claim.step for claim in settled.claims] == ["c"]


def test_more_ready_steps_than_wanted_are_left_for_others(harness: Harness) -> None:
    harness.publish(shape("fan", {"a": (), **{f"f{n}": "a" for n in range(5)}}))
    harness.submit("t/fan")
    queue = harness.worker.queue

    settled = queue.settle(done(*queue.claim("steps", 1)), "steps", 2)

    assert (len(settled.claims), settled.ring) == (2, ["steps"])
    assert len(queue.claim("steps", 10)) == 3


def test_a_result_counts_only_from_the_worker_that_holds_the_claim(harness: Harness) -> None:
    harness.publish(shape("chain", CHAIN))
    workflow_id = harness.submit("t/chain")
    claims = harness.worker.queue.claim("steps", 1)

    refused = harness.new_worker().queue.settle(done(*claims), "steps", 5)

    assert (refused.counted, refused.claims, refused.parked) == (0, [], 0)
    assert harness.states(workflow_id)["a"] == "in_progress"


def test_a_result_of_an_old_attempt_is_refused(harness: Harness) -> None:
    harness.publish(shape("chain", CHAIN))
    workflow_id = harness.submit("t/chain")
    queue = harness.worker.queue
    [old] = queue.claim("steps", 1)
    queue.interrupt([(old.workflow_id, old.step, old.attempt)])
    [new] = queue.claim("steps", 1)

    assert queue.settle([Completed(old, '"old"')], "steps", 0).counted == 0
    assert queue.settle([Completed(new, '"new"')], "steps", 0).counted == 1

    assert harness.step(workflow_id, "a").result == "new"


def test_a_doubled_settle_counts_once(harness: Harness) -> None:
    harness.publish(shape("chain", CHAIN))
    workflow_id = harness.submit("t/chain")
    queue = harness.worker.queue
    claims = queue.claim("steps", 1)

    first = queue.settle(done(*claims), "steps", 0)
    second = queue.settle(done(*claims), "steps", 0)

    assert (first.counted, second.counted) == (1, 0)
    assert harness.workflow(workflow_id).open_steps == 3


def test_one_result_given_twice_in_a_batch_counts_once(harness: Harness) -> None:
    harness.publish(shape("chain", CHAIN))
    workflow_id = harness.submit("t/chain")
    queue = harness.worker.queue
    claims = queue.claim("steps", 1)

    assert queue.settle(done(*claims, *claims), "steps", 0).counted == 1

    assert harness.workflow(workflow_id).open_steps == 3


def test_a_result_of_a_step_nobody_knows_is_refused(harness: Harness) -> None:
    harness.publish(shape("chain", CHAIN))
    harness.submit("t/chain")
    [claim] = harness.worker.queue.claim("steps", 1)
    foreign = dataclasses.replace(claim, workflow_id=new_id())

    settled = harness.worker.queue.settle(done(foreign), "steps", 0)

    assert settled.counted == 0


def settle_each(queue: RunQueue, claims: list[Claim]) -> list[Claim]:
    ready: list[Claim] = []
    for claim in claims:
        ready += queue.settle(done(claim), "steps", 1).claims
    return ready


def test_both_parents_of_a_join_settled_at_once_start_it_once(harness: Harness) -> None:
    each = {"b": {"queue": "left"}, "c": {"queue": "right"}}
    harness.publish(shape("diamond", DIAMOND, each=each))
    ids = harness.submit_many("t/diamond", range(200))
    left, right = harness.new_worker().queue, harness.new_worker().queue
    left.settle(done(*left.claim("steps", 200)), "steps", 0)
    lefts, rights = (
        sorted(left.claim("left", 200), key=workflow_of),
        sorted(right.claim("right", 200), key=workflow_of),
    )

    ends = together(partial(settle_each, left, lefts), partial(settle_each, right, rights))
    joins = [claim for ready in values(ends) for claim in ready]
    while harness.sweep_rescue().parked:
        joins += harness.worker.queue.claim("steps", 500)

    assert sorted(claim.workflow_id for claim in joins) == sorted(ids)
    assert all(claim.parents == {"b": "b", "c": "c"} for claim in joins)


def workflow_of(claim: Claim) -> UUID:
    return claim.workflow_id


def test_a_contended_result_is_parked_and_settled_by_the_sweep(harness: Harness) -> None:
    harness.publish(shape("diamond", DIAMOND))
    workflow_id = harness.submit("t/diamond")
    queue = harness.worker.queue
    claims = queue.settle(done(*queue.claim("steps", 1)), "steps", 2).claims
    with harness.database.begin() as connection:
        lock_workflow(connection, workflow_id)
        settled = queue.settle(done(*claims), "steps", 5)
        while_locked = harness.sweep_rescue().parked

    assert (settled.parked, settled.counted, while_locked) == (2, 0, 0)
    assert set(harness.states(workflow_id).values()) == {"complete", "enqueued_for_orchestration", "pending"}
    check_invariants(harness.database)
    assert harness.sweep_rescue().parked == 2
    assert harness.bell.take()[-1] == "steps"
    [join] = queue.claim("steps", 5)
    assert join.parents == {"b": "b", "c": "c"}
    queue.settle(done(join), "steps", 1)
    assert harness.workflow(workflow_id).state == "complete"
    assert harness.moves(workflow_id, "b") == ["enqueue", "start", "park", "complete"]
    assert [one.outcome for one in harness.attempts(workflow_id, "b")] == ["complete"]


def test_only_the_contended_workflow_of_a_batch_is_parked(harness: Harness) -> None:
    harness.publish(shape("one", {"a": ()}))
    locked, free = harness.submit_many("t/one", [1, 2])
    queue = harness.worker.queue
    claims = queue.claim("steps", 2)
    with harness.database.begin() as connection:
        lock_workflow(connection, locked)
        settled = queue.settle(done(*claims), "steps", 0)

    assert (settled.parked, settled.counted) == (1, 1)
    assert harness.workflow(free).state == "complete"
    harness.sweep_rescue()
    assert harness.workflow(locked).state == "complete"


def test_a_parked_result_outlives_its_worker(harness: Harness) -> None:
    harness.publish(shape("chain", CHAIN))
    workflow_id = harness.submit("t/chain")
    claims = harness.worker.queue.claim("steps", 1)
    with harness.database.begin() as connection:
        lock_workflow(connection, workflow_id)
        harness.worker.queue.settle(done(*claims), "steps", 0)
    harness.clock.advance(days=1)

    rescued = harness.sweep_rescue()

    assert (rescued.attempts, rescued.parked, rescued.workers) == (0, 1, 1)
    assert harness.step(workflow_id, "a").result == "a"


def test_a_parked_result_of_a_workflow_that_was_cancelled_is_dropped(harness: Harness) -> None:
    harness.publish(shape("chain", CHAIN))
    workflow_id = harness.submit("t/chain")
    claims = harness.worker.queue.claim("steps", 1)
    with harness.database.begin() as connection:
        lock_workflow(connection, workflow_id)
        harness.worker.queue.settle(done(*claims), "steps", 0)

    cancel(harness.engine, workflow_id, Who("ann"))

    assert harness.sweep_rescue().parked == 0
    assert set(harness.states(workflow_id).values()) == {"cancelled"}


def test_a_join_finds_the_results_of_hundred_parents(harness: Harness) -> None:
    names = [f"f{n:03}" for n in range(100)]
    graph = {"a": (), **dict.fromkeys(names, "a"), "join": names, "left": ["join"], "right": ["join"]}
    harness.publish(
        shape("fan", graph, each={name: {"priority": 9 - n % 10} for n, name in enumerate(names)})
    )
    seen = []
    harness.play(join=lambda ctx: seen.append(dict(ctx.parents)), left=lambda ctx: dict(ctx.parents))
    workflow_id = harness.submit("t/fan")

    harness.run_until_quiet()

    assert seen == [{name: name for name in names}]
    assert harness.workflow(workflow_id).state == "complete"
    assert harness.step(workflow_id, "left").result == {"join": None}


def test_many_workers_settle_one_wide_workflow(harness: Harness) -> None:
    names = [f"f{n:02}" for n in range(60)]
    harness.publish(shape("fan", {**dict.fromkeys(names, ()), "join": names}))
    workflow_id = harness.submit("t/fan")
    queues = [harness.new_worker().queue for _ in range(4)]
    held = [queue.claim("steps", 15) for queue in queues]

    ends = together(
        *(partial(settle_each, queue, claims) for queue, claims in zip(queues, held, strict=True))
    )

    ready = [claim for claims in values(ends) for claim in claims]
    while harness.sweep_rescue().parked:
        ready += harness.worker.queue.claim("steps", 5)
    assert [claim.step for claim in ready] == ["join"]
    assert ready[0].parents == {name: name for name in names}
    assert harness.workflow(workflow_id).open_steps == 1


def test_steps_are_committed_alone_where_the_template_says_so(harness: Harness) -> None:
    harness.publish(shape("each", {"a": ()}, each={"a": {"commit": "each"}}))
    done_before: list[int] = []

    def part(ctx: StepContext) -> None:
        [(done_steps,)] = harness.database.call("select count(*) from remand.steps where state = 'complete'")
        done_before.append(done_steps)

    harness.play(a=part)
    harness.submit_many("t/each", range(10))

    harness.drain()

    assert done_before == list(range(10))


def test_children_see_none_of_a_parent_that_was_resolved_by_hand(harness: Harness) -> None:
    harness.publish(shape("chain", {"a": (), "b": "a"}))
    workflow_id = harness.submit("t/chain")
    harness.play(b=lambda ctx: dict(ctx.parents))

    resolve_step(harness.engine, workflow_id, "a", Who("ann"))
    harness.run_until_quiet()

    assert harness.step(workflow_id, "b").result == {"a": None}
    assert harness.workflow(workflow_id).state == "complete"


@pytest.mark.parametrize("queue", ["steps", "elsewhere"], ids=["settled", "claimed"])
def test_parents_results_too_large_to_come_with_the_claim_are_there_all_the_same(
    harness: Harness, queue: str
) -> None:
    """Together in one value of Postgres they would end at 256 MB and block the queue for everybody."""
    large = {name: os.urandom(150_000).hex() for name in "ab"}
    harness.publish(shape("wide", {"a": (), "b": (), "c": "ab"}, each={"c": {"queue": queue}}))
    seen: list[Any] = []
    harness.play(**large, c=lambda ctx: seen.append(ctx.parents))
    workflow_id = harness.submit("t/wide")

    harness.drain()
    harness.drain("elsewhere")

    assert harness.workflow(workflow_id).state == "complete"
    assert seen == [large]


def test_a_value_beyond_postgres_limits_is_refused_not_called_an_outage(harness: Harness) -> None:
    beyond = "select jsonb_agg(repeat('x', 1000000)) from generate_series(1, 270)"

    with pytest.raises(ValueRefused, match="exceeds the maximum"):
        harness.database.call(beyond)


def test_a_parked_result_is_forgotten_when_a_person_resolves_its_step(harness: Harness) -> None:
    harness.publish(shape("chain", CHAIN))
    workflow_id = harness.submit("t/chain")
    queue = harness.worker.queue
    claims = queue.claim("steps", 1)
    with harness.database.begin() as connection:
        lock_workflow(connection, workflow_id)
        queue.settle(done(*claims), "steps", 1)

    resolve_step(harness.engine, workflow_id, "a", Who("ann"))

    [child] = queue.claim("steps", 1)
    assert child.parents == {"a": None}
