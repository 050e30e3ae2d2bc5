from __future__ import annotations

import threading
from uuid import uuid4

import pytest

from remand_app.domain.errors import (
    IdentityInvalid,
    InputInvalid,
    InputTooLarge,
    TemplateNotFound,
)
from remand_app.engine.submit import CHUNK, SubmitRequest, submit, submit_many
from remand_app.store.database import Database
from remand_app.store.ids import new_id
from remand_app.store.workflows import NewWorkflow, insert_workflows
from tests.support.engine import Harness
from tests.support.shapes import CHAIN, DIAMOND, shape

COUNTS = (
    "select (select count(*) from remand.workflows), (select count(*) from remand.steps),"
    " (select count(*) from remand.run_queue), (select count(*) from remand.identities)"
)


def counts(database: Database) -> tuple[int, ...]:
    return database.call(COUNTS)[0]


def test_a_submit_stores_everything_and_rings_the_queues_of_its_roots(harness: Harness) -> None:
    graph = {"a": (), "b": (), "c": "ab"}
    harness.publish(shape("two", graph, each={"b": {"queue": "other"}, "c": {"queue": "late"}}))

    workflow_id = harness.submit("t/two", {"n": 1})

    workflow = harness.workflow(workflow_id)
    assert (workflow.state, workflow.open_steps, workflow.input) == ("steps_in_process", 3, {"n": 1})
    assert harness.states(workflow_id) == {"a": "enqueued", "b": "enqueued", "c": "pending"}
    assert harness.step(workflow_id, "c").open_parents == 2
    assert harness.bell.take() == ["other", "steps"]
    assert harness.moves(workflow_id) == ["start", "ready_steps_found", "steps_enqueued"]


def test_one_bad_workflow_in_a_statement_leaves_nothing_of_the_others(harness: Harness) -> None:
    harness.publish(shape("one", {"a": ()}))
    published = harness.engine.templates.find("t/one")
    new = [NewWorkflow(new_id(), text, None, 5) for text in ("{}", "this is no JSON")]

    with pytest.raises(Exception, match="invalid input syntax for type json"):
        insert_workflows(harness.database, harness.clock, published.id, new, by="test")

    assert counts(harness.database) == (0, 0, 0, 0)


def test_a_failure_at_the_last_statement_leaves_nothing(fresh_database: Database) -> None:
    harness = Harness(fresh_database)
    harness.publish(shape("one", {"a": ()}, identity="caller_provided"))
    fresh_database.call("alter table remand.run_queue add constraint broken check (queue <> 'steps')")

    with pytest.raises(Exception, match="broken"):
        harness.submit("t/one", key="k")

    assert counts(fresh_database) == (0, 0, 0, 0)
    assert harness.bell.take() == []


def test_every_input_is_validated_before_anything_is_stored(harness: Harness) -> None:
    harness.publish(shape("typed", {"a": ()}, input_schema={"type": "object", "required": ["id"]}))

    with pytest.raises(InputInvalid, match="'id' is a required property"):
        harness.submit_many("t/typed", [{"id": 1}, {"id": 2}, {}])

    assert counts(harness.database) == (0, 0, 0, 0)


def test_more_than_a_chunk_is_answered_in_order(harness: Harness) -> None:
    harness.publish(shape("one", {"a": ()}))
    requests = [SubmitRequest({"n": n}) for n in range(CHUNK + 3)]

    answers = submit_many(harness.engine, "t/one", requests, by="test")

    inputs = dict(harness.database.call("select id, input->>'n' from remand.workflows"))
    assert [inputs[answer.workflow_id] for answer in answers] == [str(n) for n in range(CHUNK + 3)]


def test_the_same_id_twice_is_one_workflow(harness: Harness) -> None:
    harness.publish(shape("one", {"a": ()}))
    request = SubmitRequest({"n": 1}, id=new_id())

    first = submit(harness.engine, "t/one", request, by="test")
    second = submit(harness.engine, "t/one", request, by="test")

    assert (first.created, second.created) == (True, False)
    assert first.workflow_id == second.workflow_id == request.id
    assert counts(harness.database) == (1, 1, 1, 0)


def test_the_same_id_twice_in_one_submit_is_created_once(harness: Harness) -> None:
    harness.publish(shape("one", {"a": ()}))
    request = SubmitRequest({}, id=new_id())

    answers = submit_many(harness.engine, "t/one", [request, request], by="test")

    assert [answer.created for answer in answers] == [True, False]
    assert counts(harness.database) == (1, 1, 1, 0)


def test_a_strict_identity_is_its_input(harness: Harness) -> None:
    harness.publish(shape("strict", {"a": ()}, identity="strict"))

    first = submit(harness.engine, "t/strict", SubmitRequest({"a": 1, "b": 2}), by="test")
    same = submit(harness.engine, "t/strict", SubmitRequest({"b": 2, "a": 1}), by="test")
    other = submit(harness.engine, "t/strict", SubmitRequest({"a": 1, "b": 3}), by="test")

    assert (same.workflow_id, same.created) == (first.workflow_id, False)
    assert other.created
    with pytest.raises(IdentityInvalid):
        harness.submit("t/strict", {}, key="k")


def test_an_identity_given_by_the_caller_outlives_the_workflow(harness: Harness) -> None:
    harness.publish(shape("named", {"a": ()}, identity="caller_provided"))
    harness.play()

    first = submit(harness.engine, "t/named", SubmitRequest({"n": 1}, key="order 1"), by="test")
    harness.run_until_quiet()
    again = submit(harness.engine, "t/named", SubmitRequest({"n": 2}, key="order 1"), by="test")

    assert harness.workflow(first.workflow_id).state == "complete"
    assert (again.workflow_id, again.created) == (first.workflow_id, False)
    with pytest.raises(IdentityInvalid):
        harness.submit("t/named", {})


def test_always_unique_makes_each_submit_a_workflow(harness: Harness) -> None:
    harness.publish(shape("one", {"a": ()}))

    assert harness.submit("t/one", {}) != harness.submit("t/one", {})


def test_one_submit_with_an_identity_twice_makes_one_workflow(harness: Harness) -> None:
    harness.publish(shape("named", {"a": ()}, identity="caller_provided"))
    requests = [SubmitRequest({"n": n}, key=key) for n, key in enumerate(["x", "y", "x"])]

    answers = submit_many(harness.engine, "t/named", requests, by="test")

    assert [answer.created for answer in answers] == [True, True, False]
    assert answers[2].workflow_id == answers[0].workflow_id


def test_many_at_once_with_one_identity_make_one_workflow(harness: Harness) -> None:
    harness.publish(shape("named", CHAIN, identity="caller_provided"))
    harness.engine.templates.find("t/named")
    barrier = threading.Barrier(8)
    answers = []

    def one(n: int) -> None:
        barrier.wait()
        answers.append(submit(harness.engine, "t/named", SubmitRequest({"n": n}, key="k"), by="test"))

    threads = [threading.Thread(target=one, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len({answer.workflow_id for answer in answers}) == 1
    assert sum(answer.created for answer in answers) == 1
    assert counts(harness.database) == (1, 4, 1, 1)


@pytest.mark.parametrize("key", ["x" * 10_240, "\N{PARTY POPPER}" * 300])
def test_an_identity_may_be_long(harness: Harness, key: str) -> None:
    harness.publish(shape("named", {"a": ()}, identity="caller_provided"))

    first = submit(harness.engine, "t/named", SubmitRequest({}, key=key), by="test")

    assert (
        submit(harness.engine, "t/named", SubmitRequest({}, key=key), by="test").workflow_id
        == first.workflow_id
    )


@pytest.mark.parametrize("key", ["", "  ", "a\x00b", "\ud83d"])
def test_an_identity_that_cannot_be_stored_is_refused(harness: Harness, key: str) -> None:
    harness.publish(shape("named", {"a": ()}, identity="caller_provided"))

    with pytest.raises(IdentityInvalid):
        harness.submit("t/named", {}, key=key)


def test_a_priority_is_the_requests_then_the_steps_then_the_templates(harness: Harness) -> None:
    harness.publish(shape("one", {"a": (), "b": ()}, priority=7, each={"b": {"priority": 2}}))

    plain = harness.submit("t/one")
    urgent = harness.submit("t/one", priority=9)

    priorities = [
        (harness.workflow(one).priority, harness.step(one, "a").priority, harness.step(one, "b").priority)
        for one in (plain, urgent)
    ]
    assert priorities == [(7, 7, 2), (9, 9, 2)]


@pytest.mark.parametrize("priority", [-1, 10])
def test_a_priority_out_of_range_is_refused(harness: Harness, priority: int) -> None:
    harness.publish(shape("one", {"a": ()}))

    with pytest.raises(InputInvalid, match="0 to 9"):
        harness.submit("t/one", priority=priority)


@pytest.mark.parametrize(
    "bad",
    [
        float("nan"),
        {"deep": [float("inf")]},
        b"bytes",
        {"s": "a\x00b"},
        {"s": "\ud83d"},
        {1: 2},
        {"id": uuid4()},
    ],
    ids=["nan", "infinity", "bytes", "nul", "surrogate", "key", "uuid"],
)
def test_an_input_that_is_not_json_is_refused(harness: Harness, bad: object) -> None:
    harness.publish(shape("one", {"a": ()}))

    with pytest.raises(InputInvalid) as caught:
        harness.submit("t/one", bad)

    assert caught.value.details["problems"]
    assert counts(harness.database) == (0, 0, 0, 0)


def test_an_input_above_the_limit_is_refused_when_the_workflow_is_made(harness: Harness) -> None:
    harness.publish(shape("one", {"a": ()}))

    with pytest.raises(InputTooLarge, match="the limit is 1,048,576 bytes"):
        harness.submit("t/one", "x" * 8_000_000)

    assert counts(harness.database) == (0, 0, 0, 0)


def test_an_unknown_or_ambiguous_template_is_refused(harness: Harness) -> None:
    harness.publish(shape("one", {"a": ()}))
    harness.publish(shape("one", {"a": ()}, namespace="u"))

    with pytest.raises(TemplateNotFound, match="ambiguous: t/one, u/one"):
        harness.submit("one")
    with pytest.raises(TemplateNotFound, match="no template"):
        harness.submit("t/two")
    with pytest.raises(TemplateNotFound, match="no template"):
        harness.submit("t/one:2")


def test_the_newest_version_is_taken_unless_one_is_named(harness: Harness) -> None:
    harness.publish(shape("one", {"a": ()}))
    harness.publish(shape("one", DIAMOND, version="2"))

    assert harness.workflow(harness.submit("t/one")).version == "2"
    assert harness.workflow(harness.submit("t/one:1")).version == "1"
