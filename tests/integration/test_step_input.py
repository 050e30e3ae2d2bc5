"""A step may have a fixed input of its own: one handler serves several steps that differ by it."""

from __future__ import annotations

from typing import Any

import pytest

from remand import PermanentError, StepContext
from remand_app.domain.errors import TemplateInvalid
from remand_app.domain.template import content_hash, from_definition, load_text, to_definition
from remand_app.engine import operate
from remand_app.engine.operate import Who
from tests.support.engine import Harness
from tests.support.shapes import shape

LANES = shape(
    "lanes", {"a": (), "b": (), "sum": "ab"}, each={"a": {"input": {"lane": 1}}, "b": {"input": {"lane": 2}}}
)


def both(ctx: StepContext) -> Any:
    return {"own": ctx.input, "submitted": ctx.workflow_input}


def test_each_step_finds_its_own_input_and_that_of_the_workflow(harness: Harness) -> None:
    harness.publish(LANES)
    harness.play(a=both, b=both, sum=both)

    workflow_id = harness.submit("t/lanes", {"files": ["x"]})
    harness.run_to_end(workflow_id)

    submitted = {"files": ["x"]}
    assert {name: harness.step(workflow_id, name).result for name in ("a", "b", "sum")} == {
        "a": {"own": {"lane": 1}, "submitted": submitted},
        "b": {"own": {"lane": 2}, "submitted": submitted},
        "sum": {"own": submitted, "submitted": submitted},
    }


@pytest.mark.parametrize("value", [None, 0, False, "", [], {}, {"deep": [None, {"x": None}]}])
def test_any_json_will_do(harness: Harness, value: Any) -> None:
    harness.publish(shape("one", {"a": ()}, each={"a": {"input": value}}))
    harness.play(a=both)

    workflow_id = harness.submit("t/one", {"n": 1})
    harness.run_to_end(workflow_id)

    assert harness.step(workflow_id, "a").result == {"own": value, "submitted": {"n": 1}}


def test_an_operator_may_replace_it(harness: Harness) -> None:
    harness.publish(
        shape("one", {"a": ()}, each={"a": {"input": {"lane": 1}}}, input_schema={"type": "string"})
    )

    def strict(ctx: StepContext) -> Any:
        if ctx.input == {"lane": 1}:
            raise PermanentError("no such lane")
        return both(ctx)

    harness.play(a=strict)
    workflow_id = harness.submit("t/one", "submitted")
    harness.run_until_quiet()
    operate.retry_step(harness.engine, workflow_id, "a", Who("ann"), new_input={"lane": 3})
    harness.run_to_end(workflow_id)

    assert harness.step(workflow_id, "a").result == {"own": {"lane": 3}, "submitted": "submitted"}


def test_what_is_large_is_refused(harness: Harness) -> None:
    large = shape("one", {"a": ()}, each={"a": {"input": ["x" * 70_000]}})

    with pytest.raises(TemplateInvalid) as refused:
        load_text(large)

    assert [problem.code for problem in refused.value.problems] == ["input_too_large"]


@pytest.mark.parametrize("value", [None, {"x": None}, [None]])
def test_it_is_part_of_what_a_template_is(value: Any) -> None:
    template = load_text(shape("one", {"a": ()}, each={"a": {"input": value}}))

    assert to_definition(template)["steps"][0]["input"] == value
    assert from_definition(to_definition(template)) == template
    assert content_hash(template) != content_hash(load_text(shape("one", {"a": ()})))
