"""What can never start becomes a dead letter. Source: C1."""

from __future__ import annotations

from uuid import UUID

from remand.errors import RetryableError
from remand_app.engine.operate import Who, pause_workflow, requeue_letter, resolve_letter
from remand_app.engine.sweeps.never_ready import stalled
from tests.support.engine import Harness
from tests.support.invariants import check_invariants
from tests.support.shapes import CHAIN, always, shape
from tests.support.threads import together, values

ANN = Who("ann", "there is a worker now")


def sweep(harness: Harness) -> int:
    swept = stalled(harness.engine)
    check_invariants(harness.database)
    return swept


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
    assert stalled(harness.engine) == 0
    harness.play()
    harness.run_until_quiet()

    assert sweep(harness) == 1

    letter = harness.open_letter(workflow)
    assert (letter.reason, letter.step) == ("dependency_cycle_detected", "b")
    assert harness.workflow(workflow).state == "blocked_by_failures"
    assert sweep(harness) == 0
    resolve_letter(harness.engine, letter.id, Who("ann", "done by hand"))
    harness.run_until_quiet()
    assert harness.workflow(workflow).state == "complete"


def test_a_workflow_none_of_whose_steps_is_a_root_gets_a_letter(harness: Harness) -> None:
    harness.publish(shape("pay", {"a": (), "b": "a"}))
    harness.database.call("update remand.template_steps set depends_on = '{b}' where name = 'a'")
    workflow = harness.submit("t/pay")

    assert stalled(harness.engine) == 1

    assert harness.open_letter(workflow).reason == "dependency_cycle_detected"


def test_a_step_whose_place_in_the_queue_is_gone_gets_a_letter(harness: Harness) -> None:
    harness.publish(shape("pay", CHAIN))
    workflow = harness.submit("t/pay")
    harness.database.call("delete from remand.run_queue")

    assert sweep(harness) == 1

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

    assert sweep(harness) == 0


def test_two_sweeps_at_once_share_the_work(harness: Harness) -> None:
    harness.publish(shape("pay", CHAIN))
    harness.submit_many("t/pay", range(21))
    harness.database.call("delete from remand.run_queue")

    swept = values(together(*[lambda: stalled(harness.engine, 5)] * 3))
    swept.append(stalled(harness.engine))

    assert sum(swept) == 21
    check_invariants(harness.database)
