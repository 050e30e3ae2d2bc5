"""The HTTP API on workflows, steps, templates, queues: what it answers, and what it refuses how."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from httpx import Client

from remand_app.store import workflow_search
from tests.support.engine import Harness, settings_for
from tests.support.shapes import CHAIN, always, shape
from tests.support.web import Web

NOBODY = UUID(int=7)  # the same in every test process: it is part of the names of tests


@pytest.fixture
def harness(web: Web) -> Harness:
    made = Harness(web.database, web.clock, web.bell, settings_for())
    made.publish(shape("chain", CHAIN))
    return made


@pytest.fixture
def client(web: Web) -> Client:
    return web.program("operator", "ann")


def get(client: Client, path: str, status: int = 200, **query: Any) -> Any:
    answered = client.get(f"/api/v1{path}", params=query)
    assert answered.status_code == status, answered.text
    return answered.json()


def patch(client: Client, path: str, status: int = 200, **body: Any) -> Any:
    answered = client.patch(f"/api/v1{path}", json=body)
    assert answered.status_code == status, answered.text
    return answered.json()


def submit(client: Client, status: int = 201, key: str | None = None, **body: Any) -> Any:
    headers = {} if key is None else {"Idempotency-Key": key}
    answered = client.post("/api/v1/workflows", json={"template": "t/chain", **body}, headers=headers)
    assert answered.status_code == status, answered.text
    return answered.json()


def test_a_submitted_workflow_is_there_and_its_place_is_named(harness: Harness, client: Client) -> None:
    answered = client.post("/api/v1/workflows", json={"template": "t/chain", "input": {"order": 17}})
    assert answered.status_code == 201
    assert answered.json()["created"] is True
    shown = client.get(answered.headers["Location"]).json()
    assert shown["input"] == {"order": 17}
    assert [one["name"] for one in shown["steps"]] == ["a", "b", "c", "d"]
    assert shown["submitted_by"] == "token:ann"
    assert harness.bell.take() == ["steps"]


def test_what_is_wrong_with_a_submission_is_said_by_code(harness: Harness, client: Client) -> None:
    assert submit(client, 404, template="t/none")["error"]["code"] == "TEMPLATE_NOT_FOUND"
    assert submit(client, 422, priority=10)["error"]["details"]["problems"][0]["path"] == "body.priority"
    assert submit(client, 422, unknown=1)["error"]["code"] == "BAD_INPUT"
    assert submit(client, 422, id=str(uuid4()))["error"]["code"] == "INPUT_INVALID"
    assert submit(client, 422, input="\0")["error"]["code"] == "INPUT_INVALID"
    answered = client.post("/api/v1/workflows", content=b"{", headers={"Content-Type": "application/json"})
    assert (answered.status_code, answered.json()["error"]["code"]) == (400, "MALFORMED_JSON")
    assert harness.database.call("select count(*) from remand.workflows") == [(0,)]


def test_an_own_id_makes_a_submit_safe_to_repeat(harness: Harness, client: Client) -> None:
    first = submit(client)
    again = submit(client, 200, id=first["workflow_id"])
    assert again == {"workflow_id": first["workflow_id"], "created": False}


def test_pages_hold_still_while_workflows_arrive(harness: Harness, client: Client) -> None:
    ids = [str(one) for one in harness.submit_many("t/chain", [{"n": n} for n in range(7)])]
    first = get(client, "/workflows", limit=3)
    harness.submit_many("t/chain", [{}] * 3)
    second = get(client, "/workflows", limit=3, cursor=first["next"])
    third = get(client, "/workflows", limit=3, cursor=second["next"])
    seen = [one["id"] for page in (first, second, third) for one in page["items"]]
    assert seen == sorted(ids, reverse=True)
    assert third["next"] is None


def test_workflows_are_found_by_what_people_know_of_them(harness: Harness, client: Client) -> None:
    harness.publish(shape("other", {"a": ()}))
    order = str(harness.submit("t/chain", {"order": 17, "who": {"name": "bo"}}))
    other = str(harness.submit("t/other", {"order": 18}))
    harness.play(a=always(ValueError("no")))
    harness.run_until_quiet()
    harness.advance(hours=1)

    def found(**query: Any) -> list[str]:
        return [one["id"] for one in get(client, "/workflows", **query)["items"]]

    assert found(**{"input.order": "17"}) == [order]
    assert found(**{"input.who.name": "bo"}) == [order]
    assert found(**{"input.order": "17", "input.who.name": "al"}) == []
    assert found(template="t/other") == [other]
    assert found(template="t/chain:2") == []
    assert found(namespace="u") == []
    assert found(id=order[:35]) == ([order] if order[:35] != other[:35] else [other, order])
    assert found(id="00000000") == []
    assert set(found(state=["blocked_by_failures", "complete"])) == {order, other}
    assert found(state="complete") == []
    assert found(tag="vip") == []
    old = harness.clock.now - timedelta(days=30)
    assert found(submitted_before="2020-01-01T00:00:00Z") == []
    assert set(found(submitted_after=old.isoformat().replace("+00:00", "Z"))) == {order, other}


def test_a_search_without_an_index_says_how_far_it_looked_and_goes_on_from_there(
    harness: Harness, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workflow_search, "STRETCH", 5)
    wanted = str(harness.submit("t/chain", {"order": 17}))
    harness.submit_many("t/chain", [{"order": 1}] * 6)
    page = get(client, "/workflows", **{"input.order": "17"})
    assert page["items"] == []
    assert page["looked_back_to"] is not None
    page = get(client, "/workflows", **{"input.order": "17", "cursor": page["next"]})
    assert [one["id"] for one in page["items"]] == [wanted]
    assert page["next"] is None
    assert page["looked_back_to"] is None


@pytest.mark.parametrize("bound", [2, 20_000])
def test_what_an_index_leads_to_is_found_however_much_it_is(
    harness: Harness, client: Client, monkeypatch: pytest.MonkeyPatch, bound: int
) -> None:
    monkeypatch.setattr(workflow_search, "STRETCH", bound)
    harness.submit("t/chain", tags=["other"])
    tagged = [str(harness.submit("t/chain", tags=["vip"])) for _ in range(5)][::-1]

    for query in ({"tag": "vip"}, {"tag": "vip", "state": "steps_in_process"}):
        first = get(client, "/workflows", limit=3, **query)
        rest = get(client, "/workflows", limit=3, **query, cursor=first["next"])
        assert [one["id"] for one in (*first["items"], *rest["items"])] == tagged, query
        assert rest["next"] is None
    assert len(get(client, "/workflows", state="steps_in_process")["items"]) == 6


@pytest.mark.parametrize(
    "query",
    [
        {"cursor": "abc"}, {"limit": 0}, {"limit": 201}, {"state": "gone"}, {"id": "xyz"},
        {"input.order": "\0"}, {"template": "\0"}, {"submitted_after": "yesterday"},
        {"submitted_after": "2026-01-01T00:00:00"},
    ],
)  # fmt: skip
def test_a_wrong_question_is_refused(client: Client, query: dict[str, Any]) -> None:
    error = get(client, "/workflows", 422, **query)["error"]
    assert error["code"] in ("BAD_INPUT", "INPUT_INVALID")
    assert set(error) == {"code", "message", "hint", "details"}


def test_a_step_is_retried_and_its_attempts_told(harness: Harness, client: Client) -> None:
    harness.play(b=always(ValueError("no such item")))
    workflow = harness.submit("t/chain")
    harness.run_until_quiet()
    shown = get(client, f"/workflows/{workflow}/steps/b")
    assert (shown["step"]["state"], [one["outcome"] for one in shown["attempts"]]) == ("error", ["failed"])
    harness.play(b="good")
    done = patch(client, f"/workflows/{workflow}/steps/b", action="retry", reason="item is there")
    assert (done["before"], done["after"], done["step"]) == ("error", "enqueued", "b")
    assert done["closed_letter"] is not None
    harness.run_until_quiet()
    assert get(client, f"/workflows/{workflow}")["state"] == "complete"
    assert len(get(client, f"/workflows/{workflow}/steps/b/attempts")["items"]) == 2


def test_a_step_that_cannot_be_retried_says_in_which_state_it_is(harness: Harness, client: Client) -> None:
    workflow = harness.submit("t/chain")
    harness.play()
    harness.run_until_quiet()
    error = patch(client, f"/workflows/{workflow}/steps/b", 409, action="retry")["error"]
    assert (error["code"], error["details"]["state"]) == ("ILLEGAL_MOVE", "complete")


def test_steps_are_completed_and_resolved_by_hand(harness: Harness, client: Client) -> None:
    harness.play(a=always(ValueError("no")), c=always(ValueError("no")))
    workflow = harness.submit("t/chain")
    harness.run_until_quiet()
    patch(client, f"/workflows/{workflow}/steps/a", action="complete", result={"n": 1}, reason="by phone")
    harness.run_until_quiet()
    patch(client, f"/workflows/{workflow}/steps/c", action="resolve")
    harness.run_until_quiet()
    shown = get(client, f"/workflows/{workflow}")
    assert shown["state"] == "complete"
    assert [(one["state"], one["result"]) for one in shown["steps"][:1]] == [("complete", {"n": 1})]
    history = get(client, f"/workflows/{workflow}/history", step="a")["items"]
    assert ("complete_manually", "token:ann", "by phone") in [
        (one["event"], one["by"], one["reason"]) for one in history
    ]


def test_a_workflow_is_cancelled_once(harness: Harness, client: Client) -> None:
    workflow = harness.submit("t/chain")
    assert patch(client, f"/workflows/{workflow}", action="cancel")["after"] == "cancelled"
    assert patch(client, f"/workflows/{workflow}", action="cancel")["changed"] is False
    ended = harness.submit("t/chain")
    harness.play()
    harness.run_until_quiet()
    error = patch(client, f"/workflows/{ended}", 409, action="cancel")["error"]
    assert (error["code"], error["details"]["state"]) == ("ILLEGAL_MOVE", "complete")


def test_secrets_in_values_are_masked(harness: Harness, client: Client) -> None:
    workflow = harness.submit("t/chain", {"password": "hush", "order": 1})
    assert get(client, f"/workflows/{workflow}")["input"] == {"password": "[redacted]", "order": 1}


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", f"/workflows/{NOBODY}", "WORKFLOW_NOT_FOUND"),
        ("GET", f"/workflows/{NOBODY}/steps", "WORKFLOW_NOT_FOUND"),
        ("GET", f"/workflows/{NOBODY}/history", "WORKFLOW_NOT_FOUND"),
        ("GET", f"/workflows/{NOBODY}/steps/a/attempts", "STEP_NOT_FOUND"),
        ("GET", "/queues/nowhere", "QUEUE_NOT_FOUND"),
        ("GET", "/breakers/nothing", "BREAKER_NOT_FOUND"),
        ("GET", "/templates/t/nothing", "TEMPLATE_NOT_FOUND"),
        ("GET", "/templates/t/chain/versions/9", "TEMPLATE_NOT_FOUND"),
        ("GET", "/nothing", "NOT_FOUND"),
        ("DELETE", "/workflows", "METHOD_NOT_ALLOWED"),
    ],
)
def test_what_is_not_there_has_one_shape(
    harness: Harness, client: Client, method: str, path: str, code: str
) -> None:
    answered = client.request(method, f"/api/v1{path}")
    assert answered.status_code == (405 if method == "DELETE" else 404)
    assert answered.json()["error"]["code"] == code


def test_a_queue_is_paused_and_goes_on(harness: Harness, client: Client) -> None:
    paused = patch(client, "/queues/steps", action="pause", reason="deploy")
    assert (paused["is_paused"], paused["paused_by"], paused["changed"]) == (True, "token:ann", True)
    assert patch(client, "/queues/steps", action="pause")["changed"] is False
    assert patch(client, "/queues/steps", action="resume")["is_paused"] is False
    assert patch(client, "/queues/remand.commands", 422, action="pause")["error"]["code"] == "INPUT_INVALID"
    assert next(one["queue"] for one in get(client, "/queues")["items"]) == "steps"


def test_a_breaker_is_opened_and_closed(harness: Harness, client: Client) -> None:
    opened = patch(client, "/breakers/h", action="open", seconds=60, reason="their maintenance")
    assert (opened["before"], opened["after"]) == ("closed", "open")
    shown = get(client, "/breakers/h")
    assert (shown["state"], shown["by"], shown["moves"][0]["to_state"]) == ("open", "token:ann", "open")
    assert patch(client, "/breakers/h", action="close")["after"] == "closed"
    patch(client, "/breakers/h", 422, action="open", seconds=-1)


def test_templates_are_listed_shown_and_checked(harness: Harness, client: Client) -> None:
    harness.publish(shape("chain", CHAIN, version="2"))
    page = get(client, "/templates", limit=1)
    assert [one["template"] for one in page["items"]] == ["t/chain:2"]
    rest = get(client, "/templates", limit=1, cursor=page["next"])
    assert ([one["template"] for one in rest["items"]], rest["next"]) == (["t/chain:1"], None)
    assert [one["template"] for one in get(client, "/templates/t/chain/versions")["items"]] == [
        "t/chain:2",
        "t/chain:1",
    ]
    assert get(client, "/templates/t/chain/versions/1")["definition"]["version"] == "1"
    checked = client.post("/api/v1/templates/validate", json={"text": "steps: 1"})
    assert checked.status_code == 422
    assert len(checked.json()["error"]["details"]["problems"]) >= 3


def test_the_service_is_ready_while_its_work_is_consumed(harness: Harness, web: Web) -> None:
    nobody = web.nobody()
    assert nobody.get("/api/v1/health/live").json() == {"status": "live"}
    assert nobody.get("/api/v1/health/ready").status_code == 503
    assert nobody.get("/api/v1/health").status_code == 401
    found = {one["name"]: one for one in get(web.program("viewer"), "/health")["checks"]}
    assert {name: one["ok"] for name, one in found.items()} == {
        "database": True, "schema": True, "broker": True, "beat": False, "workers": True,
    }  # fmt: skip


def test_the_document_names_every_permission_and_error(client: Client) -> None:
    document = get(client, "/openapi.json")
    assert document["openapi"].startswith("3.1")
    assert document["security"] == [{"token": []}]
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert operation["summary"], (method, path)
            if not path.startswith("/health/"):
                assert {"401", "403", "422"} <= set(operation["responses"]), (method, path)
    assert "HTTPValidationError" not in json.dumps(document)
