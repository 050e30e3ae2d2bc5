"""Words of the submitter are kept with the workflow."""

from __future__ import annotations

import pytest

from remand_app.domain.errors import InputInvalid
from remand_app.engine.submit import SubmitRequest, submit_many
from tests.support.engine import Harness
from tests.support.shapes import shape


def test_a_workflow_has_the_tags_of_its_submit_and_none_costs_nothing(harness: Harness) -> None:
    harness.publish(shape("one", {"a": ()}))
    requests = [
        SubmitRequest({}, tags=("eu", "vip", "eu")),
        SubmitRequest({}),
        SubmitRequest({}, tags=('q"uote'[0],)),
    ]

    answers = submit_many(harness.engine, "t/one", requests, by="test")

    assert [harness.workflow(one.workflow_id).tags for one in answers] == [["eu", "vip"], None, ["q"]]


@pytest.mark.parametrize("tags", [("a b",), ("",), ("x" * 65,), tuple(f"t{n}" for n in range(21))])
def test_what_is_no_tag_is_refused_and_nothing_is_stored(harness: Harness, tags: tuple[str, ...]) -> None:
    harness.publish(shape("one", {"a": ()}))

    with pytest.raises(InputInvalid, match="tag"):
        submit_many(harness.engine, "t/one", [SubmitRequest({}), SubmitRequest({}, tags=tags)], by="test")

    assert harness.database.call("select count(*) from remand.workflows") == [(0,)]
