"""`remand classify` without a database: what it tells of an exception, of rules, of an unknown failure."""

from __future__ import annotations

import io
import json
import re
import sys
import tomllib
import traceback
from pathlib import Path
from typing import Any

import pytest

from remand.classify import classify
from remand.failure import capture
from remand.rules import BOOK, FAMILIES, user
from remand.rules.user import UserRule
from remand_app.cli.invoke import run
from remand_app.cli.render.rule_draft import draft, pattern_of
from remand_app.domain.user_rules import RuleSpec
from tools.docgen.rules import classification


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("REMAND_DATABASE_URL", "REMAND_BROKER_URL", "REMAND_CONFIG", "REMAND_HANDLERS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(user, "_registered", {})
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


def test_the_winner_is_told_with_its_source_and_the_way_to_it(told: Told) -> None:
    answer = told("urllib.error.HTTPError", "--attr", "code=503", "--header", "Retry-After=400")
    assert (answer["rule"], answer["source"]) == ("http.unavailable", "RFC 9110 section 15")
    assert (answer["winner"]["stage"], answer["winner"]["key"]) == ("codes", "HTTP 503")
    assert answer["considered"][-1] == answer["winner"]
    assert answer["considered"][0]["stage"] == "own word"
    assert {"subject": "urllib.error.HTTPError", "kind": "status", "code": "503"} in answer["codes"]


def test_the_range_of_the_jitter_is_told_and_never_below_the_wait_asked_for(told: Told) -> None:
    plan = told("shop.Slow", "--by-name", "--attr", "retry_after=400")["schedule"]
    assert [(one["attempt"], one["then"]) for one in plan] == [(1, "retry"), (2, "retry"), (3, "dead_letter")]
    assert plan[0]["least_seconds"] == 400
    assert plan[0]["most_seconds"] == pytest.approx(460)
    plain = told("TimeoutError")["schedule"][0]
    assert (plain["least_seconds"], plain["delay_seconds"], plain["most_seconds"]) == (51, 60, 69)
    assert "after attempt 1: again in 60 s (51 s to 69 s)" in told.text("TimeoutError")


def test_people_see_the_rules_considered_and_all_else_when_they_ask(told: Told) -> None:
    line = ("urllib.error.HTTPError", "--attr", "code=403")
    short, whole = told.text(*line), told.text(*line, "--verbose")
    for shown in (short, whole):
        assert re.search(r"codes +urllib\.error\.HTTPError +HTTP 403 +http\.forbidden +matched", shown)
        assert re.search(r"http\.forbidden-asked +condition not met", shown)
    assert "registered rules" not in short
    assert re.search(r"registered rules +urllib\.error\.HTTPError +no rule", whole)


def test_what_is_looked_through_is_told(told: Told) -> None:
    line = ("shop.Failed", "--by-name", "--cause", "ConnectionResetError")
    assert told(*line)["wrappers"] == ["shop.Failed"]
    assert re.search(r"looked through +shop\.Failed", told.text(*line))


def test_rules_of_the_settings_are_asked(told: Told, tmp_path: Path) -> None:
    (tmp_path / "remand.toml").write_text(
        '[[rules]]\nname = "till"\ncategory = "resource"\nerrors = "shop.Locked"\npolicy = "fibonacci"\n'
        '[retry.policies]\nnetwork = "never"\n'
    )
    answer = told("shop.Locked")
    assert (answer["rule"], answer["policy"], answer["winner"]["stage"]) == (
        "till",
        "fibonacci",
        "registered rules",
    )
    assert "remand.toml" in answer["source"]
    changed = told("ConnectionResetError")
    assert (changed["policy"], changed["policy_of_rule"]) == ("never", "exponential")
    assert "never (by configuration; the rule says exponential)" in told.text("ConnectionResetError")


def test_rules_in_code_are_asked_and_missed_aloud(
    told: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "cli_classify_rules.py").write_text(
        "import remand\n\n@remand.rule(errors='shop.Locked')\ndef till(exc):\n    return 'validation'\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("REMAND_HANDLERS", "cli_classify_rules")
    assert told("shop.Locked")["rule"] == "cli_classify_rules.till"
    monkeypatch.setenv("REMAND_HANDLERS", "cli_classify_nothing")
    assert run(["classify", "shop.Locked", "--by-name"]) == 0
    assert "rules in code are left out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (["Nope"], "Nope"),
        (["shop.gateway.Nope"], "shop.gateway.Nope"),
        (["json.Nope"], "json.Nope"),
        (["shlex.shlex"], "shlex.shlex"),
        (["ValueError", "--cause", "Nope"], "Nope"),
        (["shop.Gone", "--base", "Nope"], "shop.Gone"),
        (["Nope", "--attr", "status=503", "--message", "connection refused"], "Nope"),
    ],
    ids=" ".join,
)
def test_a_class_that_does_not_exist_is_not_judged(told: Told, line: list[str], name: str) -> None:
    refused = told(*line, exits=4)["error"]
    assert (refused["code"], refused["details"]) == ("CLASS_NOT_FOUND", {"class": name})
    assert "--by-name" in refused["hint"]
    assert told(*line, "--by-name")["category"]


def test_a_slip_of_the_pen_is_told_what_was_meant(told: Told) -> None:
    assert "did you mean ValueError?" in told("ValueEror", exits=4)["error"]["hint"]
    assert "did you mean urllib.error.HTTPError?" in told("urllib.error.HTTPErr", exits=4)["error"]["hint"]


def test_a_class_that_is_not_installed_is_judged_where_a_rule_names_it(told: Told) -> None:
    assert told("kafka.errors.NoBrokersAvailable")["rule"] == "kafka.network"
    assert told("shop.Gone", "--base", "ConnectionError")["category"] == "network"


def test_a_traceback_on_standard_input_is_enough(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        raise ConnectionResetError(104, "Connection reset by peer")
    except ConnectionResetError:
        text = traceback.format_exc()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert told("--traceback", "-")["rule"] == "os.connection"


def test_the_rules_are_listed_the_users_first(told: Told, tmp_path: Path) -> None:
    rule = '[[rules]]\nname = "till"\ncategory = "resource"\nstatuses = [409]\nmessage = "till"\n'
    (tmp_path / "remand.toml").write_text(rule)
    listed = told("--rules")["items"]
    assert len(listed) == len(BOOK.rules) + 1
    assert (listed[0]["name"], listed[0]["statuses"], listed[0]["policy"]) == ("till", [409], "linear")
    only = told("--rules", "--family", "sqlite")["items"]
    assert {one["family"] for one in only} == {"sqlite"}
    assert only[0]["keys"][0] == "SQLITE_BUSY"
    shown = told.text("--rules")
    assert re.search(r"till +settings +HTTP 409, message ~ till +resource/linear", shown)
    for family in FAMILIES:
        assert family.about in shown


@pytest.mark.parametrize(
    "line",
    [
        ["KeyError", "--traceback", "-"],
        ["KeyError", "--rules"],
        ["--rules", "--unclassified"],
        ["--rules", "--family", "nothing"],
        ["KeyError", "--family", "http"],
        ["--attempt", "w", "s", "x"],
    ],
)
def test_what_does_not_go_together_is_refused(line: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["classify", *line, "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "USAGE"


def test_every_rule_is_in_the_reference() -> None:
    page = classification()
    for rule in BOOK.rules:
        assert f"| `{rule.name}` |" in page


class TillLocked(Exception):
    """What no rule knows."""


@pytest.mark.parametrize(
    ("message", "other", "foreign"),
    [
        ("till 3 is locked by 'ada'", "till 17 is locked by 'bob c.'", "till 3 is open"),
        ("no\nsuch   till: 5f0e1c2a-0000-4000-8000-0123456789ab", "no such till: 1", "no till"),
        ("https://till.example/3 says (no)", "http://x/y says (no)", "says (no)?"),
        ('he said "C:\\temp" and ü', 'he said "x" and ü', "he said x"),
        ("password=[redacted] was refused", "password=hunter2 was refused", "it was refused"),
    ],
)
def test_a_drafted_rule_matches_its_failure_and_its_like(message: str, other: str, foreign: str) -> None:
    failure = capture(TillLocked(message))
    text = draft(failure.error_class, failure.message, failure.fingerprint)
    [spec] = tomllib.loads(text)["rules"]
    rule = RuleSpec.model_validate(spec).to_rule()
    book = BOOK.extended([("settings", [rule])])
    assert rule.name == f"till-locked-{failure.fingerprint[:4]}"
    for said in (message, other):
        assert classify(TillLocked(said), book=book).rule == rule.name
    assert classify(TillLocked(foreign), book=book).rule == "unclassified"


@pytest.mark.parametrize("message", ["", "17", "'x'", "\x7f\x00", "…", "." * 5000, "a" * 5000, "<n> <value>"])
def test_a_draft_is_sound_whatever_was_said(message: str) -> None:
    [spec] = tomllib.loads(draft("shop.Odd", message, "0123456789abcdef"))["rules"]
    RuleSpec.model_validate(spec)
    pattern = pattern_of(message)
    assert not pattern or re.search(pattern, message, re.IGNORECASE)
    [nameless] = tomllib.loads(draft("not a name", "till is locked", "0123456789abcdef"))["rules"]
    assert "errors" not in nameless
    assert UserRule(nameless["name"], "network", message=nameless["message"])
