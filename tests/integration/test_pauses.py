from __future__ import annotations

import pytest

from remand_app.domain.errors import InputInvalid, QueueNotFound
from remand_app.domain.queues import COMMANDS, MAINTENANCE
from remand_app.engine.pauses import pause_queue, resume_queue
from remand_app.store.pauses import pauses
from tests.support.engine import Harness
from tests.support.shapes import CHAIN, always, shape

ONE = shape("one", {"a": ()})
RESET = ConnectionResetError("reset")


def test_nothing_is_claimed_from_a_paused_queue_and_nothing_is_lost(harness: Harness) -> None:
    harness.publish(ONE)
    ran = harness.play()
    pause_queue(harness.engine, "steps", by="ann", reason="deploy")

    workflow = harness.submit("t/one")
    harness.run_until_quiet()
    assert (ran, harness.states(workflow)) == ([], {"a": "enqueued"})

    resume_queue(harness.engine, "steps", by="ann")
    assert harness.bell.take() == ["steps"]
    harness.drain()
    assert harness.workflow(workflow).state == "complete"


def test_a_step_that_became_ready_meanwhile_waits_in_the_paused_queue(harness: Harness) -> None:
    harness.publish(shape("chain", CHAIN))
    ran = harness.play(a=lambda ctx: pause_queue(harness.engine, "steps", by="ann"))

    workflow = harness.submit("t/chain")
    harness.run_until_quiet()
    assert (ran, harness.states(workflow)["b"]) == (["a"], "enqueued")

    resume_queue(harness.engine, "steps", by="ann")
    harness.run_until_quiet()
    assert ran == ["a", "b", "c", "d"]


def test_another_queue_goes_on(harness: Harness) -> None:
    harness.publish(shape("fast", {"a": ()}, each={"a": {"queue": "fast"}}))
    harness.publish(ONE)
    harness.play()
    pause_queue(harness.engine, "steps", by="ann")

    slow, fast = harness.submit("t/one"), harness.submit("t/fast")
    harness.run_until_quiet()
    harness.drain("fast")

    assert (harness.workflow(slow).state, harness.workflow(fast).state) == ("steps_in_process", "complete")


@pytest.mark.parametrize(("policy", "error"), [("exponential", RESET), ("never", ValueError("wrong"))])
def test_failures_in_a_paused_retry_queue_are_decided_when_it_goes_on(
    harness: Harness, policy: str, error: Exception
) -> None:
    harness.publish(ONE)
    harness.play(a=always(error))
    pause_queue(harness.engine, f"retry.{policy}", by="ann")

    workflow = harness.submit("t/one")
    harness.run_until_quiet()
    assert harness.states(workflow) == {"a": "enqueued_as_error_for_orchestration"}

    resume_queue(harness.engine, f"retry.{policy}", by="ann")
    harness.run_until_quiet()
    assert harness.states(workflow) == {"a": "waiting_for_retry" if policy == "exponential" else "error"}


def test_a_paused_queue_is_not_rung_by_the_sweep(harness: Harness) -> None:
    harness.publish(ONE)
    harness.submit("t/one")
    harness.bell.take()
    assert harness.sweep_ring().queues == ("steps",)

    pause_queue(harness.engine, "steps", by="ann")

    assert harness.sweep_ring().queues == ()


def test_a_pause_is_set_once_and_says_who_and_why(harness: Harness) -> None:
    assert pause_queue(harness.engine, "steps", by="ann", reason="deploy")
    assert not pause_queue(harness.engine, "steps", by="bob", reason="other")

    [pause] = pauses(harness.database)
    assert (pause.queue, pause.by, pause.reason, pause.since) == (
        "steps",
        "ann",
        "deploy",
        harness.clock.now,
    )
    assert resume_queue(harness.engine, "steps", by="ann")
    assert not resume_queue(harness.engine, "steps", by="ann")


@pytest.mark.parametrize("queue", [MAINTENANCE, COMMANDS])
def test_the_queues_of_the_product_itself_cannot_be_paused(harness: Harness, queue: str) -> None:
    with pytest.raises(InputInvalid, match="cannot be paused"):
        pause_queue(harness.engine, queue, by="ann")


def test_an_unknown_queue_is_refused_with_a_guess(harness: Harness) -> None:
    with pytest.raises(QueueNotFound) as refused:
        pause_queue(harness.engine, "retry.exponental", by="ann")

    assert refused.value.hint == "did you mean 'retry.exponential'?"
