"""Messages that were set aside: one letter each, shown like every other, no secret in it. Source: B14."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from remand_app.engine import set_aside as engine
from remand_app.engine.operate import Who, requeue_letter, resolve_step
from remand_app.engine.set_aside import Unread
from remand_app.store.dead_letters import find_dead_letter
from remand_app.store.workflows import find_workflow
from tests.support.engine import Harness
from tests.support.invariants import check_invariants
from tests.support.web import Web

SECRET = "hunter2-canary"
MESSAGE = Unread(
    queue="retry.never",
    reason="its id is no text",
    digest="d" * 64,
    size=40,
    body=json.dumps([[], {"password": SECRET}, {}]).encode(),
    content_type="application/json",
    content_encoding="utf-8",
    headers=json.dumps({"task": "remand.drain", "id": [], "api_key": SECRET}),
    properties="{}",
)
PAGES = ("/", "/dlq", "/dlq/triage", "/dlq/letters", "/workflows", "/templates")


@pytest.fixture
def site(web: Web) -> Harness:
    return Harness(web.database, clock=web.clock, settings=web.runtime.settings)


def kept(site: Harness, **parts: Any) -> Any:
    """Return the input of the workflow that a message became."""
    letter = engine.set_aside(site.engine, replace(MESSAGE, **parts))
    assert letter is not None
    workflow = find_workflow(site.database, str(find_dead_letter(site.database, str(letter)).workflow_id))
    assert SECRET not in json.dumps(workflow.input)
    return workflow.input


def test_letter_says_what_came_from_where_and_why(site: Harness) -> None:
    told = kept(site)
    [letter] = site.database.call(
        "select source, source_id, queue, status, error_class, category from remand.dead_letters"
    )
    assert letter == ("message", "d" * 64, "retry.never", "pending", "remand.MessageInvalid", "validation")
    assert told["headers"]["task"] == "remand.drain"
    assert (told["reason"], told["is_cut"], told["size"]) == (MESSAGE.reason, False, 40)
    check_invariants(site.database)


def test_message_that_is_delivered_again_is_the_same_letter(site: Harness) -> None:
    assert engine.set_aside(site.engine, MESSAGE) is not None
    assert engine.set_aside(site.engine, MESSAGE) is None
    assert site.database.call("select count(*) from remand.dead_letters") == [(1,)]
    assert site.database.call("select count(*) from remand.workflows") == [(1,)]


def test_messages_with_one_fault_are_one_group(site: Harness) -> None:
    for number in range(3):
        engine.set_aside(site.engine, replace(MESSAGE, digest=f"{number:064}"))
    engine.set_aside(site.engine, replace(MESSAGE, digest="e" * 64, reason="its body is no JSON"))
    groups = site.database.call("select count(*) from remand.dead_letter_groups")
    assert groups == [(2,)]


@pytest.mark.parametrize(
    ("body", "key", "told"),
    [
        (b"", "body", ""),
        (b"{truncated", "body", "{truncated"),
        (b"a\0b", "body", "a\ufffdb"),
        (b'{"a": "\\u0000"}', "body", '{"a": "\\u0000"}'),
        (b"\xff\xfe\x00\x01", "body_base64", "//4AAQ=="),
        (b"[" * 5000, "body", "[" * 5000),
        (f"\xffpassword={SECRET}".encode("latin-1"), "body", None),
        (f"password={SECRET}".encode(), "body", None),
        (f'{{"password": "{SECRET}"}}'.encode(), "body", None),
    ],
)
def test_body_is_kept_as_far_as_postgres_can_hold_it(
    site: Harness, body: bytes, key: str, told: str | None
) -> None:
    stored = kept(site, body=body, size=len(body))
    assert key in stored
    assert told is None or stored[key] == told


def test_long_body_is_cut(site: Harness) -> None:
    stored = kept(site, body=("é" * 8192).encode()[:-1], size=1 << 20)
    assert stored["is_cut"]
    assert stored["body"] == "é" * 8191


@pytest.mark.parametrize(
    "headers", ["[" * 9000, '{"cut', '{"a": "\\ud800"}', '{"a": "\\u0000"}', "null", "7"]
)
def test_headers_that_are_no_json_are_kept_as_text(site: Harness, headers: str) -> None:
    assert isinstance(kept(site, headers=headers)["headers"], str | int | dict)


def test_every_page_shows_such_a_letter(web: Web, site: Harness) -> None:
    letter = engine.set_aside(site.engine, MESSAGE)
    workflow = find_dead_letter(site.database, str(letter)).workflow_id
    browser, api = web.browser("operator"), web.program("operator")
    [(group,)] = site.database.call("select id from remand.dead_letter_groups")
    pages = (*PAGES, f"/dlq/letters/{letter}", f"/dlq/groups/{group}", f"/workflows/{workflow}")
    shown = {page: browser.get(page) for page in pages}
    assert {page: answer.status_code for page, answer in shown.items() if answer.status_code != 200} == {}
    assert all(SECRET not in answer.text for answer in shown.values())
    answers = [api.get(f"/api/v1{path}") for path in (f"/dlq/{letter}", f"/workflows/{workflow}", "/dlq")]
    assert {answer.status_code for answer in answers} == {200}


def test_letter_that_is_requeued_fails_again_and_one_that_is_resolved_ends(site: Harness) -> None:
    letter = engine.set_aside(site.engine, MESSAGE)
    workflow = find_dead_letter(site.database, str(letter)).workflow_id
    requeue_letter(site.engine, find_dead_letter(site.database, str(letter)).id, Who("ann"))
    site.run_until_quiet()
    assert site.open_letter(workflow).id != letter
    resolve_step(site.engine, workflow, "read", Who("ann", "its sender is mended"))
    assert find_workflow(site.database, str(workflow)).state == "complete"
    check_invariants(site.database)
