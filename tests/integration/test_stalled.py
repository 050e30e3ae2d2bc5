"""What waits for a worker that never comes, and what can never start, becomes a dead letter. Source: C1."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from app.engine.operate import Who, pause_workflow, requeue_letter, resolve_letter
from app.engine.pauses import pause_queue
from app.engine.sweeps.stalled import Swept, stalled
from remand.errors import RetryableError
from tests.support.engine import Harness
from tests.support.invariants import check_invariants
from tests.support.shapes import CHAIN, always, shape
from tests.support.threads import together, values

ANN = Who("ann", "there is a worker now")
DAY = 86_400.0
NOTHING = Swept(0, 0)


def sweep(harness: Harness) -> Swept:
    swept = stalled(harness.engine)
    check_invariants(harness.database)
    return swept


def far(harness: Harness, graph: Any = None) -> UUID:
    """A workflow whose step `far` is in a queue that nobody consumes."""
    harness.publish(shape("far", graph or {"far": ()}, each={"far": {"queue": "far"}}))
    return harness.submit("t/far")


def heard_once(harness: Harness, queue: str) -> None:
    harness.worker.beat()
    harness.database.call("update remand.workers set queues = queues || %s", ([queue],))


def test_a_step_that_no_worker_takes_gets_a_letter(harness: Harness) -> None:
    workflow = far(harness)
    harness.advance(DAY - 1)
    assert sweep(harness) == NOTHING
    harness.advance(1)

    assert sweep(harness) == Swept(1, 0)

    letter = harness.open_letter(workflow)
    assert (letter.reason, letter.queue, letter.attempts) == ("worker_unavailable", "far", 0)
    assert sweep(harness) == NOTHING
    requeue_letter(harness.engine, letter.id, ANN)
    assert sweep(harness) == NOTHING
    assert harness.step(workflow, "far").state == "enqueued"


def test_only_the_branch_that_nobody_takes_stands(harness: Harness) -> None:
    workflow = far(harness, {"far": (), "near": ()})
    harness.advance(DAY)

    assert sweep(harness) == Swept(1, 0)
    harness.play()
    harness.run_until_quiet()

    assert harness.states(workflow) == {"far": "error", "near": "complete"}
    assert harness.workflow(workflow).state == "blocked_by_failures"
    check_invariants(harness.database)


def test_a_queue_whose_worker_is_slow_or_was_seen_lately_is_left(harness: Harness) -> None:
    far(harness)
    heard_once(harness, "far")
    harness.advance(DAY)
    assert sweep(harness) == NOTHING
    harness.clock.advance(DAY - 1)  # its worker beats no longer

    assert sweep(harness) == NOTHING
    harness.clock.advance(1)
    assert sweep(harness) == Swept(1, 0)


def test_what_waits_in_a_paused_queue_is_left(harness: Harness) -> None:
    far(harness)
    pause_queue(harness.engine, "far", by="ann")
    harness.advance(DAY)

    assert sweep(harness) == NOTHING


def cycle(harness: Harness) -> UUID:
    """A chain in which a hand on the database let b wait for d, its own descendant."""
    harness.publish(shape("pay", CHAIN))
    workflow = harness.submit("t/pay")
    harness.database.call(
        "update remand.steps set depends_on = '{a,d}', open_parents = 2"
        " where workflow_id = %s and name = 'b'",
        (workflow,),
    )
    return workflow


def test_steps_that_wait_for_each_other_get_a_letter(harness: Harness) -> None:
    workflow = cycle(harness)
    assert stalled(harness.engine) == NOTHING
    harness.play()
    harness.run_until_quiet()

    assert sweep(harness) == Swept(0, 1)

    letter = harness.open_letter(workflow)
    assert (letter.reason, letter.step) == ("dependency_cycle_detected", "b")
    assert harness.workflow(workflow).state == "blocked_by_failures"
    assert sweep(harness) == NOTHING
    resolve_letter(harness.engine, letter.id, Who("ann", "done by hand"))
    harness.run_until_quiet()
    assert harness.workflow(workflow).state == "complete"


def test_a_workflow_none_of_whose_steps_is_a_root_gets_a_letter(harness: Harness) -> None:
    harness.publish(shape("pay", {"a": (), "b": "a"}))
    harness.database.call("update remand.template_steps set depends_on = '{b}' where name = 'a'")
    workflow = harness.submit("t/pay")

    assert stalled(harness.engine) == Swept(0, 1)

    assert harness.open_letter(workflow).reason == "dependency_cycle_detected"


def test_a_step_whose_place_in_the_queue_is_gone_gets_a_letter(harness: Harness) -> None:
    harness.publish(shape("pay", CHAIN))
    workflow = harness.submit("t/pay")
    harness.database.call("delete from remand.run_queue")

    assert sweep(harness) == Swept(0, 1)

    ran = harness.play()
    requeue_letter(harness.engine, harness.open_letter(workflow).id, ANN)
    harness.run_until_quiet()
    assert ran == ["a", "b", "c", "d"]
    check_invariants(harness.database)


def test_what_is_paused_or_waits_for_its_retry_is_left(harness: Harness) -> None:
    harness.publish(shape("pay", CHAIN))
    paused, waiting = harness.submit("t/pay"), harness.submit("t/pay")
    pause_workflow(harness.engine, paused, ANN)
    harness.play(a=always(RetryableError("busy")))
    harness.run_until_quiet()
    assert harness.workflow(waiting).state == "waiting_for_retry"

    assert sweep(harness) == NOTHING


def test_two_sweeps_at_once_share_the_work(harness: Harness) -> None:
    far(harness)
    harness.submit_many("t/far", range(20))
    harness.advance(DAY)

    swept = values(together(*[lambda: stalled(harness.engine, 5)] * 3))
    swept.append(stalled(harness.engine))

    assert sum(one.unheard for one in swept) == 21
    check_invariants(harness.database)
