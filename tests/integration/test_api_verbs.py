"""Over HTTP: hand letters on, mark them; pause, skip, restart; what is refused says why."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from httpx import Client

from remand import PermanentError
from remand_app.store import dead_letters
from tests.support.engine import Harness, settings_for
from tests.support.invariants import check_invariants
from tests.support.shapes import CHAIN, always, fails, shape
from tests.support.web import Web

pytestmark = pytest.mark.once

NO = PermanentError("no")


@pytest.fixture
def harness(web: Web) -> Harness:
    made = Harness(web.database, web.clock, web.bell, settings_for())
    made.publish(shape("chain", CHAIN))
    made.play()
    return made


@pytest.fixture
def client(web: Web) -> Client:
    return web.program("operator", "ann")


def get(client: Client, path: str) -> Any:
    answered = client.get(f"/api/v1{path}")
    assert answered.status_code == 200, answered.text
    return answered.json()


def patch(client: Client, path: str, status: int = 200, **body: Any) -> Any:
    answered = client.patch(f"/api/v1{path}", json=body)
    assert answered.status_code == status, answered.text
    return answered.json()


def failed(harness: Harness) -> tuple[UUID, UUID]:
    """A workflow whose first step failed for good, and its letter."""
    harness.play(a=fails(NO))
    workflow_id = harness.submit("t/chain", {})
    harness.run_until_quiet()
    return workflow_id, dead_letters.find_dead_letter(harness.database, str(workflow_id)).id


def test_null_is_an_input_and_none_is_left_out(harness: Harness, client: Client) -> None:
    workflow_id, _ = failed(harness)
    path = f"/workflows/{workflow_id}/steps/a"
    patch(client, path, action="retry", input={"n": 1})
    assert get(client, path)["step"]["input"] == {"n": 1}
    harness.play(a=always(NO))
    harness.run_until_quiet()
    patch(client, path, action="retry")
    assert get(client, path)["step"]["input"] == {"n": 1}
    harness.run_until_quiet()
    patch(client, path, action="retry", input=None)
    told = get(client, path)["step"]
    assert (told["input"], told["has_own_input"]) == (None, True)


def test_a_letter_is_marked_linked_and_handed_over(harness: Harness, web: Web, client: Client) -> None:
    _, letter = failed(harness)
    path = f"/dlq/{letter}"
    patch(client, path, action="label", add=["vip", "late"])
    patch(client, path, action="label", remove=["late"])
    patch(client, path, action="link", add=["https://tickets.example/7"])
    patch(client, path, 422, action="link", add=["javascript:alert(1)"])
    patch(client, path, action="metadata", values={"team": "pay", "password": "hush"})
    patch(client, path, action="assign", assignee="token:bob", reason="his shift")

    shown = get(client, path)
    assert (shown["labels"], shown["links"]) == (["vip"], ["https://tickets.example/7"])
    assert (shown["metadata"]["team"], shown["metadata"]["password"]) == ("pay", "[redacted]")
    assert (shown["claimed_by"], shown["status"]) == ("token:bob", "investigating")
    refused = patch(client, path, 409, action="release")["error"]
    assert refused["details"]["claimed_by"] == "token:bob"
    assert patch(client, path, action="release", take_over=True)["after"] == "pending"
    bob = web.program("operator", "bob")
    assert patch(bob, path, action="release")["changed"] is False
    check_invariants(harness.database)


def test_a_workflow_is_paused_and_goes_on(harness: Harness, client: Client) -> None:
    path = f"/workflows/{harness.submit('t/chain', {})}"
    assert patch(client, path, action="pause", reason="deploy", dry_run=True)
    assert get(client, path)["paused_at"] is None
    patch(client, path, action="pause", reason="deploy")
    shown = get(client, path)
    assert (shown["hold"], shown["paused_by"], shown["pause_reason"]) == ("paused", "token:ann", "deploy")
    assert patch(client, path, action="pause")["changed"] is False
    harness.run_until_quiet()
    assert {one["state"] for one in get(client, path)["steps"]} == {"pending"}

    patch(client, path, action="resume")
    harness.run_until_quiet()

    assert get(client, path)["state"] == "complete"
    check_invariants(harness.database)


def test_a_failed_step_is_skipped_with_what_is_behind_it(harness: Harness, client: Client) -> None:
    workflow_id, letter = failed(harness)
    path = f"/workflows/{workflow_id}/steps/a"

    assert patch(client, path, action="skip", dry_run=True)
    assert get(client, path)["step"]["state"] == "error"
    patch(client, path, action="skip", reason="not needed")

    assert get(client, f"/dlq/{letter}")["status"] == "manually_resolved"
    assert {one["state"] for one in get(client, f"/workflows/{workflow_id}/steps")["items"]} == {
        "resolved_manually"
    }
    assert patch(client, path, 409, action="skip")["error"]["code"] == "ILLEGAL_MOVE"
    check_invariants(harness.database)


def test_a_workflow_is_restarted_from_a_step(harness: Harness, client: Client) -> None:
    workflow_id, letter = failed(harness)
    path = f"/workflows/{workflow_id}"

    patch(client, path, action="restart", step="a", reason="fixed")
    harness.run_until_quiet()

    assert get(client, path)["state"] == "complete"
    assert get(client, f"/dlq/{letter}")["status"] == "requeued"
    assert patch(client, path, 409, action="restart", step="a")["error"]["code"] == "ILLEGAL_MOVE"
    check_invariants(harness.database)


def test_submits_of_a_paused_template_wait_and_keep_their_tags(harness: Harness, client: Client) -> None:
    paused = patch(client, "/templates/t/chain", action="pause", reason="deploy")
    assert (paused["changed"], paused["workflows"]) == (True, 0)
    body = {"template": "t/chain", "tags": ["eu", "vip"]}
    made = client.post("/api/v1/workflows", json=body).json()["workflow_id"]
    shown = get(client, f"/workflows/{made}")
    assert (shown["hold"], shown["tags"]) == ("paused", ["eu", "vip"])

    assert patch(client, "/templates/t/chain", action="resume")["workflows"] == 1
    harness.run_until_quiet()

    assert get(client, f"/workflows/{made}")["state"] == "complete"
    check_invariants(harness.database)
