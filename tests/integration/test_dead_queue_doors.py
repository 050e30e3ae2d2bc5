"""Dead queues over HTTP and on their page: made, changed, pointed to, deleted; what is refused says why."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from remand.errors import PermanentError
from remand_app.domain.access import Role
from remand_app.domain.audit_filter import AuditFilter
from remand_app.engine import dead_queues as verbs
from remand_app.engine.queue_settings import queue_settings
from remand_app.resources.audit import list_page as audited
from tests.support.engine import Harness
from tests.support.shapes import always, shape
from tests.support.web import Web, csrf_of

pytestmark = pytest.mark.once


@pytest.fixture
def harness(web: Web) -> Harness:
    made = Harness(web.database, web.clock, web.bell, web.runtime.settings)
    made.publish(shape("pay", {"a": ()}))
    made.play(a=always(PermanentError("no")))
    return made


@pytest.fixture
def program(web: Web) -> httpx.Client:
    return web.program("admin", "ann")


def ask(client: httpx.Client, method: str, path: str, status: int = 200, **more: Any) -> Any:
    answered = client.request(method, f"/api/v1{path}", **more)
    assert answered.status_code == status, answered.text
    return answered.json()


def test_a_dead_queue_is_made_pointed_to_and_holds_letters(harness: Harness, program: httpx.Client) -> None:
    wanted = {"name": "payments-dead", "description": "of payments", "reason": "own team"}
    made = ask(program, "POST", "/dead-queues", 201, json=wanted)
    assert (made["name"], made["open"], made["queues"]) == ("payments-dead", 0, [])
    change = {"dead_queue": "payments-dead", "expire_after_seconds": 3600}
    assert ask(program, "PATCH", "/queues/steps/settings", json=change)["changed"]
    assert not ask(program, "PATCH", "/queues/steps/settings", json=change)["changed"]
    harness.submit("t/pay")
    harness.run_until_quiet()

    found = ask(program, "GET", "/dead-queues/payments-dead")

    assert (found["open"], found["queues"], found["created_by"]) == (1, ["steps"], "token:ann")
    assert len(ask(program, "GET", "/dlq?dead_queue=payments-dead")["items"]) == 1
    assert ask(program, "GET", "/queues/steps/settings") == {"queue": "steps", **change}
    entries = audited(harness.database, AuditFilter(by="token:ann"), limit=10).items
    assert {(one.verb, one.via) for one in entries} == {("dead_queue.create", "api"), ("queue.set", "api")}


def test_a_dead_queue_is_changed_and_deleted_and_no_letter_lost(
    harness: Harness, program: httpx.Client
) -> None:
    ask(program, "POST", "/dead-queues", 201, json={"name": "first"})
    ask(program, "POST", "/dead-queues", 201, json={"name": "second"})
    ask(program, "PATCH", "/queues/steps/settings", json={"dead_queue": "first"})
    harness.submit("t/pay")
    harness.run_until_quiet()
    assert ask(program, "PATCH", "/dead-queues/first", json={"size_limit": 5})["size_limit"] == 5

    refused = ask(program, "DELETE", "/dead-queues/first", 409)["error"]
    assert refused["code"] == "DEAD_QUEUE_IN_USE"
    gone = ask(program, "DELETE", "/dead-queues/first?move_to=second&reason=merged")

    assert gone == {"name": "first", "moved_to": "second", "moved": 1}
    assert [(one["name"], one["open"]) for one in ask(program, "GET", "/dead-queues")["items"]] == [
        ("default", 0), ("second", 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("request_", "body", "refused"),
    [
        ("POST /dead-queues", {"name": "default"}, (409, "NAME_TAKEN")),
        ("POST /dead-queues", {"name": "steps"}, (409, "DEAD_QUEUE_CHAINED")),
        ("POST /dead-queues", {"name": "no good"}, (422, "INPUT_INVALID")),
        ("POST /dead-queues", {"name": "x", "size_limit": 0}, (422, "INPUT_INVALID")),
        ("PATCH /dead-queues/nowhere", {"size_limit": 1}, (404, "DEAD_QUEUE_NOT_FOUND")),
        ("PATCH /queues/default/settings", {"dead_queue": "default"}, (409, "DEAD_QUEUE_CHAINED")),
        ("PATCH /queues/steps/settings", {"dead_queue": "nowhere"}, (404, "DEAD_QUEUE_NOT_FOUND")),
        ("PATCH /queues/steps/settings", {"expire_after_seconds": -1}, (422, "BAD_INPUT")),
    ],
)
def test_what_is_refused_says_why(
    harness: Harness, program: httpx.Client, request_: str, body: Any, refused: tuple[int, str]
) -> None:
    (method, path), (status, code) = request_.split(), refused
    assert ask(program, method, path, status, json=body)["error"]["code"] == code
    assert [one.name for one in verbs.list_dead_queues(harness.engine)] == ["default"]


def test_a_queue_that_nobody_knows_is_not_found(harness: Harness, program: httpx.Client) -> None:
    assert ask(program, "GET", "/queues/steps/settings")["dead_queue"] == "default"
    assert ask(program, "GET", "/queues/nowhere/settings", 404)["error"]["code"] == "QUEUE_NOT_FOUND"


def test_both_settings_of_a_queue_are_set_or_none(harness: Harness, program: httpx.Client) -> None:
    both = {"dead_queue": "nowhere", "expire_after_seconds": 60}

    ask(program, "PATCH", "/queues/steps/settings", 404, json=both)

    assert queue_settings(harness.engine, "steps").expire_after_seconds is None


def test_the_page_makes_points_and_deletes(harness: Harness, web: Web) -> None:
    browser = web.browser(Role.ADMIN)

    def post(path: str, status: int = 303, **form: str) -> str:
        answered = browser.post(path, data={"csrf": csrf_of(browser), **form})
        assert answered.status_code == status, answered.text[:500]
        return answered.text

    post("/dead-queues", name="bank-dead", description="of the <bank>", size_limit="1")
    post("/dead-queues/set", queue="steps", dead_queue="bank-dead")
    assert "dead_queue is empty" in post("/dead-queues/set", 422, queue="steps")
    # A page does what it offers, and no other verb of the noun.
    post("/dead-queues/other/create", 404)
    post("/queues/steps/set", 404, dead_queue="default")
    harness.submit("t/pay")
    harness.run_until_quiet()
    page = browser.get("/dead-queues").text
    assert "of the &lt;bank&gt;" in page
    assert "full" in page
    assert "/dlq/letters?dead_queue=bank-dead" in page
    assert "letters lie in it" in post("/dead-queues/bank-dead/delete", 409)
    post("/dead-queues/bank-dead/change", 422, size_limit="many")
    post("/dead-queues/bank-dead/change", size_limit="7")
    assert verbs.get_dead_queue(harness.engine, "bank-dead").size_limit == 7
    post("/dead-queues/bank-dead/delete", move_to="default")

    assert [(one.name, one.open) for one in verbs.list_dead_queues(harness.engine)] == [("default", 1)]


def test_who_only_looks_sees_no_buttons(harness: Harness, web: Web) -> None:
    page = web.browser(Role.VIEWER).get("/dead-queues").text

    assert "default" in page
    assert "Make a dead queue" not in page
