"""What a verb would do is shown before it is done, and nothing of it stays. Source: C6."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from remand.errors import PermanentError
from remand_app.domain.errors import IllegalMove
from remand_app.engine import operate
from remand_app.engine.engine import Engine
from remand_app.engine.operate import Who, preview
from tests.support.engine import Harness
from tests.support.invariants import check_invariants
from tests.support.shapes import always, shape

ANN = Who("ann", "cause is gone")
GRAPH = {"a": (), "b": ("a",), "c": ("b",), "d": ()}
_TABLES = (
    "workflows", "steps", "history", "attempts", "run_queue", "dead_letters", "dead_letter_notes", "audit_log"
)  # fmt: skip

Verb = Callable[[Engine, UUID, UUID], object]
VERBS: dict[str, Verb] = {
    "retry": lambda engine, workflow, _: operate.retry_step(engine, workflow, "b", ANN, new_input={"n": 2}),
    "resolve step": lambda engine, workflow, _: operate.resolve_step(engine, workflow, "b", ANN),
    "complete": lambda engine, workflow, _: operate.complete_step(engine, workflow, "b", ANN, result=1),
    "requeue": lambda engine, _, letter: operate.requeue_letter(engine, letter, ANN),
    "resolve": lambda engine, _, letter: operate.resolve_letter(engine, letter, ANN),
    "give up": lambda engine, _, letter: operate.give_up_letter(engine, letter, ANN),
    "cancel": lambda engine, _, letter: operate.cancel_letter(engine, letter, ANN),
    "claim": lambda engine, _, letter: operate.claim_letter(engine, letter, ANN),
}


def dead(harness: Harness) -> tuple[UUID, UUID]:
    harness.publish(shape("job", GRAPH))
    harness.play(b=always(PermanentError("no")))
    workflow = harness.submit("t/job")
    harness.run_until_quiet()
    return workflow, harness.open_letter(workflow).id


def everything(harness: Harness) -> dict[str, list[Any]]:
    return {one: harness.database.call(f"select * from remand.{one} order by 1, 2") for one in _TABLES}


@pytest.mark.parametrize("name", VERBS)
def test_nothing_of_a_preview_stays_and_it_is_what_the_verb_then_does(
    harness: Harness, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    workflow, letter = dead(harness)
    harness.bell.take()
    before, states = everything(harness), harness.states(workflow)
    capsys.readouterr()

    shown = preview(harness.engine, workflow, partial(_call, VERBS[name], workflow, letter))

    assert everything(harness) == before
    assert harness.bell.take() == []
    assert capsys.readouterr().out == ""
    VERBS[name](harness.engine, workflow, letter)
    after = harness.states(workflow)
    changed = {step: (states[step], after[step]) for step in after if after[step] != states[step]}
    assert {one.step: (one.before, one.after) for one in shown.changes} == changed
    assert shown.after == harness.workflow(workflow).state
    still_open = [one for one in harness.letters(workflow) if one.status.is_open]
    assert (shown.closes_letter == letter) is (not still_open)
    if shown.closes_letter:
        assert shown.closed_as == harness.letters(workflow)[0].status
    check_invariants(harness.database)


def _call(verb: Verb, workflow: UUID, letter: UUID, engine: Engine) -> object:
    return verb(engine, workflow, letter)


def test_it_says_what_runs_again_and_what_follows(harness: Harness) -> None:
    workflow, letter = dead(harness)

    shown = preview(harness.engine, workflow, lambda tried: operate.requeue_letter(tried, letter, ANN))

    assert (shown.runs_again, shown.then) == (("b",), ("c",))
    assert (shown.before, shown.after) == ("blocked_by_failures", "steps_in_process")


def test_what_is_refused_is_refused_in_the_preview_too(harness: Harness) -> None:
    workflow, _ = dead(harness)

    with pytest.raises(IllegalMove):
        preview(harness.engine, workflow, lambda tried: operate.resolve_step(tried, workflow, "a", ANN))

    assert harness.states(workflow)["a"] == "complete"
