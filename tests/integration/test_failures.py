from __future__ import annotations

import errno
from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

import pytest
from sqlalchemy.exc import DBAPIError

from remand import PermanentError, RateLimited, RetryableError
from remand.errors import StepTimeout
from remand_app.engine import dead_letters, operate
from remand_app.engine.fail import drain_failures
from remand_app.engine.operate import Who
from remand_app.store.database import Connection
from remand_app.store.failures import postpone_first
from remand_app.store.snapshots import read_snapshots
from tests.support.engine import Harness
from tests.support.invariants import check_invariants
from tests.support.refusals import refusing
from tests.support.shapes import CHAIN, always, fails, shape
from tests.support.threads import together, values

NETWORK = ConnectionResetError("reset by peer")


def failed_once(harness: Harness, error: BaseException, **top: object) -> UUID:
    """Let step a of a new workflow fail once, up to its retry queue."""
    harness.publish(shape("one", {"a": ()}, **top))
    harness.play(a=always(error))
    workflow_id = harness.submit("t/one")
    harness.drain()
    return workflow_id


@pytest.mark.parametrize("policy", ["exponential", "linear", "immediate", "never"])
def test_a_failure_goes_to_the_queue_of_its_policy(harness: Harness, policy: str) -> None:
    workflow_id = failed_once(harness, NETWORK, retry={"policies": {"network": policy}})

    step = harness.step(workflow_id, "a")
    assert step.state == "enqueued_as_error_for_orchestration"
    assert harness.database.call("select queue, phase from remand.run_queue") == [
        (f"retry.{policy}", "failed")
    ]
    assert f"retry.{policy}" in harness.bell.take()
    [attempt] = harness.attempts(workflow_id)
    assert (attempt.outcome, attempt.policy, attempt.decision) == ("failed", policy, None)
    assert attempt.failure is not None
    assert attempt.failure.error_class == "builtins.ConnectionResetError"
    assert "test_failures.py" in str(attempt.failure.traceback) or "shapes.py" in str(attempt.failure)


def test_another_queues_worker_leaves_the_failure_alone(harness: Harness) -> None:
    failed_once(harness, NETWORK, retry={"policies": {"network": "linear"}})

    for policy in ("exponential", "immediate", "never"):
        applied = harness.drain_failures(policy)
        assert (applied.retried, applied.dead) == (0, 0)


@pytest.mark.parametrize(
    ("policy", "waits"),
    [("exponential", [60, 120, 240]), ("linear", [300, 600, 900]), ("immediate", [0, 0, 0])],
)
def test_the_retry_is_due_when_the_policy_says(harness: Harness, policy: str, waits: list[int]) -> None:
    workflow_id = failed_once(harness, NETWORK, retry={"policies": {"network": policy}, "max_attempts": 4})

    for wait in waits:
        harness.drain_failures(policy)
        attempt = harness.attempts(workflow_id)[-1]
        assert (attempt.decision, attempt.due_at) == ("retry", harness.clock.now + timedelta(seconds=wait))
        if wait:
            assert harness.workflow(workflow_id).state == "waiting_for_retry"
            harness.advance(wait - 0.001)
            assert harness.sweep_ring().woken == 0
            harness.advance(0.001)
            assert harness.sweep_ring().woken == 1
        assert harness.states(workflow_id) == {"a": "enqueued"}
        assert harness.workflow(workflow_id).state == "steps_in_process"
        harness.drain()


def test_an_immediate_retry_rings_at_once(harness: Harness) -> None:
    failed_once(harness, NETWORK, retry={"policies": {"network": "immediate"}})
    harness.bell.take()

    harness.drain_failures("immediate")

    assert harness.bell.take() == ["steps"]


def test_a_never_retry_is_dead_at_once(harness: Harness) -> None:
    workflow_id = failed_once(harness, PermanentError("no such customer"))

    harness.drain_failures("never")

    assert harness.workflow(workflow_id).state == "blocked_by_failures"
    assert harness.states(workflow_id) == {"a": "error"}
    assert harness.open_letter(workflow_id).reason == "permanent_failure"


def test_no_retry_comes_before_the_instant_the_server_asked_for(harness: Harness) -> None:
    workflow_id = failed_once(harness, RateLimited("slow down", retry_after=1000))

    harness.run_until_quiet()

    due_at = harness.step(workflow_id, "a").due_at
    assert due_at == harness.clock.now + timedelta(seconds=1000)


def test_a_server_that_asks_for_a_day_sends_the_step_to_a_person(harness: Harness) -> None:
    workflow_id = failed_once(harness, RetryableError("come back tomorrow", retry_after=timedelta(days=1)))

    harness.run_until_quiet()

    letter = harness.open_letter(workflow_id)
    assert letter.reason == "permanent_failure"
    assert "86400 s" in letter.metadata["explanation"]


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_max_attempts_counts_every_execution(harness: Harness, limit: int) -> None:
    workflow_id = failed_once(harness, NETWORK, retry={"max_attempts": limit})

    workflow = harness.run_to_end(workflow_id)

    assert workflow.state == "blocked_by_failures"
    assert [one.decision for one in harness.attempts(workflow_id)] == ["retry"] * (limit - 1) + ["dead"]
    letter = harness.open_letter(workflow_id)
    assert (letter.reason, letter.attempts) == ("max_retries_exceeded", limit)


def test_a_step_that_is_not_retryable_runs_once(harness: Harness) -> None:
    workflow_id = failed_once(harness, NETWORK, retry={"retryable": False})

    harness.run_to_end(workflow_id)

    assert len(harness.attempts(workflow_id)) == 1
    assert "retryable: false" in harness.open_letter(workflow_id).metadata["explanation"]


REFUSED = ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")


@pytest.mark.parametrize(
    ("error", "attempts"), [(REFUSED, 3), (TimeoutError("Read timed out"), 1), (NETWORK, 1)]
)
def test_only_what_sent_nothing_runs_again(harness: Harness, error: BaseException, attempts: int) -> None:
    workflow_id = failed_once(harness, error, retry={"retryable": "connection_only"})

    harness.run_to_end(workflow_id)

    assert len(harness.attempts(workflow_id)) == attempts
    explanation = harness.open_letter(workflow_id).metadata["explanation"]
    assert ("connection_only" in explanation) == (attempts == 1)


def test_a_steps_retry_rules_lie_over_its_templates_over_the_settings(harness_with) -> None:
    harness = harness_with(retry={"max_attempts": 7, "exponential": {"base_seconds": 7}})
    harness.publish(
        shape(
            "three",
            {"a": (), "b": (), "c": ()},
            retry={"exponential": {"factor": 3}, "policies": {"network": "linear"}},
            each={
                "b": {"retry": {"policies": {"network": "exponential"}}},
                "c": {"retry": {"max_attempts": 1}},
            },
        )
    )
    harness.play(**dict.fromkeys("abc", always(NETWORK)))
    workflow_id = harness.submit("t/three")

    harness.run_to_end(workflow_id)

    assert {name: harness.step(workflow_id, name).failures for name in "abc"} == {"a": 7, "b": 7, "c": 1}
    assert {one.policy for one in harness.attempts(workflow_id, "a")} == {"linear"}
    second = harness.attempts(workflow_id, "b")[1]
    assert second.due_at is not None
    assert second.due_at - second.decided_at == timedelta(seconds=21)


def test_a_missing_handler_is_a_failure_of_its_step_alone(harness: Harness) -> None:
    harness.publish(shape("one", {"a": ()}))
    workflow_id = harness.submit("t/one")

    harness.run_until_quiet()

    letter = harness.open_letter(workflow_id)
    assert letter.error_class == "remand_app.domain.errors.HandlerNotFound"
    assert "'h'" in letter.error_message
    harness.play()
    assert harness.run_to_end(workflow_id).state == "blocked_by_failures"


def test_a_timeout_is_counted_as_a_failure(harness: Harness) -> None:
    workflow_id = failed_once(harness, StepTimeout("the step ran longer than its timeout"))

    step = harness.step(workflow_id, "a")
    assert (step.failures, step.lost_attempts) == (1, 0)
    assert [one.outcome for one in harness.attempts(workflow_id)] == ["timed_out"]
    assert harness.run_to_end(workflow_id).state == "blocked_by_failures"
    assert len(harness.attempts(workflow_id)) == 3


def test_a_step_beyond_its_timeout_is_interrupted(harness: Harness) -> None:
    def spin(ctx: object) -> None:
        while True:
            pass

    harness.publish(shape("one", {"a": ()}, each={"a": {"timeout_seconds": 0.05}}))
    harness.play(a=spin)
    workflow_id = harness.submit("t/one")

    harness.drain()

    assert [one.outcome for one in harness.attempts(workflow_id)] == ["timed_out"]


def test_a_failure_of_an_old_attempt_or_another_worker_is_refused(harness: Harness) -> None:
    from remand.failure import capture
    from remand_app.engine.run import ended_badly

    harness.publish(shape("one", {"a": ()}))
    workflow_id = harness.submit("t/one")
    queue = harness.worker.queue
    [old] = queue.claim("steps", 1)
    queue.interrupt([(old.workflow_id, "a", 1)])
    [new] = queue.claim("steps", 1)
    failure = capture(NETWORK)

    assert queue.fail([ended_badly(old, queue, failure, "failed")], by="test") == set()
    assert queue.fail([ended_badly(new, harness.new_worker().queue, failure, "failed")], by="test") == set()
    assert queue.fail([ended_badly(new, queue, failure, "failed")], by="test") == {
        (new.workflow_id, new.step)
    }
    assert queue.fail([ended_badly(new, queue, failure, "failed")], by="test") == set()

    assert harness.step(workflow_id, "a").failures == 1


def test_two_workers_of_a_retry_queue_share_its_failures(harness: Harness) -> None:
    harness.publish(shape("one", {"a": ()}))
    harness.play(a=always(PermanentError("no")))
    ids = harness.submit_many("t/one", range(60))
    harness.drain()

    ends = values(
        together(
            *(lambda: drain_failures(harness.engine, "retry.never", batch=5) for _ in range(3)),
        )
    )
    harness.run_until_quiet()

    assert sum(end.dead for end in ends) <= 60
    assert all(len(harness.letters(one)) == 1 for one in ids)


def test_a_failure_whose_workflow_is_locked_is_decided_later(harness: Harness) -> None:
    workflow_id = failed_once(harness, PermanentError("no"))
    with harness.database.begin() as connection:
        connection.exec_driver_sql("select 1 from remand.workflows for update")
        assert harness.drain_failures("never").dead == 0

    assert harness.sweep_ring().queues == ("retry.never",)
    harness.run_until_quiet()
    assert harness.workflow(workflow_id).state == "blocked_by_failures"


def test_a_sibling_goes_on_and_its_descendants_too(harness: Harness) -> None:
    graph = {
        "bad": (),
        "after_bad": ["bad"],
        "good": (),
        "after_good": ["good"],
        "join": ["after_bad", "good"],
    }
    harness.publish(shape("branches", graph))
    harness.play(bad=always(PermanentError("no")))
    workflow_id = harness.submit("t/branches")

    harness.run_until_quiet()

    assert harness.states(workflow_id) == {
        "bad": "error",
        "after_bad": "pending",
        "good": "complete",
        "after_good": "complete",
        "join": "pending",
    }
    assert harness.workflow(workflow_id).state == "blocked_by_failures"


def test_a_workflow_is_in_process_while_a_branch_lives_and_blocked_after_it(harness: Harness) -> None:
    harness.publish(shape("two", {"bad": (), "slow": ()}, each={"slow": {"queue": "slow"}}))
    harness.play(bad=always(PermanentError("no")))
    workflow_id = harness.submit("t/two")
    harness.drain()
    harness.drain_failures("never")

    assert harness.workflow(workflow_id).state == "steps_in_process"
    check_invariants(harness.database)
    harness.drain("slow")

    assert harness.workflow(workflow_id).state == "blocked_by_failures"
    assert len(harness.letters(workflow_id)) == 1


def test_a_retry_beside_a_dead_step_keeps_the_workflow_waiting(harness: Harness) -> None:
    harness.publish(shape("two", {"bad": (), "again": ()}))
    harness.play(bad=always(PermanentError("no")), again=fails(NETWORK))
    workflow_id = harness.submit("t/two")

    harness.run_until_quiet()
    assert harness.workflow(workflow_id).state == "waiting_for_retry"
    harness.run_to_end(workflow_id)

    assert harness.workflow(workflow_id).state == "blocked_by_failures"
    assert harness.states(workflow_id) == {"bad": "error", "again": "complete"}


def fast(harness: Harness) -> UUID:
    """A workflow that fails fast: bad is dead, run runs, wait waits for its retry, next is enqueued."""
    graph = {"bad": (), "run": (), "wait": (), "next": (), "end": ["bad", "run", "wait", "next"]}
    queues = {name: {"queue": name} for name in ("bad", "run", "wait", "next")}
    harness.publish(shape("fast", graph, on_failure="fail_fast", each=queues))
    harness.play(bad=fails(PermanentError("no")), wait=fails(NETWORK), run=fails(NETWORK))
    workflow_id = harness.submit("t/fast")
    harness.drain("wait")
    harness.drain_failures("exponential")
    return workflow_id


def test_fail_fast_withdraws_what_has_not_started(harness: Harness) -> None:
    workflow_id = fast(harness)
    [running] = harness.worker.queue.claim("run", 1)
    harness.drain("bad")
    harness.drain_failures("never")

    states = harness.states(workflow_id)
    assert states == {
        "bad": "error", "run": "in_progress", "wait": "pending", "next": "pending", "end": "pending",
    }  # fmt: skip
    workflow = harness.workflow(workflow_id)
    assert (workflow.state, workflow.hold) == ("steps_in_process", "fail_fast")
    assert harness.moves(workflow_id, "next") == ["enqueue", "withdraw"]
    harness.worker.queue.give_back([running])


@pytest.mark.parametrize("how", ["given back", "interrupted"])
def test_fail_fast_holds_a_claim_that_comes_back_until_somebody_decides(harness: Harness, how: str) -> None:
    workflow_id = fast(harness)
    queue = harness.worker.queue
    [claim] = queue.claim("run", 1)
    harness.drain("bad")
    harness.drain_failures("never")

    if how == "given back":
        queue.give_back([claim])
    else:
        queue.interrupt([(claim.workflow_id, claim.step, claim.attempt)])

    assert harness.states(workflow_id)["run"] == "pending"
    assert queue.claim("run", 1) == []
    assert harness.moves(workflow_id, "run")[-1] == "withdraw"
    who = Who("ann", "seen to")
    operate.requeue_letter(harness.engine, harness.open_letter(workflow_id).id, who)
    assert harness.states(workflow_id)["run"] == "enqueued"


def test_fail_fast_lets_a_running_step_end_but_starts_none_after_it(harness: Harness) -> None:
    graph = {"bad": (), "run": (), "after": ["run"]}
    harness.publish(shape("fast", graph, on_failure="fail_fast", each={"run": {"queue": "run"}}))
    harness.play(bad=fails(PermanentError("no")))
    workflow_id = harness.submit("t/fast")
    [running] = harness.worker.queue.claim("run", 1)
    harness.drain()
    harness.drain_failures("never")
    from remand_app.store.claims import Completed

    settled = harness.worker.queue.settle([Completed(running, "1")], "steps", 5)

    assert (settled.counted, settled.claims, settled.ring) == (1, [], [])
    assert harness.states(workflow_id) == {"bad": "error", "run": "complete", "after": "pending"}
    assert harness.workflow(workflow_id).state == "blocked_by_failures"


def test_fail_fast_retries_nothing_until_somebody_decides(harness: Harness) -> None:
    harness.publish(
        shape("fast", {"bad": (), "run": ()}, on_failure="fail_fast", each={"run": {"queue": "run"}})
    )
    harness.play(bad=fails(PermanentError("no")))
    workflow_id = harness.submit("t/fast")
    harness.worker.queue.claim("run", 1)
    harness.drain()
    harness.drain_failures("never")
    harness.clock.advance(days=1)

    harness.run_until_quiet()

    assert harness.states(workflow_id) == {"bad": "error", "run": "pending"}
    assert harness.workflow(workflow_id).state == "blocked_by_failures"


def test_the_good_branches_of_a_failed_chain_stay_done(harness: Harness) -> None:
    harness.publish(shape("chain", CHAIN))
    harness.play(c=fails(PermanentError("no"), PermanentError("still no")))
    workflow_id = harness.submit("t/chain")
    harness.run_until_quiet()

    assert harness.states(workflow_id) == {"a": "complete", "b": "complete", "c": "error", "d": "pending"}


def test_a_failure_that_nobody_can_decide_on_is_a_letter_and_holds_up_no_other(harness: Harness) -> None:
    harness.publish(shape("one", {"a": ()}))
    harness.play(a=always(PermanentError("no")))
    broken, *others = harness.submit_many("t/one", range(3))
    harness.drain()
    unread = "update remand.steps set failure = failure %s where workflow_id = %%s"
    harness.database.call(unread % "- 'classification'", (broken,))

    harness.drain_failures("never")

    assert [harness.states(one) for one in (broken, *others)] == [{"a": "error"}] * 3
    letter = harness.open_letter(broken)
    assert (letter.error_class, letter.error_message) == ("remand.errors.PermanentError", "no")
    assert "could not be decided: KeyError" in str(letter.metadata["explanation"])


def test_a_failure_that_cannot_even_be_set_aside_is_put_off(harness: Harness) -> None:
    harness.publish(shape("one", {"a": ()}))
    harness.play(a=always(PermanentError("no")))
    broken, *others = harness.submit_many("t/one", range(3))
    harness.drain()
    refused = refusing(harness.database, "insert on remand.dead_letters", broken)

    with refused, pytest.raises(DBAPIError, match="no such luck"):
        harness.drain_failures("never")
    assert [harness.states(one) for one in others] == [{"a": "error"}] * 2
    assert harness.states(broken) == {"a": "enqueued_as_error_for_orchestration"}

    harness.advance(61)
    harness.drain_failures("never")
    assert harness.states(broken) == {"a": "error"}


@pytest.mark.parametrize("password", ["", '"password": 1, '], ids=["plain", "with something to mask"])
def test_a_number_that_python_cannot_read_keeps_no_letter_from_being_opened_and_shown(
    harness: Harness, password: str
) -> None:
    harness.publish(shape("one", {"a": ()}))
    harness.play(a=always(PermanentError("no")))
    odd, *others = harness.submit_many("t/one", range(3))
    harness.drain()
    value = f"('{{{password}\"n\": 1' || repeat('0', 5000) || '}}')::jsonb"
    harness.database.call(f"update remand.workflows set input = {value} where id = %s", (odd,))

    harness.drain_failures("never")

    assert [harness.states(one) for one in (odd, *others)] == [{"a": "error"}] * 3
    assert harness.open_letter(odd).snapshot["workflow"]["input"]["n"] == "[a number of 5001 digits]"
    assert harness.workflow(odd).input["n"] == "[a number of 5001 digits]"


def test_a_workflow_of_which_no_snapshot_can_be_taken_has_a_letter(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness.publish(shape("one", {"a": ()}))
    harness.play(a=always(PermanentError("no")))
    odd, *others = harness.submit_many("t/one", range(3))
    harness.drain()

    def read(connection: Connection, ids: Sequence[UUID], most: int) -> dict[UUID, str]:
        if odd in ids:
            connection.exec_driver_sql("select 1/0")
        return read_snapshots(connection, ids, most)

    monkeypatch.setattr(dead_letters, "read_snapshots", read)
    harness.drain_failures("never")

    assert [harness.states(one) for one in (odd, *others)] == [{"a": "error"}] * 3
    assert harness.open_letter(odd).snapshot["left_out"][0].startswith("everything: DataError")
    assert harness.open_letter(others[0]).snapshot["left_out"] == []


def test_one_failure_alone_is_put_off_however_postgres_plans_it(harness: Harness) -> None:
    harness.publish(shape("one", {"a": ()}))
    harness.play(a=always(PermanentError("no")))
    first = harness.submit("t/one")
    # What it takes for a single row it scans, and looks for each row whether that is the first.
    harness.database.call("analyze remand.run_queue")
    harness.submit_many("t/one", range(2))
    harness.drain()
    later = harness.clock.now + timedelta(minutes=1)

    with harness.database.begin() as connection:
        assert postpone_first(connection, "retry.never", until=later) == (first, "a")

    put_off = harness.database.call("select workflow_id from remand.run_queue where due_at = %s", (later,))
    assert put_off == [(first,)]
