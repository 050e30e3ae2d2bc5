"""Skip, restart, another queue, a checked result: what people do with steps. Source: C6."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from remand.errors import PermanentError
from remand_app.domain.errors import IllegalMove, InputInvalid, QueueNotFound, TemplateInvalid
from remand_app.engine import operate
from remand_app.engine.operate import Who
from remand_app.resources import audit
from tests.support.engine import Harness
from tests.support.invariants import check_invariants
from tests.support.shapes import CHAIN, DIAMOND, always, fails, shape

ANN = Who("ann", "looked into it")
NO = PermanentError("no")
BIG = {"type": "object", "required": ["n"], "properties": {"n": {"type": ["integer", "null"]}}}


def run(harness: Harness, graph: Any, *, template: dict[str, Any] | None = None, **steps: Any) -> UUID:
    harness.publish(shape("g", graph, **(template or {})))
    harness.play(**steps)
    workflow = harness.submit("t/g", {"n": 1})
    harness.run_until_quiet()
    return workflow


def test_skipping_a_step_skips_what_is_behind_it_alone(harness: Harness) -> None:
    workflow = run(harness, CHAIN, b=always(NO))

    decided = operate.skip_step(harness.engine, workflow, "b", ANN)

    assert harness.states(workflow) == {
        "a": "complete",
        "b": "resolved_manually",
        "c": "resolved_manually",
        "d": "resolved_manually",
    }
    assert (decided.after, harness.workflow(workflow).state) == ("resolved_manually", "complete")
    assert [one.status for one in harness.letters(workflow)] == ["manually_resolved"]
    assert harness.moves(workflow, "d") == ["skip"]
    check_invariants(harness.database)


def test_a_skipped_branch_does_not_block_its_join_nor_skips_it(harness: Harness) -> None:
    """The join runs when the other branch is done, and finds None for what was skipped."""
    seen: dict[str, Any] = {}
    workflow = run(harness, DIAMOND, b=always(NO), d=lambda ctx: seen.update(ctx.parents))

    operate.skip_step(harness.engine, workflow, "b", ANN)
    harness.run_until_quiet()

    assert harness.workflow(workflow).state == "complete"
    assert harness.states(workflow)["d"] == "complete"
    assert seen == {"b": None, "c": "c"}
    check_invariants(harness.database)


def test_a_join_waits_for_the_other_branch_that_was_retried_by_hand(harness: Harness) -> None:
    workflow = run(harness, DIAMOND, b=always(NO), c=fails(NO))

    operate.skip_step(harness.engine, workflow, "b", ANN)
    harness.run_until_quiet()
    assert harness.states(workflow)["d"] == "pending"
    check_invariants(harness.database)
    operate.retry_step(harness.engine, workflow, "c", ANN)
    harness.run_until_quiet()

    assert harness.workflow(workflow).state == "complete"
    check_invariants(harness.database)


def test_what_has_ended_is_not_skipped(harness: Harness) -> None:
    workflow = run(harness, CHAIN, b=always(NO))

    with pytest.raises(IllegalMove, match="'a' is complete"):
        operate.skip_step(harness.engine, workflow, "a", ANN)
    operate.skip_step(harness.engine, workflow, "c", ANN)
    with pytest.raises(IllegalMove, match="'c' is resolved_manually"):
        operate.skip_step(harness.engine, workflow, "c", ANN)
    check_invariants(harness.database)


def test_the_result_of_a_running_step_that_was_skipped_is_refused(harness: Harness) -> None:
    def skipped(ctx: Any) -> str:
        operate.skip_step(harness.engine, UUID(str(ctx.workflow_id)), "b", ANN)
        return "late"

    workflow = run(harness, CHAIN, b=skipped)

    assert harness.step(workflow, "b").result is None
    assert harness.workflow(workflow).state == "complete"
    check_invariants(harness.database)


def test_restarting_runs_a_step_and_all_behind_it_anew(harness: Harness) -> None:
    workflow = run(harness, CHAIN, c=fails(NO))
    assert harness.states(workflow)["b"] == "complete"

    decided = operate.restart_from(harness.engine, workflow, "b", ANN)

    assert (decided.before, decided.after) == ("complete", "enqueued")
    assert harness.states(workflow) == {"a": "complete", "b": "enqueued", "c": "pending", "d": "pending"}
    assert harness.step(workflow, "b").result is None
    assert [one.status for one in harness.letters(workflow)] == ["requeued"]
    check_invariants(harness.database)
    harness.run_until_quiet()
    assert harness.workflow(workflow).state == "complete"
    assert [one.outcome for one in harness.attempts(workflow, "b")] == ["complete", "complete"]
    check_invariants(harness.database)


def test_restarting_leaves_another_failure_and_its_letter(harness: Harness) -> None:
    workflow = run(harness, {"a": (), "b": "a", "x": ()}, b=always(NO), x=always(NO))

    operate.restart_from(harness.engine, workflow, "a", ANN)

    assert harness.states(workflow) == {"a": "enqueued", "b": "pending", "x": "error"}
    assert harness.open_letter(workflow)
    check_invariants(harness.database)


def test_a_workflow_that_was_given_up_is_taken_up_again_by_a_restart(harness: Harness) -> None:
    workflow = run(harness, CHAIN, c=fails(NO))
    operate.give_up_letter(harness.engine, harness.open_letter(workflow).id, ANN)

    operate.restart_from(harness.engine, workflow, "a", ANN)
    harness.run_until_quiet()

    assert harness.workflow(workflow).state == "complete"
    check_invariants(harness.database)


def test_steps_that_were_ended_by_hand_or_parked_can_be_restarted(harness: Harness) -> None:
    workflow = run(harness, CHAIN, b=always(NO), d=always(NO))
    operate.complete_step(harness.engine, workflow, "b", ANN, result=1)
    harness.run_until_quiet()

    harness.play()
    operate.restart_from(harness.engine, workflow, "b", ANN)
    harness.run_until_quiet()

    assert harness.workflow(workflow).state == "complete"
    assert harness.step(workflow, "b").result == "b"
    check_invariants(harness.database)


def test_a_restart_while_something_behind_it_runs_is_refused(harness: Harness) -> None:
    workflow = run(harness, CHAIN, b=fails(NO))
    operate.retry_step(harness.engine, workflow, "b", ANN)
    harness.worker.queue.claim("steps", 1)

    with pytest.raises(IllegalMove, match="cannot restart from step 'a': b"):
        operate.restart_from(harness.engine, workflow, "a", ANN)

    check_invariants(harness.database)


@pytest.mark.parametrize("step", ["c", "b"])
def test_what_has_not_run_is_not_restarted_nor_what_was_just_restarted(harness: Harness, step: str) -> None:
    workflow = run(harness, CHAIN, b=always(NO))
    if step == "b":
        operate.restart_from(harness.engine, workflow, "b", ANN)

    with pytest.raises(IllegalMove, match="nothing to run again yet"):
        operate.restart_from(harness.engine, workflow, step, ANN)

    check_invariants(harness.database)


def test_a_workflow_that_is_final_is_not_restarted(harness: Harness) -> None:
    workflow = run(harness, CHAIN)

    with pytest.raises(IllegalMove, match="it is complete; what has ended so is final"):
        operate.restart_from(harness.engine, workflow, "a", ANN)


def test_a_step_is_replayed_in_another_queue_and_its_own_stays_on_record(harness: Harness) -> None:
    harness.publish(shape("other", {"a": ()}, each={"a": {"queue": "big-machines"}}))
    workflow = run(harness, CHAIN, b=fails(NO))
    letter = harness.open_letter(workflow)

    operate.retry_step(harness.engine, workflow, "b", ANN, queue="big-machines", priority=9)

    check_invariants(harness.database)
    assert harness.bell.take() == ["big-machines"]
    assert harness.worker.queue.claim("steps", 1) == []
    harness.drain("big-machines")
    harness.run_until_quiet()
    assert harness.workflow(workflow).state == "complete"
    assert (harness.letters(workflow)[0].queue, letter.queue) == ("steps", "steps")
    [entry] = audit.list_page(harness.database, audit.AuditFilter(verb="step.move")).items
    assert (entry.before, entry.after) == (
        {"queue": "steps", "priority": 5},
        {"queue": "big-machines", "priority": 9},
    )


def test_a_waiting_retry_moves_to_another_queue_too(harness: Harness) -> None:
    harness.publish(shape("other", {"a": ()}, each={"a": {"queue": "big-machines"}}))
    workflow = run(harness, CHAIN, b=fails(ConnectionResetError("reset")))

    operate.retry_step(harness.engine, workflow, "b", ANN, queue="big-machines")

    assert "big-machines" in harness.bell.take()
    check_invariants(harness.database)


@pytest.mark.parametrize("queue", ["nowhere", "retry.linear", "remand.commands"])
def test_a_queue_in_which_no_step_can_run_is_refused(harness: Harness, queue: str) -> None:
    workflow = run(harness, CHAIN, b=always(NO))

    with pytest.raises(QueueNotFound):
        operate.retry_step(harness.engine, workflow, "b", ANN, queue=queue)
    with pytest.raises(InputInvalid, match="priority 10"):
        operate.retry_step(harness.engine, workflow, "b", ANN, priority=10)

    assert harness.states(workflow)["b"] == "error"


def test_an_input_for_a_root_meets_the_schema_of_inputs(harness: Harness) -> None:
    schema = {"type": "object", "required": ["n"]}
    workflow = run(harness, {"a": ()}, template={"input_schema": schema}, a=fails(NO))

    with pytest.raises(InputInvalid, match="'n' is a required property"):
        operate.retry_step(harness.engine, workflow, "a", ANN, new_input={"m": 1})
    assert harness.step(workflow, "a").input is None
    operate.retry_step(harness.engine, workflow, "a", ANN, new_input={"n": 2})

    assert harness.step(workflow, "a").input == {"n": 2}


def test_a_result_given_by_hand_meets_the_schema_of_the_step(harness: Harness) -> None:
    workflow = run(harness, {"a": ()}, template={"each": {"a": {"result_schema": BIG}}}, a=always(NO))

    with pytest.raises(InputInvalid, match="result_schema of step a") as refused:
        operate.complete_step(harness.engine, workflow, "a", ANN, result={"n": "one"})
    assert refused.value.details["problems"][0]["path"].endswith("n")
    assert harness.states(workflow)["a"] == "error"
    operate.complete_step(harness.engine, workflow, "a", ANN, result={"n": None})

    assert harness.workflow(workflow).state == "complete"
    check_invariants(harness.database)


def test_a_schema_of_results_that_is_none_is_refused_with_its_place(harness: Harness) -> None:
    with pytest.raises(TemplateInvalid, match=r"steps\[0\]\.result_schema\.type|result_schema"):
        harness.publish(shape("bad", {"a": ()}, each={"a": {"result_schema": {"type": "integr"}}}))
    assert harness.engine.templates.listed() == []
