"""The HTTP API on redrives: what was planned is what is done, and what became of each letter is told."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
from httpx import Client

from remand_app.engine.sweeps.redrive import redrive as sweep
from tests.support.engine import Harness, settings_for
from tests.support.shapes import CHAIN, always, shape
from tests.support.web import Web

pytestmark = pytest.mark.once


@pytest.fixture
def harness(web: Web) -> Harness:
    made = Harness(web.database, web.clock, web.bell, settings_for())
    made.publish(shape("chain", CHAIN))
    return made


@pytest.fixture
def client(web: Web) -> Client:
    return web.program("operator", "ann")


def ask(client: Client, method: str, path: str, status: int = 200, /, **sent: Any) -> Any:
    answered = client.request(method, f"/api/v1{path}", **sent)
    assert answered.status_code == status, answered.text
    return answered.json()


def plan(client: Client, status: int = 201, /, **body: Any) -> Any:
    return ask(client, "POST", "/redrives", status, json=body)


def fail(harness: Harness, amount: int) -> list[UUID]:
    harness.play(b=always(ValueError("no such item")))
    workflows = harness.submit_many("t/chain", [{}] * amount)
    harness.run_until_quiet()
    return [harness.open_letter(one).id for one in workflows]


def test_exactly_what_was_planned_is_sent_back(harness: Harness, client: Client) -> None:
    letters = fail(harness, 3)
    made = plan(client, selection={"template": "chain"}, reason="item is there")
    assert (made["redrive"]["state"], made["redrive"]["total"]) == ("planned", 3)
    assert made["forecast"]["letters"] == 3
    later = fail(harness, 2)
    redrive_id = made["redrive"]["id"]
    assert ask(client, "PATCH", f"/redrives/{redrive_id}", json={"action": "start"})["total"] == 3
    harness.play(b="good")
    sweep(harness.engine)
    harness.run_until_quiet()
    sweep(harness.engine)
    shown = ask(client, "GET", f"/redrives/{redrive_id}")["redrive"]
    assert (shown["state"], shown["succeeded"], shown["started_by"]) == ("finished", 3, "token:ann")
    items = ask(client, "GET", f"/redrives/{redrive_id}/items", params={"limit": 2})
    rest = ask(client, "GET", f"/redrives/{redrive_id}/items", params={"cursor": items["next"]})
    seen = [one["letter_id"] for page in (items, rest) for one in page["items"]]
    assert sorted(seen) == sorted(str(one) for one in letters)
    open_ones = ask(client, "GET", "/dlq")["items"]
    assert sorted(one["id"] for one in open_ones) == sorted(str(one) for one in later)
    assert [one["id"] for one in ask(client, "GET", "/redrives")["items"]] == [redrive_id]


def test_everything_must_be_said(harness: Harness, client: Client) -> None:
    fail(harness, 1)
    assert plan(client, 422, selection={})["error"]["code"] == "UNFILTERED"
    assert plan(client, 201, selection={"everything": True})["redrive"]["total"] == 1


def test_named_letters_that_are_not_there_are_told(harness: Harness, client: Client) -> None:
    [letter] = fail(harness, 1)
    missing = uuid4()
    made = plan(client, selection={"ids": [str(letter), str(missing)]})["redrive"]
    assert (made["total"], made["waiting"], made["not_found"]) == (2, 1, 1)
    page = ask(client, "GET", f"/redrives/{made['id']}/items", params={"state": "not_found"})
    assert [one["letter_id"] for one in page["items"]] == [str(missing)]


def test_a_plan_repeated_with_its_key_is_one_plan(harness: Harness, client: Client) -> None:
    fail(harness, 1)
    sent = {"json": {"selection": {"step": "b"}}, "headers": {"Idempotency-Key": "k"}}
    first, again = (ask(client, "POST", "/redrives", 201, **sent) for _ in range(2))
    assert first["redrive"]["id"] == again["redrive"]["id"]
    assert harness.database.call("select count(*) from remand.redrives") == [(1,)]


def test_what_cannot_be_is_refused_with_how_it_stands(harness: Harness, client: Client) -> None:
    fail(harness, 1)
    one = plan(client, selection={"step": "b"}, canary=[1])["redrive"]["id"]
    path = f"/redrives/{one}"
    error = ask(client, "PATCH", path, 409, json={"action": "pause"})["error"]
    assert (error["code"], error["details"]["state"]) == ("ILLEGAL_MOVE", "planned")
    ask(client, "PATCH", path, json={"action": "start"})
    assert ask(client, "PATCH", path, json={"action": "pause"})["state"] == "paused"
    ask(client, "PATCH", path, json={"action": "resume"})
    assert ask(client, "PATCH", path, json={"action": "cancel"})["state"] == "cancelled"
    assert ask(client, "PATCH", path, 409, json={"action": "resume"})["error"]["code"] == "ILLEGAL_MOVE"
    assert ask(client, "GET", f"/redrives/{uuid4()}", 404)["error"]["code"] == "REDRIVE_NOT_FOUND"


@pytest.mark.parametrize(
    "wrong",
    [
        {"canary": [0]}, {"success_share": 0}, {"rate_per_second": 0}, {"priority": 10},
        {"verb": "delete"}, {"not_before": "2026-01-01T00:00:00"}, {"queue": "retry.never"},
        {"verb": "cancel", "priority": 3}, {"selection": {"template": "chain", "reasons": ["expired"]}},
    ],
)  # fmt: skip
def test_a_wrong_order_is_refused(client: Client, wrong: dict[str, Any]) -> None:
    error = plan(client, 422, **{"selection": {"step": "b"}, **wrong})["error"]
    assert error["code"] in ("BAD_INPUT", "INPUT_INVALID")


def test_who_may_only_look_plans_nothing(web: Web, harness: Harness) -> None:
    assert plan(web.program("viewer"), 403, selection={"step": "b"})["error"]["code"] == "NOT_ALLOWED"
