"""`remand classify` on what the database holds: stored attempts, and failures that no rule knew."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from remand.errors import RateLimited
from remand_app.cli.invoke import run
from remand_app.domain.user_rules import RuleSpec
from tests.support.engine import Harness
from tests.support.shapes import always, fails, shape

pytestmark = pytest.mark.once

HarnessWith = Callable[..., Harness]


class Odd(Exception):
    """What no built-in rule knows."""


ODD = f"{__name__}.Odd"


@pytest.fixture(autouse=True)
def at_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database_url: str) -> None:
    for name in ("REMAND_CONFIG", "REMAND_HANDLERS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("REMAND_DATABASE_URL", database_url)
    monkeypatch.setenv("REMAND_BROKER_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)


class Told:
    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *line: str, exits: int = 0) -> Any:
        self._capsys.readouterr()
        assert run(["classify", *line, "--json"]) == exits
        return json.loads(self._capsys.readouterr().out)

    def text(self, *line: str) -> str:
        self._capsys.readouterr()
        assert run(["classify", *line]) == 0
        return self._capsys.readouterr().out


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Told:
    return Told(capsys)


def failed(harness: Harness, error: BaseException, template: str = "") -> str:
    harness.publish(template or shape("one", {"a": ()}))
    harness.play(a=always(error))
    workflow_id = harness.submit("t/one")
    harness.drain()
    for policy in ("exponential", "linear", "immediate", "never"):
        harness.drain_failures(policy)
    return str(workflow_id)


def test_a_stored_attempt_is_explained(harness: Harness, told: Told) -> None:
    workflow = failed(harness, RateLimited("till 3 is busy", retry_after=90))
    answer = told("--attempt", workflow, "a", "1")
    attempt, today = answer["attempt"], answer["today"]
    assert answer["workflow_id"] == workflow
    assert attempt["failure"]["classification"]["rule"] == today["rule"] == "own-word.retry"
    assert attempt["failure"]["facts"]["bases"][0] == "remand.errors.RateLimited"
    assert (attempt["policy"], attempt["decision"]) == ("exponential", "retry")
    assert attempt["due_at"] is not None
    assert (today["retry_after"], today["winner"]["stage"]) == (90, "own word")
    shown = told.text("--attempt", workflow[-8:], "a", "1")
    assert re.search(r"failure +remand\.errors\.RateLimited: till 3 is busy", shown)
    assert re.search(r"decided +retry, due \d{4}-", shown)
    assert "today's rules say the same" in shown


def test_what_rules_of_today_would_say_of_it(harness: Harness, told: Told, tmp_path: Path) -> None:
    workflow = failed(harness, Odd("till 3 is locked"))
    assert told("--attempt", workflow, "a", "1")["today"]["rule"] == "unclassified"
    (tmp_path / "remand.toml").write_text(
        f'[[rules]]\nname = "till"\ncategory = "permanent"\nerrors = "{ODD}"\nmessage = "till"\n'
    )
    answer = told("--attempt", workflow, "a", "1")
    assert answer["attempt"]["failure"]["classification"]["rule"] == "unclassified"
    assert (answer["today"]["rule"], answer["today"]["policy"]) == ("till", "never")
    assert [one["then"] for one in answer["today"]["schedule"]] == ["dead_letter"]
    assert "today's rules say otherwise" in told.text("--attempt", workflow, "a", "1")


def test_rules_and_retries_of_the_template_are_those_of_the_attempt(harness: Harness, told: Told) -> None:
    rule = {"name": "mine", "category": "resource", "errors": ODD, "policy": "fixed"}
    own = shape("one", {"a": ()}, rules=[rule], retry={"fixed": {"delay_seconds": 7}, "jitter": 0})
    today = told("--attempt", failed(harness, Odd("no"), own), "a", "1")["today"]
    assert (today["rule"], today["winner"]["key"]) == ("mine", "template t/one:1")
    assert today["schedule"][0]["delay_seconds"] == 7


def test_what_is_not_there_or_did_not_fail_is_refused(harness: Harness, told: Told) -> None:
    harness.publish(shape("one", {"a": ()}))
    harness.play(a=fails(Odd("once")))
    workflow = harness.submit("t/one")
    harness.run_to_end(workflow)
    for line in (("b", "1"), ("a", "3")):
        assert told("--attempt", str(workflow), *line, exits=4)["error"]["code"] == "STEP_NOT_FOUND"
    assert told("--attempt", "0" * 12, "a", "1", exits=4)["error"]["code"] == "WORKFLOW_NOT_FOUND"
    refused = told("--attempt", str(workflow), "a", "2", exits=2)["error"]
    assert (refused["code"], "did not fail" in refused["message"]) == ("INPUT_INVALID", True)


def test_what_no_rule_knew_is_listed_with_a_rule_to_start_from(harness: Harness, told: Told) -> None:
    assert told("--unclassified")["items"] == []
    assert "every failure so far was known" in told.text("--unclassified")
    workflow = failed(harness, Odd("till 3 is locked by 'ada'"))
    failed(harness, Odd("till 17 is locked by 'bob'"))
    failed(harness, ConnectionResetError("known"))
    [one] = told("--unclassified")["items"]
    assert (one["count"], one["error_class"]) == (2, ODD)
    assert one["first_at"] <= one["last_at"]
    [spec] = tomllib.loads(one["rule"])["rules"]
    assert RuleSpec.model_validate(spec).to_rule().errors == (ODD,)
    shown = told.text("--unclassified")
    assert one["fingerprint"] in shown
    assert "[[rules]]" in shown
    harness.publish(shape("one", {"a": ()}))
    assert told("--attempt", workflow, "a", "1")["attempt"]["failure"]["fingerprint"] == one["fingerprint"]


def test_what_has_its_rule_is_taken_off_the_list(harness: Harness, told: Told) -> None:
    failed(harness, Odd("till 3"))
    [one] = told("--unclassified")["items"]

    assert told("--forget", one["fingerprint"]) == {"forgotten": one["fingerprint"]}
    assert told("--unclassified")["items"] == []
    refused = told("--forget", one["fingerprint"], exits=4)
    assert refused["error"]["code"] == "FINGERPRINT_NOT_FOUND"


def test_a_drafted_rule_ends_the_matter(harness: Harness, told: Told, tmp_path: Path) -> None:
    workflow = failed(harness, Odd("till 3 is locked by 'ada'"))
    [one] = told("--unclassified")["items"]
    (tmp_path / "remand.toml").write_text(one["rule"])
    assert (
        told("--attempt", workflow, "a", "1")["today"]["rule"]
        == tomllib.loads(one["rule"])["rules"][0]["name"]
    )
