"""The HTTP API on dead letters and their groups."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid4

import pytest
from httpx import Client

from tests.support.engine import Harness, settings_for
from tests.support.shapes import CHAIN, always, shape
from tests.support.threads import together, values
from tests.support.web import Web


@pytest.fixture
def harness(web: Web) -> Harness:
    made = Harness(web.database, web.clock, web.bell, settings_for())
    made.publish(shape("chain", CHAIN))
    return made


@pytest.fixture
def client(web: Web) -> Client:
    return web.program("operator", "ann")


def get(client: Client, path: str, status: int = 200, /, **query: Any) -> Any:
    answered = client.get(f"/api/v1{path}", params=query)
    assert answered.status_code == status, answered.text
    return answered.json()


def send(client: Client, method: str, path: str, status: int = 200, /, **body: Any) -> Any:
    answered = client.request(method, f"/api/v1{path}", json=body)
    assert answered.status_code == status, answered.text
    return answered.json()


def fail(harness: Harness, amount: int = 1, error: Exception | None = None) -> list[UUID]:
    """Let workflows fail in step b; return their letters, oldest first."""
    harness.play(b=always(error or ValueError("no such item")))
    ids = harness.submit_many("t/chain", [{"order": n} for n in range(amount)])
    harness.run_until_quiet()
    return sorted(harness.open_letter(one).id for one in ids)


def ids_of(page: Any) -> list[str]:
    return [one["id"] for one in page["items"]]


def test_pages_of_letters_hold_still_while_letters_arrive_and_leave(harness: Harness, client: Client) -> None:
    letters = fail(harness, 6)
    first = get(client, "/dlq", limit=2)
    fail(harness, 3)
    send(client, "PATCH", f"/dlq/{letters[5]}", action="cancel")
    second = get(client, "/dlq", limit=2, cursor=first["next"])
    third = get(client, "/dlq", limit=2, cursor=second["next"])
    seen = [one for page in (first, second, third) for one in ids_of(page)]
    assert seen == [str(one) for one in reversed(letters)]
    assert third["next"] is None


def test_letters_are_found_by_their_marks(harness: Harness, client: Client) -> None:
    [value] = fail(harness)
    [slow] = fail(harness, error=PermissionError("not yours"))
    group = get(client, f"/dlq/{value}")["group_id"]

    def found(**query: Any) -> list[str]:
        return ids_of(get(client, "/dlq", **query))

    assert found(error_class="builtins.ValueError") == [str(value)]
    assert found(group_id=group) == [str(value)]
    assert found(text="NOT YOURS") == [str(slow)]
    assert found(template="chain", namespace="t", step="b") == [str(slow), str(value)]
    assert found(reason="expired") == []
    assert found(status=["requeued"]) == []
    send(client, "PATCH", f"/dlq/{slow}", action="claim")
    assert found(claimed_by="token:ann") == [str(slow)]
    send(client, "PATCH", f"/dlq/{slow}", action="cancel")
    assert found() == [str(value)]
    assert found(all="true") == [str(slow), str(value)]
    assert get(client, "/dlq", 422, all="true", status="pending")["error"]["code"] == "INPUT_INVALID"


@pytest.mark.parametrize(
    "query",
    [
        {"limit": 201}, {"cursor": "x"}, {"status": "gone"}, {"reasons": "expired"}, {"category": "odd"},
        {"group_id": "7"}, {"opened_from": "yesterday"}, {"text": "ab"}, {"namespace": "\0"},
    ],
)  # fmt: skip
def test_a_slip_in_a_question_is_no_longer_list(client: Client, query: dict[str, Any]) -> None:
    assert get(client, "/dlq", 422, **query)["error"]["code"] in ("BAD_INPUT", "INPUT_INVALID")


def test_the_queue_of_investigations_is_most_urgent_first_and_paged(harness: Harness, client: Client) -> None:
    letters = [str(one) for one in fail(harness, 3)]
    harness.advance(hours=2)
    letters += [str(one) for one in fail(harness, 2)]
    seen: list[str] = []
    cursor: str | None = None
    for _ in range(5):
        raw = "" if cursor is None else f"&cursor={cursor}"  # as who pastes it into a URL
        page = client.get(f"/api/v1/dlq/investigation-queue?limit=2{raw}").json()
        seen += ids_of(page)
        cursor = page["next"]
        if cursor is None:
            break
    assert sorted(seen[:3]) == letters[:3]
    assert sorted(seen[3:]) == letters[3:]
    quoted = get(client, "/dlq/investigation-queue", limit=2)["next"]
    again = client.get(f"/api/v1/dlq/investigation-queue?limit=2&cursor={quote(quoted)}").json()
    assert ids_of(again) == seen[2:4]


def test_an_entry_has_what_is_needed_to_find_out_why(harness: Harness, client: Client) -> None:
    [letter] = fail(harness)
    shown = get(client, f"/dlq/{letter}")
    assert shown["error_message"] == "no such item"
    assert [one["outcome"] for one in shown["attempts_made"]] == ["failed"]
    assert shown["snapshot"]["steps"]
    assert {"claim", "note", "requeue", "resolve", "cancel"} <= set(shown["verbs"])
    assert get(client, f"/dlq/by-workflow/{shown['workflow_id']}")["id"] == str(letter)
    assert get(client, f"/dlq/by-workflow/{uuid4()}", 404)["error"]["code"] == "DEAD_LETTER_NOT_FOUND"
    assert get(client, f"/dlq/{uuid4()}", 404)["error"]["code"] == "DEAD_LETTER_NOT_FOUND"


def test_who_comes_second_hears_who_has_it(harness: Harness, web: Web, client: Client) -> None:
    [letter] = fail(harness)
    done = send(client, "PATCH", f"/dlq/{letter}", action="claim", reason="mine")
    assert (done["before"], done["after"]) == ("pending", "investigating")
    other = web.program("operator", "bob")
    error = send(other, "PATCH", f"/dlq/{letter}", 409, action="claim")["error"]
    assert error["code"] == "ILLEGAL_MOVE"
    assert error["details"] == {"status": "investigating", "claimed_by": "token:ann"}


def test_one_of_many_claims_wins(harness: Harness, web: Web) -> None:
    [letter] = fail(harness)
    clients = [web.program("operator", f"p{n}") for n in range(4)]
    answers = values(
        together(
            *[
                lambda one=one: one.patch(f"/api/v1/dlq/{letter}", json={"action": "claim"})  # type: ignore[misc]
                for one in clients
            ]
        )
    )
    assert sorted(one.status_code for one in answers) == [200, 409, 409, 409]


def test_notes_are_added_and_read(harness: Harness, client: Client) -> None:
    [letter] = fail(harness)
    made = send(client, "POST", f"/dlq/{letter}/notes", 201, text=" card was never activated ")
    assert made == {"id": str(letter), "author": "token:ann", "text": "card was never activated"}
    assert [one["text"] for one in get(client, f"/dlq/{letter}/notes")["items"]] == [
        "card was never activated"
    ]
    send(client, "POST", f"/dlq/{letter}/notes", 422, text="")
    send(client, "POST", f"/dlq/{letter}/notes", 422, text="a\0b")


def test_a_requeued_letter_goes_on_and_is_closed_once(harness: Harness, client: Client) -> None:
    [letter] = fail(harness)
    workflow = get(client, f"/dlq/{letter}")["workflow_id"]
    harness.play(b="good")
    done = send(client, "POST", f"/dlq/{letter}/requeue", reason="item is there")
    assert done["closed_letter"] == str(letter)
    harness.run_until_quiet()
    assert get(client, f"/workflows/{workflow}")["state"] == "complete"
    error = send(client, "POST", f"/dlq/{letter}/requeue", 409)["error"]
    assert (error["code"], error["details"]["status"]) == ("ILLEGAL_MOVE", "requeued")
    shown = get(client, f"/dlq/{letter}")
    assert (shown["status"], shown["closed_by"], shown["resolution"]) == (
        "requeued", "token:ann", "item is there",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("body", "status", "state"),
    [
        ({"action": "resolve"}, "manually_resolved", "steps_in_process"),
        ({"action": "resolve", "whole_workflow": True}, "manually_resolved", "resolved_manually"),
        ({"action": "give_up"}, "permanently_failed", "error"),
        ({"action": "cancel"}, "cancelled", "cancelled"),
    ],
)
def test_a_letter_is_closed_as_somebody_decides(
    harness: Harness, client: Client, body: dict[str, Any], status: str, state: str
) -> None:
    [letter] = fail(harness)
    assert send(client, "PATCH", f"/dlq/{letter}", **body)["after"] == state
    assert get(client, f"/dlq/{letter}")["status"] == status
    send(client, "PATCH", f"/dlq/{letter}", 409, **body)


def test_groups_tell_causes_apart_and_are_dealt_with(harness: Harness, client: Client) -> None:
    fail(harness, 3)
    fail(harness, 1, PermissionError("not yours"))
    found = get(client, "/dlq/groups", order="recent")["items"]
    assert sorted(one["error_class"] for one in found) == ["builtins.PermissionError", "builtins.ValueError"]
    group = next(one["id"] for one in found if one["error_class"] == "builtins.ValueError")
    shown = get(client, f"/dlq/groups/{group}")
    assert (shown["letters"], shown["open_letters"], sum(shown["trend"])) == (3, 3, 3)
    assert send(client, "PATCH", f"/dlq/groups/{group}", action="claim")["owner"] == "token:ann"
    due = send(client, "PATCH", f"/dlq/groups/{group}", action="due", due_at="2026-12-01T00:00:00Z")
    assert due["due_at"] == "2026-12-01T00:00:00+00:00"
    send(client, "POST", f"/dlq/groups/{group}/notes", 201, text="upstream ticket 7")
    assert [one["text"] for one in get(client, f"/dlq/groups/{group}")["notes"]] == ["upstream ticket 7"]
    error = send(client, "PATCH", f"/dlq/groups/{group}", 409, action="resolve", reason="fixed")["error"]
    assert error["details"]["open_letters"] == 3
    send(client, "PATCH", f"/dlq/groups/{group}", 422, action="resolve")
    send(client, "PATCH", f"/dlq/groups/{group}", 422, action="explode")
    assert get(client, f"/dlq/groups/{uuid4()}", 404)["error"]["code"] == "GROUP_NOT_FOUND"


def test_what_was_decided_is_in_the_audit_log_for_admins(harness: Harness, web: Web, client: Client) -> None:
    [letter] = fail(harness)
    send(client, "PATCH", f"/dlq/{letter}", action="claim", reason="mine")
    assert get(client, "/audit", 403)["error"]["code"] == "NOT_ALLOWED"
    [entry] = get(web.program("admin", "root"), "/audit", verb="dead_letter")["items"]
    assert (entry["by"], entry["via"], entry["verb"], entry["reason"]) == (
        "token:ann", "api", "dead_letter.claim", "mine",
    )  # fmt: skip
    assert entry["after"] == {"status": "investigating"}


def test_who_may_only_look_changes_nothing(harness: Harness, web: Web) -> None:
    [letter] = fail(harness)
    viewer = web.program("viewer")
    assert get(viewer, f"/dlq/{letter}")["status"] == "pending"
    for method, path, body in [
        ("PATCH", f"/dlq/{letter}", {"action": "cancel"}),
        ("POST", f"/dlq/{letter}/requeue", {}),
        ("POST", f"/dlq/{letter}/notes", {"text": "x"}),
    ]:
        assert send(viewer, method, path, 403, **body)["error"]["code"] == "NOT_ALLOWED"
    assert get(web.nobody(), f"/dlq/{letter}", 401)["error"]["code"] == "NOT_SIGNED_IN"
    assert harness.open_letter(get(viewer, f"/dlq/{letter}")["workflow_id"]).status == "pending"


@pytest.mark.parametrize("action", ["resolve", "give_up", "cancel"])
def test_a_dry_run_says_what_would_be_and_changes_nothing(
    harness: Harness, client: Client, action: str
) -> None:
    [letter] = fail(harness)
    before = get(client, f"/dlq/{letter}")
    told = send(client, "PATCH", f"/dlq/{letter}", action=action, dry_run=True)
    assert (told["before"], told["closes_letter"]) == ("blocked_by_failures", str(letter))
    assert get(client, f"/dlq/{letter}") == before
    done = send(client, "PATCH", f"/dlq/{letter}", action=action)
    assert (done["before"], done["after"]) == (told["before"], told["after"])


def test_a_dry_run_of_a_requeue_names_what_runs_again(harness: Harness, client: Client) -> None:
    [letter] = fail(harness)
    harness.bell.take()
    told = send(client, "POST", f"/dlq/{letter}/requeue", dry_run=True)
    assert (told["runs_again"], told["then"]) == (["b"], ["c", "d"])
    workflow = get(client, f"/dlq/{letter}")["workflow_id"]
    step = send(client, "PATCH", f"/workflows/{workflow}/steps/b", action="retry", dry_run=True)
    assert step["runs_again"] == ["b"]
    whole = send(client, "PATCH", f"/workflows/{workflow}", action="cancel", dry_run=True)
    assert (whole["after"], whole["closed_as"]) == ("cancelled", "cancelled")
    assert (harness.open_letter(UUID(workflow)).id, harness.bell.take()) == (letter, [])


def test_suggestions_say_what_they_come_from(harness: Harness, client: Client) -> None:
    [letter] = fail(harness)
    group = get(client, f"/dlq/{letter}")["group_id"]
    send(client, "PATCH", f"/dlq/{letter}", action="cancel")
    send(client, "PATCH", f"/dlq/groups/{group}", action="resolve", reason="list was stale")
    [again] = fail(harness)
    told = get(client, f"/dlq/{again}/suggestions")["items"]
    assert [one["kind"] for one in told][:1] == ["resolved_before"]
    assert "list was stale" in told[0]["text"]
    assert get(client, f"/dlq/groups/{group}/suggestions")["items"] == told
