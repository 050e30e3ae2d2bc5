"""A paused workflow or template starts nothing, loses nothing, and goes on where it was. Source: A11."""

from __future__ import annotations

from functools import partial
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa

from remand.errors import PermanentError
from remand_app.domain.errors import IllegalMove, TemplateNotFound
from remand_app.engine import operate
from remand_app.engine.operate import Who
from remand_app.engine.submit import SubmitRequest, submit
from remand_app.resources import audit
from remand_app.store import pauses
from remand_app.store.claims import Completed
from remand_app.store.workflows import moves_of
from tests.support.engine import Harness
from tests.support.invariants import check_invariants
from tests.support.shapes import CHAIN, always, fails, shape
from tests.support.threads import together, values

ANN = Who("ann", "bank is closed")
RESET = ConnectionResetError("reset")


def chain(harness: Harness, **steps: Any) -> tuple[UUID, list[str]]:
    harness.publish(shape("chain", CHAIN))
    ran = harness.play(**steps)
    return harness.submit("t/chain"), ran


def pause(harness: Harness, workflow: UUID) -> None:
    operate.pause_workflow(harness.engine, workflow, ANN)
    check_invariants(harness.database)


def test_a_paused_workflow_starts_nothing_and_goes_on_at_once(harness: Harness) -> None:
    workflow, ran = chain(harness)
    pause(harness, workflow)
    harness.run_until_quiet()
    assert ran == []
    harness.bell.take()

    decided = operate.resume_workflow(harness.engine, workflow, ANN)

    assert (decided.changed, decided.after) == (True, "steps_in_process")
    assert harness.bell.take() == ["steps"]
    harness.drain()
    harness.run_until_quiet()
    assert ran == ["a", "b", "c", "d"]
    assert harness.workflow(workflow).state == "complete"
    check_invariants(harness.database)


def test_a_running_step_ends_and_counts_and_nothing_follows(harness: Harness) -> None:
    def held(ctx: Any) -> str:
        pause(harness, UUID(str(ctx.workflow_id)))
        return "done"

    workflow, ran = chain(harness, b=held)

    harness.run_until_quiet()

    assert ran == ["a", "b"]
    assert harness.states(workflow) == {"a": "complete", "b": "complete", "c": "pending", "d": "pending"}
    assert harness.step(workflow, "b").result == "done"
    check_invariants(harness.database)
    operate.resume_workflow(harness.engine, workflow, ANN)
    harness.run_until_quiet()
    assert harness.workflow(workflow).state == "complete"
    check_invariants(harness.database)


@pytest.mark.parametrize("with_template", [False, True])
def test_a_retry_beside_a_dead_step_is_made_after_a_pause(harness: Harness, with_template: bool) -> None:
    harness.publish(shape("two", {"dies": (), "waits": ()}))
    ran = harness.play(dies=always(PermanentError("no")), waits=fails(RESET))
    workflow = harness.submit("t/two")
    harness.run_until_quiet()
    due = harness.step(workflow, "waits").due_at

    if with_template:
        operate.pause_template(harness.engine, "t/two", ANN)
        operate.resume_template(harness.engine, "t/two", ANN)
    else:
        pause(harness, workflow)
        operate.resume_workflow(harness.engine, workflow, ANN)
    check_invariants(harness.database)

    assert harness.workflow(workflow).state == "waiting_for_retry"
    assert harness.step(workflow, "waits").due_at == due
    harness.advance(3600)
    harness.run_until_quiet()
    assert ran == ["dies", "waits", "waits"]
    assert harness.workflow(workflow).state == "blocked_by_failures"
    check_invariants(harness.database)


def test_a_retry_waits_while_paused_and_is_made_when_it_is_due(harness: Harness) -> None:
    workflow, ran = chain(harness, a=fails(RESET))
    harness.run_until_quiet()
    due = harness.step(workflow, "a").due_at
    pause(harness, workflow)
    harness.run_until_quiet()
    assert harness.states(workflow)["a"] == "pending"

    operate.resume_workflow(harness.engine, workflow, ANN)
    harness.run_until_quiet()
    assert (ran, harness.step(workflow, "a").due_at) == (["a"], due)
    check_invariants(harness.database)

    harness.advance(3600)
    harness.run_until_quiet()
    assert harness.workflow(workflow).state == "complete"


def test_a_retry_that_comes_due_while_paused_waits(harness: Harness) -> None:
    workflow, ran = chain(harness, a=fails(RESET))
    harness.run_until_quiet()
    pause(harness, workflow)
    harness.advance(3600)
    harness.run_until_quiet()
    assert ran == ["a"]

    operate.resume_workflow(harness.engine, workflow, ANN)
    harness.run_until_quiet()
    assert harness.workflow(workflow).state == "complete"
    check_invariants(harness.database)


@pytest.mark.parametrize("error", [RESET, PermanentError("no")])
def test_a_failure_while_paused_is_decided_and_starts_nothing(harness: Harness, error: Exception) -> None:
    def held(ctx: Any) -> str:
        pause(harness, UUID(str(ctx.workflow_id)))
        raise error

    workflow, ran = chain(harness, a=held)
    harness.run_until_quiet()
    harness.advance(3600)
    harness.run_until_quiet()

    assert ran == ["a"]
    assert harness.states(workflow)["a"] == ("pending" if error is RESET else "error")
    check_invariants(harness.database)


@pytest.mark.parametrize("how", ["give back", "interrupt"])
def test_a_claim_that_comes_back_while_paused_is_not_claimed_again(harness: Harness, how: str) -> None:
    workflow, _ = chain(harness)
    [claim] = harness.worker.queue.claim("steps", 1)
    pause(harness, workflow)
    if how == "give back":
        harness.worker.queue.give_back([claim])
    else:
        harness.worker.queue.interrupt([(claim.workflow_id, claim.step, claim.attempt)])

    assert harness.worker.queue.claim("steps", 1) == []
    assert harness.states(workflow)["a"] == "pending"
    check_invariants(harness.database)
    operate.resume_workflow(harness.engine, workflow, ANN)
    assert [one.step for one in harness.worker.queue.claim("steps", 1)] == ["a"]


def test_what_came_back_while_somebody_held_the_workflow_is_withdrawn_by_the_sweep(harness: Harness) -> None:
    workflow, _ = chain(harness)
    [claim] = harness.worker.queue.claim("steps", 1)
    pause(harness, workflow)
    with harness.database.begin() as other:
        other.execute(sa.text("select 1 from remand.workflows for update"))
        harness.worker.queue.give_back([claim])
    assert harness.states(workflow)["a"] == "enqueued"

    harness.sweep_ring()

    assert harness.states(workflow)["a"] == "pending"
    check_invariants(harness.database)


@pytest.mark.parametrize("how", ["give back", "interrupt"])
def test_what_comes_back_to_a_hold_that_is_just_being_made_is_withdrawn_by_the_sweep(
    harness: Harness, how: str
) -> None:
    harness.publish(shape("fast", {"a": (), "b": ()}, on_failure="fail_fast", each={"b": {"queue": "b"}}))
    harness.play(a=fails(PermanentError("no")))
    workflow = harness.submit("t/fast")
    [claim] = harness.worker.queue.claim("b", 1)
    harness.run_until_quiet()
    with harness.database.begin() as other:
        other.execute(sa.text("select 1 from remand.workflows for update"))
        if how == "give back":
            harness.worker.queue.give_back([claim])
        else:
            harness.worker.queue.interrupt([(claim.workflow_id, claim.step, claim.attempt)])
    assert harness.states(workflow)["b"] == "enqueued"

    harness.sweep_ring()

    assert harness.states(workflow)["b"] == "pending"
    assert harness.workflow(workflow).state == "blocked_by_failures"


def test_a_pause_survives_fail_fast_and_its_requeue(harness: Harness) -> None:
    harness.publish(shape("fast", {"a": (), "b": (), "c": ("a", "b")}, on_failure="fail_fast"))
    ran = harness.play(a=fails(PermanentError("no")))
    workflow = harness.submit("t/fast")
    harness.run_until_quiet()
    pause(harness, workflow)

    operate.requeue_letter(harness.engine, harness.open_letter(workflow).id, ANN)
    harness.run_until_quiet()
    assert ran.count("a") == 1
    check_invariants(harness.database)

    operate.resume_workflow(harness.engine, workflow, ANN)
    harness.run_until_quiet()
    assert harness.workflow(workflow).state == "complete"
    check_invariants(harness.database)


def test_resuming_does_not_lift_the_hold_of_fail_fast(harness: Harness) -> None:
    harness.publish(shape("fast", {"a": (), "b": (), "c": ("b",)}, on_failure="fail_fast"))
    harness.play(a=always(PermanentError("no")))
    workflow = harness.submit("t/fast")
    harness.run_until_quiet()
    pause(harness, workflow)

    operate.resume_workflow(harness.engine, workflow, ANN)

    assert harness.workflow(workflow).hold == "fail_fast"
    check_invariants(harness.database)


def test_a_paused_workflow_can_be_cancelled_and_then_not_resumed(harness: Harness) -> None:
    workflow, _ = chain(harness)
    pause(harness, workflow)

    operate.cancel(harness.engine, workflow, ANN)

    assert harness.workflow(workflow).paused_at is None
    check_invariants(harness.database)
    for verb in (operate.pause_workflow, operate.resume_workflow):
        with pytest.raises(IllegalMove, match="cancelled"):
            verb(harness.engine, workflow, ANN)


def test_history_and_audit_say_who_and_why_and_twice_is_once(harness: Harness) -> None:
    workflow, _ = chain(harness)
    pause(harness, workflow)

    assert not operate.pause_workflow(harness.engine, workflow, Who("bob")).changed
    operate.resume_workflow(harness.engine, workflow, ANN)
    assert not operate.resume_workflow(harness.engine, workflow, ANN).changed

    told = [
        (one.event, one.by, one.reason)
        for one in moves_of(harness.database, workflow)
        if one.event in ("pause", "resume")
    ]
    assert told == [("pause", "ann", "bank is closed"), ("resume", "ann", "bank is closed")]
    written = audit.list_page(harness.database, audit.AuditFilter(workflow_id=workflow)).items
    assert [one.verb for one in written] == ["workflow.resume", "workflow.pause"]


def test_a_workflow_of_a_thousand_steps_is_paused_and_goes_on(harness: Harness) -> None:
    harness.publish(shape("wide", {f"s{n}": () for n in range(1000)}))
    ran = harness.play()
    workflow = harness.submit("t/wide")
    pause(harness, workflow)
    harness.run_until_quiet()
    assert ran == []

    operate.resume_workflow(harness.engine, workflow, ANN)
    harness.run_until_quiet()
    assert len(ran) == 1000
    assert harness.workflow(workflow).state == "complete"


def test_a_paused_template_takes_workflows_and_starts_none(harness: Harness) -> None:
    workflow, ran = chain(harness)

    paused = operate.pause_template(harness.engine, "t/chain", ANN)
    later = harness.submit("t/chain")
    harness.run_until_quiet()

    assert (paused.changed, paused.workflows, ran) == (True, 1, [])
    assert [harness.workflow(one).paused_by for one in (workflow, later)] == ["ann", "ann"]
    check_invariants(harness.database)
    harness.bell.take()
    resumed = operate.resume_template(harness.engine, "t/chain", ANN)
    assert (resumed.changed, resumed.workflows) == (True, 2)
    assert "steps" in harness.bell.take()
    harness.drain()
    harness.run_until_quiet()
    assert {harness.workflow(one).state for one in (workflow, later)} == {"complete"}
    check_invariants(harness.database)


def test_a_workflow_that_was_paused_by_itself_stays_so_when_its_template_goes_on(harness: Harness) -> None:
    workflow, _ = chain(harness)
    pause(harness, workflow)
    operate.pause_template(harness.engine, "t/chain", ANN)

    operate.resume_template(harness.engine, "t/chain", ANN)

    assert harness.workflow(workflow).paused_at is not None


def test_pausing_a_template_twice_is_once_and_finishes_what_was_cut_short(harness: Harness) -> None:
    workflow, _ = chain(harness)
    with harness.database.begin() as connection:  # as if the process had died before its first batch
        at = harness.clock.now
        assert pauses.add_template_pause(connection, pauses.TemplatePause("t", "chain", at, "ann", None))

    again = operate.pause_template(harness.engine, "t/chain", ANN)

    assert (again.changed, again.workflows) == (False, 1)
    assert harness.workflow(workflow).paused_at is not None
    with pytest.raises(TemplateNotFound):
        operate.pause_template(harness.engine, "t/none", ANN)


def test_no_submit_slips_through_a_pause_of_its_template(harness: Harness) -> None:
    """A submit that did not see the pause is waited for, and then held with the others."""
    harness.publish(shape("chain", CHAIN))
    for _ in range(5):
        submits = [partial(submit, harness.engine, "t/chain", SubmitRequest({}), by="test") for _ in range(6)]
        ends = together(*submits, partial(operate.pause_template, harness.engine, "t/chain", ANN))
        values(ends)

        free = harness.database.call(
            "select count(*) from remand.workflows where paused_at is null and state = 'steps_in_process'"
        )
        assert free == [(0,)]
        operate.resume_template(harness.engine, "t/chain", ANN)
    check_invariants(harness.database)


def test_a_pause_waits_for_the_submit_that_did_not_see_it(harness: Harness) -> None:
    harness.publish(shape("chain", CHAIN))
    template_id = harness.engine.templates.find("t/chain").id
    workflow = "01890000-0000-7000-8000-000000000001"
    with harness.database.begin() as slow:
        slow.execute(
            sa.text(
                "select * from remand.submit_v2(:t, array[cast(:id as uuid)], array['{}'::jsonb],"
                " array[null::text], array[5::smallint], 'slow', 12, :now)"
            ),
            {"t": template_id, "id": workflow, "now": harness.clock.now},
        )
        with harness.database.begin() as pauser:
            got = pauser.scalar(
                sa.text("select pg_try_advisory_xact_lock(hashtextextended('remand.pause t/chain', 0))")
            )
            assert not got
    paused = operate.pause_template(harness.engine, "t/chain", ANN)
    assert paused.workflows == 1


def test_pauses_race_with_drains_and_sweeps_and_nothing_breaks(harness: Harness) -> None:
    harness.publish(shape("chain", CHAIN))
    harness.play()
    workflows = harness.submit_many("t/chain", [{}] * 12)
    workers = [harness.new_worker("steps", hostname=f"w{n}@test") for n in range(2)]

    def toggle(some: list[UUID]) -> None:
        for workflow in some:
            try:
                operate.pause_workflow(harness.engine, workflow, ANN)
                operate.resume_workflow(harness.engine, workflow, ANN)
            except IllegalMove:
                continue

    values(
        together(
            *(partial(one.executor.run, "steps") for one in workers),
            partial(toggle, workflows[:6]),
            partial(toggle, workflows[6:]),
            harness.sweep_ring,
        )
    )
    check_invariants(harness.database)
    for _ in range(3):
        harness.drain()
        harness.run_until_quiet()
    assert {harness.workflow(one).state for one in workflows} == {"complete"}
    check_invariants(harness.database)


def test_a_parked_result_of_a_paused_workflow_counts(harness: Harness) -> None:
    workflow, _ = chain(harness)
    [claim] = harness.worker.queue.claim("steps", 1)
    pause(harness, workflow)
    with harness.database.begin() as other:
        other.execute(sa.text("select 1 from remand.workflows for update"))
        harness.worker.queue.settle([Completed(claim, '"late"')], "steps", 0)
    harness.sweep_rescue()
    harness.sweep_ring()
    harness.run_until_quiet()

    assert harness.step(workflow, "a").result == "late"
    assert harness.states(workflow)["b"] == "pending"
    check_invariants(harness.database)
