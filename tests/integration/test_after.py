"""Steps that follow a failure of their parents, or any end of them: cleanup, compensation, a last word."""

from __future__ import annotations

import random
from typing import Any

import pytest

from remand import PermanentError, StepContext
from remand_app.domain.errors import TemplateInvalid
from remand_app.domain.template import load_text
from remand_app.engine import operate
from remand_app.engine.operate import Who
from tests.support.engine import Harness
from tests.support.shapes import always, fails, shape

ANN = Who("ann", "seen to")
NO = PermanentError("no")
FAILURE, ALWAYS = {"after": "failure"}, {"after": "always"}
ORDER = shape(
    "order",
    {"charge": (), "ship": ["charge"], "refund": ["ship"], "bye": ["ship"], "told": ["refund"]},
    each={"refund": FAILURE, "bye": ALWAYS},
)


def run(harness: Harness, template: str, **play: Any) -> Any:
    harness.publish(template)
    harness.play(**play)
    workflow_id = harness.submit("t/order")
    harness.run_until_quiet()
    return workflow_id


def test_where_all_goes_well_what_follows_a_failure_is_skipped_with_what_follows_it(harness: Harness) -> None:
    workflow_id = run(harness, ORDER)

    assert harness.workflow(workflow_id).state == "complete"
    assert harness.states(workflow_id) == {
        "charge": "complete", "ship": "complete", "bye": "complete",
        "refund": "cancelled", "told": "cancelled",
    }  # fmt: skip
    assert harness.letters(workflow_id) == []


def test_a_failed_parent_lets_it_run_and_keeps_its_letter(harness: Harness) -> None:
    seen: dict[str, Any] = {}

    def refund(ctx: StepContext) -> Any:
        seen.update(failures=ctx.failures, parents=dict(ctx.parents))
        return "refunded"

    workflow_id = run(harness, ORDER, ship=always(NO), refund=refund)

    assert harness.states(workflow_id) == {
        "charge": "complete", "ship": "error", "refund": "complete", "bye": "complete", "told": "complete",
    }  # fmt: skip
    assert harness.workflow(workflow_id).state == "blocked_by_failures"
    assert harness.open_letter(workflow_id).step == "ship"
    assert seen == {
        "failures": {"ship": {"error_class": "remand.errors.PermanentError", "message": "no"}},
        "parents": {"ship": None},
    }


def test_a_parent_that_cannot_run_has_failed_too(harness: Harness) -> None:
    workflow_id = run(harness, ORDER, charge=always(NO))

    states = harness.states(workflow_id)
    assert (states["ship"], states["refund"], states["bye"]) == ("pending", "complete", "complete")


@pytest.mark.parametrize("verb", ["retry", "requeue", "bulk", "resolve", "complete", "skip", "restart"])
def test_once_the_failure_is_dealt_with_it_follows_the_new_end(harness: Harness, verb: str) -> None:
    workflow_id = run(harness, ORDER, ship=fails(NO))
    engine, letter = harness.engine, harness.open_letter(workflow_id)
    match verb:
        case "retry":
            operate.retry_step(engine, workflow_id, "ship", ANN)
        case "requeue":
            operate.requeue_letter(engine, letter.id, ANN)
        case "bulk":
            harness.database.call(
                "select * from remand.requeue_letters(%s::uuid[], 'ann', null, 'cli', p_now => %s)",
                ([letter.id], harness.clock.now),
            )
        case "resolve":
            operate.resolve_step(engine, workflow_id, "ship", ANN)
        case "complete":
            operate.complete_step(engine, workflow_id, "ship", ANN, result=1)
        case "skip":
            operate.skip_step(engine, workflow_id, "ship", ANN)
        case _:
            operate.restart_from(engine, workflow_id, "charge", ANN)
    harness.run_to_end(workflow_id)

    states = harness.states(workflow_id)
    assert harness.workflow(workflow_id).state == "complete"
    assert (states["refund"], states["told"]) == ("cancelled", "cancelled")
    assert [attempt.outcome for attempt in harness.attempts(workflow_id, "bye")] == ["complete"] * 2


def test_what_was_skipped_runs_when_a_second_try_fails(harness: Harness) -> None:
    template = shape(
        "order", {"a": (), "undo": ["a"], "undone": ["undo"]}, each={"undo": FAILURE, "undone": FAILURE}
    )
    workflow_id = run(harness, template, a=always(NO), undo=fails(NO))
    assert harness.states(workflow_id) == {"a": "error", "undo": "error", "undone": "complete"}

    operate.retry_step(harness.engine, workflow_id, "undo", ANN)
    harness.run_until_quiet()

    assert harness.states(workflow_id) == {"a": "error", "undo": "complete", "undone": "cancelled"}


def test_it_waits_until_every_parent_has_ended(harness: Harness) -> None:
    template = shape("order", {"a": (), "b": (), "undo": "ab"}, each={"undo": FAILURE})
    harness.publish(template)
    order = harness.play(a=always(NO), b=fails(ConnectionResetError("again")))
    workflow_id = harness.submit("t/order")

    harness.run_until_quiet()
    assert harness.states(workflow_id)["undo"] == "pending"
    harness.advance(3600)
    harness.sweep_ring()
    harness.run_until_quiet()

    assert harness.states(workflow_id) == {"a": "error", "b": "complete", "undo": "complete"}
    assert order[-1] == "undo"


def test_it_runs_where_the_workflow_fails_fast(harness: Harness) -> None:
    template = shape(
        "order",
        {"a": (), "b": (), "after_b": "b", "clean": ["a", "after_b"]},
        each={"clean": ALWAYS, "b": {"queue": "slow"}},
        on_failure="fail_fast",
    )
    harness.publish(template)
    harness.play(a=always(NO), clean=fails(ConnectionResetError("again")))
    workflow_id = harness.submit("t/order")
    harness.drain("steps")
    harness.drain_failures("never")
    harness.drain("steps")
    harness.drain_failures("exponential")
    harness.advance(3600)
    harness.sweep_ring()
    harness.drain("steps")

    assert harness.states(workflow_id) == {
        "a": "error", "b": "pending", "after_b": "pending", "clean": "complete",
    }  # fmt: skip
    operate.retry_step(harness.engine, workflow_id, "a", ANN)
    harness.play()
    harness.run_to_end(workflow_id)
    assert set(harness.states(workflow_id).values()) == {"complete"}


def test_one_that_fails_itself_is_a_letter_of_the_workflow(harness: Harness) -> None:
    workflow_id = run(harness, ORDER, ship=always(NO), bye=always(NO))

    assert harness.states(workflow_id)["bye"] == "error"
    assert harness.workflow(workflow_id).state == "blocked_by_failures"
    assert harness.open_letter(workflow_id)


def test_what_is_paused_waits_for_the_resume(harness: Harness) -> None:
    harness.publish(ORDER)
    harness.play(ship=always(NO))
    workflow_id = harness.submit("t/order")
    harness.drain("steps")
    operate.pause_workflow(harness.engine, workflow_id, ANN)
    harness.run_until_quiet()
    assert harness.states(workflow_id)["refund"] == "pending"

    operate.resume_workflow(harness.engine, workflow_id, ANN)
    harness.run_until_quiet()

    assert harness.states(workflow_id)["refund"] == "complete"


def test_a_first_step_follows_nothing() -> None:
    with pytest.raises(TemplateInvalid) as refused:
        load_text(shape("one", {"a": ()}, each={"a": ALWAYS}))

    assert [problem.code for problem in refused.value.problems] == ["after_nothing"]


@pytest.mark.parametrize("seed", range(30))
def test_random_graphs_end_as_a_model_says(harness: Harness, seed: int) -> None:
    chance = random.Random(seed)
    graph, each, dying = _random_graph(chance)
    harness.publish(shape("order", graph, each=each))
    harness.play(**{name: always(NO) for name in dying})

    workflow_id = harness.submit("t/order")
    harness.run_until_quiet()

    assert harness.states(workflow_id) == _model(graph, each, dying)


def _random_graph(chance: random.Random) -> tuple[dict[str, list[str]], dict[str, dict[str, str]], set[str]]:
    names = [f"s{n}" for n in range(chance.randint(3, 9))]
    graph = {
        name: sorted(chance.sample(names[:place], chance.randint(0, min(place, 3))))
        for place, name in enumerate(names)
    }
    kinds = [None, None, FAILURE, ALWAYS]
    each = {name: kind for name in names if graph[name] and (kind := chance.choice(kinds)) is not None}
    return graph, each, {name for name in names if chance.random() < 0.3}


def _model(graph: dict[str, list[str]], each: dict[str, dict[str, str]], dying: set[str]) -> dict[str, str]:
    """Return how each step must end, from its parents' ends; names are in order of the graph."""
    ends: dict[str, str] = {}
    for name, parents in graph.items():
        above = {ends[parent] for parent in parents}
        after = each.get(name, {}).get("after")
        own = "error" if name in dying else "complete"
        if after == "always" or (after is None and above <= {"complete"}):
            ends[name] = own
        elif after == "failure":
            ends[name] = own if above & {"error", "pending"} else "cancelled"
        else:
            ends[name] = "cancelled" if "cancelled" in above else "pending"
    return ends
