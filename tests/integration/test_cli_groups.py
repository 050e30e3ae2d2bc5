"""`remand dlq groups`, `group`, `stats`, `triage`, `watch`, `remand top`. Source: C8, C11."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import remand_app.cli.main  # noqa: F401 - registers the commands
from remand.errors import PermanentError
from remand_app.cli.commands.dlq_groups import bars
from remand_app.cli.invoke import run
from remand_app.engine.operate import Who, requeue_letter
from tests.support.clock import FakeClock
from tests.support.engine import Harness
from tests.support.shapes import always, shape

pytestmark = pytest.mark.once

Answer = Callable[..., Any]
REASON = "--reason", "the key is rotated"


@pytest.fixture
def clock() -> FakeClock:
    """The command line reads Postgres' clock: the engine of these tests must live in the same time."""
    return FakeClock(datetime.now(UTC))


@pytest.fixture(autouse=True)
def place(database_url: str, broker_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("REMAND_DATABASE_URL", database_url)
    monkeypatch.setenv("REMAND_BROKER_URL", broker_url)
    monkeypatch.setenv("REMAND_USER", "ann")
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def dead(harness: Harness) -> Harness:
    """Three letters of one cause, one of another."""
    harness.publish(shape("pay", {"charge": ()}))
    for message, count in (("card 17 is declined", 3), ("bank is closed", 1)):
        harness.play(charge=always(PermanentError(message)))
        harness.submit_many("t/pay", range(count))
        harness.run_until_quiet()
    return harness


@pytest.fixture
def answer(capsys: pytest.CaptureFixture[str]) -> Answer:
    def ask(*words: str, exits: int = 0) -> Any:
        capsys.readouterr()
        assert run([*words, "--json"]) == exits
        # The entry point turns the log down; in this process it comes first.
        return json.loads(capsys.readouterr().out.splitlines()[-1])

    return ask


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def ask(*words: str) -> str:
        capsys.readouterr()
        assert run(list(words)) == 0
        return capsys.readouterr().out

    return ask


def test_causes_are_listed_with_how_many_and_since_when(
    dead: Harness, answer: Answer, told: Callable[..., str]
) -> None:
    found = answer("dlq", "groups", "--order", "largest")["items"]

    assert [(one["message"], one["open_letters"]) for one in found] == [
        ("card <n> is declined", 3), ("bank is closed", 1),
    ]  # fmt: skip
    assert found[0]["trend"][-1] == 3
    assert "PermanentError: card <n> is declined" in told("dlq", "groups")
    first = answer("dlq", "groups", "--limit", "1")
    second = answer("dlq", "groups", "--limit", "1", "--cursor", first["next"])
    assert {one["message"] for one in (*first["items"], *second["items"])} == {
        one["message"] for one in found
    }
    assert second["next"] is None


def test_a_cause_is_shown_taken_noted_and_resolved(
    dead: Harness, answer: Answer, told: Callable[..., str]
) -> None:
    group = answer("dlq", "groups", "--order", "largest")["items"][0]["id"]

    assert answer("dlq", "group", "claim", group)["owner"] == "ann"
    assert answer("dlq", "group", "claim", group, "--by", "bob", exits=5)["error"]["code"] == "ILLEGAL_MOVE"
    assert answer("dlq", "group", "assign", group, "cia")["owner"] == "cia"
    answer("dlq", "group", "due", group, "2030-01-01T10:00")
    answer("dlq", "group", "note", group, "asked the bank")
    shown = answer("dlq", "group", "show", group[:13])
    assert (shown["owner"], shown["statuses"]) == ("cia", {"pending": 3})
    assert shown["notes"][-1]["text"] == "asked the bank"
    text = told("dlq", "group", "show", group)
    assert "asked the bank" in text
    assert "remand dlq redrive plan --group" in text
    assert answer("dlq", "group", "resolve", group, *REASON, exits=5)["error"]["details"]["open_letters"] == 3
    dead.play()
    for row in dead.database.call("select id from remand.dead_letters where group_id = %s", (group,)):
        requeue_letter(dead.engine, row[0], Who("ann"))
    dead.run_until_quiet()
    assert answer("dlq", "group", "release", group, "--take-over")["owner"] is None
    assert answer("dlq", "group", "resolve", group, *REASON)["resolution"] == "the key is rotated"
    assert [one["message"] for one in answer("dlq", "groups")["items"]] == ["bank is closed"]
    assert len(answer("dlq", "groups", "--all")["items"]) == 2
    assert answer("dlq", "group", "reopen", group)["state"] == "open"


def test_figures_are_told(dead: Harness, answer: Answer, told: Callable[..., str]) -> None:
    found = answer("dlq", "stats")

    assert (found["open"], found["opened"], found["by_reason"][0]["name"]) == (4, 4, "permanent_failure")
    assert "4, of them 4 with nobody" in told("dlq", "stats")
    assert answer("dlq", "stats", "--namespace", "nobody")["open"] == 0


def test_the_most_urgent_come_first(dead: Harness, answer: Answer, told: Callable[..., str]) -> None:
    found = answer("dlq", "triage", "--limit", "3")

    assert len(found["items"]) == 3
    assert len(answer("dlq", "triage", "--cursor", found["next"])["items"]) == 1
    assert "card 17 is declined" in told("dlq", "triage")


@pytest.mark.parametrize("command", [("top",), ("dlq", "watch")])
def test_a_picture_that_moves_is_one_look_where_nobody_watches(
    dead: Harness, answer: Answer, told: Callable[..., str], command: tuple[str, ...]
) -> None:
    assert "4 dead letters open" in told(*command)
    found = answer(*command)
    assert found.get("open_letters", found.get("open")) == 4


@pytest.mark.parametrize(
    ("values", "drawn"), [([0, 0], "  "), ([1, 2], "▄█"), ([0, 1, 8], " ▁█"), ([100, 1], "█▁"), ([], "")]
)
def test_bars_are_as_high_as_the_largest_allows(values: list[int], drawn: str) -> None:
    assert bars(values) == drawn
