"""The command line as a program uses it: JSON on standard output, and an exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.site import TEMPLATES, Site

pytestmark = pytest.mark.once

WHO = ("--by", "ada", "--reason", "looked into it")


@pytest.fixture(scope="module")
def site(shared_site: Site) -> Site:
    shared_site.start_worker("steps")
    shared_site.ready("steps", "support")
    return shared_site


def blocked(site: Site, ref: str = "site/chain", step: str = "b") -> tuple[str, str]:
    """Return a workflow that needs a person, and its dead letter."""
    parts = json.dumps({step: {"give_up_on": [1]}})
    answer = site.cli("submit", ref, "--input", parts, "--wait", "--timeout", "60", exits=1)
    assert answer["state"] == "blocked_by_failures"
    [letter] = site.cli("dlq", "list", "--workflow", answer["workflow_id"])["items"]
    return answer["workflow_id"], letter["id"]


def test_submit_is_followed_to_its_end(site: Site) -> None:
    done = site.cli("submit", "site/diamond", "--input", '{"d": {"result": {"sum": 7}}}', "--wait")
    workflow = done["workflow_id"]
    assert (done["created"], done["state"]) == (True, "complete")
    shown = site.cli("workflow", "show", workflow)
    assert {step["name"]: step["state"] for step in shown["steps"]} == dict.fromkeys("abcd", "complete")
    moves = site.cli("workflow", "history", workflow)["items"]
    assert moves[-1]["to_state"] == "complete"
    assert site.cli("workflow", "wait", workflow[-12:])["state"] == "complete"
    listed = site.cli("workflow", "list", "--template", "site/diamond", "--state", "complete")["items"]
    assert workflow in [one["id"] for one in listed]
    step = site.cli("step", "show", workflow, "d")
    assert step["step"]["result"] == {"sum": 7}


def test_same_key_or_id_is_the_same_workflow(site: Site) -> None:
    first = site.cli("submit", "site/strict", "--input", '{"n": 1}', "--key", "k-1")
    second = site.cli("submit", "site/strict", "--input", '{"n": 1}', "--key", "k-1")
    assert (first["workflow_id"], first["created"]) == (second["workflow_id"], True)
    assert second["created"] is False


def test_investigation_ends_with_a_requeue(site: Site) -> None:
    workflow, letter = blocked(site)
    assert site.cli("dlq", "claim", letter, *WHO)["after"] == "investigating"
    refused = site.cli("dlq", "claim", letter, "--by", "bob", exits=5)
    assert refused["error"]["code"] == "ILLEGAL_MOVE"
    assert "ada" in refused["error"]["message"]
    site.cli("dlq", "note", letter, "the second one is told to give up", "--by", "ada")
    shown = site.cli("dlq", "show", workflow)
    assert [note["text"] for note in shown["notes"]] == [
        "looked into it",
        "the second one is told to give up",
    ]
    site.cli("dlq", "requeue", letter, *WHO)
    assert site.cli("workflow", "wait", workflow)["state"] == "complete"
    assert site.cli("dlq", "requeue", letter, *WHO, exits=5)["error"]["code"] == "ILLEGAL_MOVE"
    site.check()


@pytest.mark.parametrize(
    ("words", "state", "result"),
    [
        (
            ("step", "retry", "WORKFLOW", "b", "--input", '{"result": "other input"}'),
            "complete",
            "other input",
        ),
        (("step", "complete", "WORKFLOW", "b", "--result", '"by hand"'), "complete", "by hand"),
        (("step", "resolve", "WORKFLOW", "b"), "complete", None),
        (("dlq", "resolve", "LETTER"), "complete", None),
    ],
    ids=["retry", "complete", "resolve", "dlq resolve"],
)
def test_step_in_error_is_repaired_and_the_workflow_goes_on(
    site: Site, words: tuple[str, ...], state: str, result: Any
) -> None:
    workflow, letter = blocked(site)
    named = {"WORKFLOW": workflow, "LETTER": letter}
    site.cli(*(named.get(word, word) for word in words), *WHO)
    assert site.cli("workflow", "wait", workflow)["state"] == state
    assert site.cli("step", "show", workflow, "b")["step"]["result"] == result
    assert site.cli("dlq", "list", "--workflow", workflow)["items"] == []
    assert "ada" in {move["by"] for move in site.cli("workflow", "history", workflow)["items"]}
    site.check()


def test_cancel_closes_the_investigation(site: Site) -> None:
    workflow, letter = blocked(site)
    site.cli("dlq", "cancel", letter, *WHO)
    assert site.cli("workflow", "show", workflow)["state"] == "cancelled"
    assert site.cli("workflow", "wait", workflow, exits=1)["state"] == "cancelled"
    assert site.cli("workflow", "cancel", workflow)["changed"] is False
    assert site.cli("step", "retry", workflow, "b", exits=5)["error"]["code"] == "ILLEGAL_MOVE"


def test_many_at_once_and_a_wait_that_is_over_too_early(site: Site) -> None:
    many = site.cli("submit", "site/one", "--count", "30", "--wait", "--timeout", "60")
    assert {one["state"] for one in many["workflows"]} == {"complete"}
    held = site.cli("submit", "site/one", "--input", '{"hold_on": [1], "hold": "cli"}')
    early = site.cli("workflow", "wait", held["workflow_id"], "--timeout", "0.1", exits=1)
    assert early["error"]["code"] == "WAIT_TIMED_OUT"
    site.release("cli")
    assert site.cli("workflow", "wait", held["workflow_id"])["state"] == "complete"


def test_templates_are_checked_published_and_shown(site: Site, tmp_path: Path) -> None:
    path = tmp_path / "new.yaml"
    path.write_text("{namespace: site, name: new, version: '1', steps: [{name: only, handler: site.play}]}")
    assert site.cli("template", "validate", str(path)) == {"templates": ["site/new:1"], "warnings": []}
    assert site.cli("template", "publish", str(path), str(TEMPLATES))
    assert "site/new:1" in {one["template"] for one in site.cli("template", "list")["items"]}
    assert site.cli("submit", "site/new", "--wait", "--timeout", "60")["state"] == "complete"
    path.write_text(path.read_text().replace("site.play", "site.poison"))
    changed = site.cli("template", "publish", str(path), exits=5)
    assert changed["error"]["code"] == "TEMPLATE_CHANGED"


def test_state_of_the_house_is_told(site: Site) -> None:
    assert site.cli("config", "check")["ok"] is True
    assert site.cli("doctor")["ok"] is True
    told = site.cli("classify", "ConnectionResetError", "--message", "[Errno 104] Connection reset by peer")
    assert (told["category"], told["policy"]) == ("network", "exponential")
