from __future__ import annotations

from functools import partial

from remand_app.store.claims import Claim
from remand_app.store.run_queue import RunQueue
from tests.support.engine import Harness
from tests.support.shapes import fails, shape
from tests.support.threads import together, values

ONE = shape("one", {"a": ()})


def claim_all(queue: RunQueue) -> list[Claim]:
    claims: list[Claim] = []
    while got := queue.claim("steps", 3):
        claims += got
    return claims


def test_workers_that_race_never_claim_a_step_twice(harness: Harness) -> None:
    harness.publish(ONE)
    wanted = harness.submit_many("t/one", [{"n": n} for n in range(120)])
    workers = [harness.new_worker() for _ in range(4)]

    claims = values(together(*(partial(claim_all, worker.queue) for worker in workers)))

    got = [claim.workflow_id for each in claims for claim in each]
    assert sorted(got) == sorted(wanted)
    assert {claim.attempt for each in claims for claim in each} == {1}


def test_a_step_that_another_transaction_holds_is_skipped_not_waited_for(harness: Harness) -> None:
    harness.publish(ONE)
    first, second = harness.submit_many("t/one", [1, 2])
    with harness.database.begin() as connection:
        held = connection.exec_driver_sql("select workflow_id from remand.run_queue limit 1 for update").one()

        claims = harness.worker.queue.claim("steps", 10)

    assert {claims[0].workflow_id, held[0]} == {first, second}
    assert len(claims) == 1


def test_a_claim_carries_what_its_handler_needs(harness: Harness) -> None:
    harness.publish(shape("one", {"a": ()}, each={"a": {"timeout_seconds": 5, "commit": "each"}}))
    workflow_id = harness.submit("t/one", {"x": 1})

    [claim] = harness.worker.queue.claim("steps", 1)

    assert (claim.workflow_id, claim.step, claim.attempt, claim.input) == (workflow_id, "a", 1, {"x": 1})
    assert (claim.handler, claim.timeout_seconds, claim.commit_each) == ("h", 5, True)
    assert (claim.lease_until - harness.clock.now).total_seconds() == 5 + 10 + 30
    [attempt] = harness.attempts(workflow_id)
    assert (attempt.outcome, attempt.worker) == ("running", harness.worker.id)


def test_giving_back_again_leaves_alone_what_was_claimed_since(harness: Harness) -> None:
    harness.publish(ONE)
    workflow_id = harness.submit("t/one")
    queue = harness.worker.queue
    first = queue.claim("steps", 1)
    # Its answer may be lost: it is asked for again.
    assert queue.give_back(first) == ["steps"]
    harness.clock.advance(seconds=1)
    [second] = queue.claim("steps", 1)

    assert queue.give_back(first) == []

    [attempt] = harness.attempts(workflow_id)
    assert (attempt.attempt, attempt.outcome) == (second.attempt, "running")
    assert queue.give_back([second]) == ["steps"]


def test_urgent_steps_come_first_then_those_that_were_due_first(harness: Harness) -> None:
    harness.publish(ONE)
    names = {}
    for name, priority in [("old", 5), ("low", 0), ("new", 5), ("high", 9)]:
        names[harness.submit("t/one", name, priority=priority)] = name
        harness.clock.advance(1)

    first = [names[harness.worker.queue.claim("steps", 1)[0].workflow_id] for _ in range(2)]
    rest = [names[claim.workflow_id] for claim in harness.worker.queue.claim("steps", 10)]

    assert first == ["high", "old"]
    assert rest == ["new", "low"]


def test_a_batch_comes_in_the_order_in_which_it_is_to_run(harness: Harness) -> None:
    harness.publish(ONE)
    priorities = [3, 9, 0, 5, 7, 1, 8, 2, 6, 4]
    for priority in priorities:
        harness.submit("t/one", priority, priority=priority)

    claims = harness.worker.queue.claim("steps", 50)

    assert [claim.input for claim in claims] == sorted(priorities, reverse=True)


def test_only_the_queue_that_was_asked_for_is_claimed(harness: Harness) -> None:
    harness.publish(shape("two", {"a": (), "b": ()}, each={"b": {"queue": "other"}}))
    harness.submit("t/two")

    assert [claim.step for claim in harness.worker.queue.claim("other", 10)] == ["b"]
    assert harness.worker.queue.claim("no such queue", 10) == []


def test_what_is_not_due_is_not_claimed(harness: Harness) -> None:
    harness.publish(ONE)
    harness.submit("t/one")
    harness.database.call("update remand.run_queue set due_at = due_at + interval '10 s'")

    assert harness.worker.queue.claim("steps", 10) == []
    harness.advance(10)
    assert len(harness.worker.queue.claim("steps", 10)) == 1


def test_a_suspect_is_claimed_alone(harness: Harness) -> None:
    harness.publish(ONE)
    suspect = harness.submit("t/one", priority=9)
    harness.submit_many("t/one", [1, 2, 3])
    harness.database.call("update remand.run_queue set suspect = true where workflow_id = %s", (suspect,))

    first = harness.worker.queue.claim("steps", 10)
    second = harness.worker.queue.claim("steps", 10)

    assert [claim.workflow_id for claim in first] == [suspect]
    assert len(second) == 3


def test_a_suspect_further_back_is_left_for_a_claim_of_its_own(harness: Harness) -> None:
    harness.publish(ONE)
    suspect = harness.submit("t/one", priority=1)
    harness.submit_many("t/one", [1, 2, 3])
    harness.database.call("update remand.run_queue set suspect = true where workflow_id = %s", (suspect,))

    first = harness.worker.queue.claim("steps", 10)
    second = harness.worker.queue.claim("steps", 10)

    assert suspect not in [claim.workflow_id for claim in first]
    assert len(first) == 3
    assert [claim.workflow_id for claim in second] == [suspect]


def test_claims_given_back_count_as_never_made(harness: Harness) -> None:
    harness.publish(ONE)
    workflow_id = harness.submit("t/one")
    queue = harness.worker.queue
    claims = queue.claim("steps", 1)

    assert queue.give_back(claims) == ["steps"]
    assert queue.give_back(claims) == []

    assert harness.attempts(workflow_id) == []
    assert [claim.attempt for claim in queue.claim("steps", 1)] == [1]


def test_a_worker_gives_back_only_what_it_holds(harness: Harness) -> None:
    harness.publish(ONE)
    harness.submit("t/one")
    claims = harness.worker.queue.claim("steps", 1)
    other = harness.new_worker()

    assert other.queue.give_back(claims) == []
    assert other.queue.give_back_unknown([]) == []
    assert other.queue.interrupt([(claims[0].workflow_id, "a", 1)]) == []


def test_claims_whose_answer_was_lost_are_given_back(harness: Harness) -> None:
    harness.publish(ONE)
    harness.submit_many("t/one", [1, 2, 3])
    queue = harness.worker.queue
    known = queue.claim("steps", 1)
    queue.claim("steps", 5)

    assert queue.give_back_unknown(known) == ["steps"]

    assert len(queue.claim("steps", 5)) == 2
    assert queue.settle([], "steps", 0).counted == 0


def test_an_interrupted_attempt_counts_neither_as_failed_nor_as_lost(harness: Harness) -> None:
    harness.publish(shape("one", {"a": ()}, retry={"max_attempts": 1, "lost_attempts": 1}))
    workflow_id = harness.submit("t/one")
    for attempt in range(1, 11):
        [claim] = harness.worker.queue.claim("steps", 1)
        assert harness.worker.queue.interrupt([(claim.workflow_id, "a", attempt)]) == ["steps"]

    step = harness.step(workflow_id, "a")
    assert (step.failures, step.lost_attempts, step.attempt) == (0, 0, 10)
    harness.play()
    harness.run_until_quiet()
    assert harness.workflow(workflow_id).state == "complete"
    assert [one.outcome for one in harness.attempts(workflow_id)] == ["interrupted"] * 10 + ["complete"]


def test_a_heartbeat_extends_the_lease_of_the_one_who_holds_it(harness: Harness) -> None:
    harness.publish(ONE)
    harness.submit("t/one")
    [claim] = harness.worker.queue.claim("steps", 1)
    harness.advance(100)

    assert harness.worker.queue.renew(claim)
    assert not harness.new_worker().queue.renew(claim)

    [(lease_until,)] = harness.database.call("select lease_until from remand.run_queue")
    assert (lease_until - harness.clock.now).total_seconds() == 1800 + 40


def test_a_checkpoint_is_there_in_the_next_attempt(harness: Harness) -> None:
    seen = []

    def part(ctx) -> int:
        seen.append(ctx.last_checkpoint)
        if ctx.attempt == 1:
            ctx.checkpoint({"done": 10})
            raise ConnectionResetError
        return ctx.last_checkpoint["done"]

    harness.publish(ONE)
    harness.play(a=part)
    workflow_id = harness.submit("t/one")

    harness.run_to_end(workflow_id)

    assert seen == [None, {"done": 10}]
    assert harness.step(workflow_id, "a").result == 10


def test_hundred_steps_that_fail_together_are_all_claimed_again(harness: Harness) -> None:
    harness.publish(shape("one", {"a": ()}, retry={"policies": {"network": "immediate"}}))
    harness.play(a=fails(ConnectionResetError()))
    ids = harness.submit_many("t/one", range(100))

    harness.run_until_quiet()

    assert {harness.workflow(one).state for one in ids} == {"complete"}
    assert {harness.step(one, "a").attempt for one in ids} == {2}
