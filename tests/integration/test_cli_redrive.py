"""`remand dlq redrive`: what is shown, what is asked, what is refused."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import remand_app.cli.main  # noqa: F401 - registers the commands
from remand import PermanentError
from remand_app.cli.invoke import run
from remand_app.engine.operate.breakers import open_breaker
from remand_app.engine.sweeps.redrive import redrive as sweep
from remand_app.store.ids import new_id
from tests.support.clock import FakeClock
from tests.support.engine import Harness
from tests.support.shapes import always, shape

pytestmark = pytest.mark.once

Answer = Callable[..., Any]
WHY = ("--reason", "fixed")


@pytest.fixture
def clock() -> FakeClock:
    """The command line reads Postgres' clock: the engine of these tests must live in the same time."""
    return FakeClock(datetime.now(UTC))


@pytest.fixture
def letters(harness: Harness) -> list[UUID]:
    """Three dead workflows that would go well now."""
    harness.publish(shape("one", {"a": ()}))
    harness.play(a=always(PermanentError("card declined")))
    ids = harness.submit_many("t/one", [None] * 3)
    harness.run_until_quiet()
    harness.play()
    return sorted(harness.open_letter(one).id for one in ids)


@pytest.fixture(autouse=True)
def place(database_url: str, any_broker_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("REMAND_DATABASE_URL", database_url)
    monkeypatch.setenv("REMAND_BROKER_URL", any_broker_url)
    monkeypatch.setenv("REMAND_USER", "ann")
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def answer(capsys: pytest.CaptureFixture[str]) -> Answer:
    """Run `remand dlq redrive … --json`, hold it to its exit code, return what it answered."""

    def ask(*words: str, exits: int = 0) -> Any:
        capsys.readouterr()
        code = run(["dlq", "redrive", *words, "--json"])
        shown = capsys.readouterr()
        assert code == exits, f"{words}: {code}\n{shown.out}\n{shown.err}"
        # The entry point turns the log down; in this process it comes first.
        return json.loads(shown.out.splitlines()[-1])

    return ask


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run `remand dlq redrive …` as a person would; return standard output and error."""

    def ask(*words: str, exits: int = 0) -> str:
        capsys.readouterr()
        code = run(["dlq", "redrive", *words])
        told = capsys.readouterr()
        assert code == exits, f"{words}: {code}\n{told.out}\n{told.err}"
        return told.out + told.err

    return ask


def test_plan_then_start_it(letters: list[UUID], answer: Answer, harness: Harness) -> None:
    made = answer("plan", "--template", "t/one", "--canary", "1,2", "--rate", "50")
    assert (made["redrive"]["state"], made["redrive"]["waiting"]) == ("planned", 3)
    assert (made["redrive"]["canary"], made["redrive"]["rate_per_second"]) == ([1, 2], 50.0)
    assert {one["name"] for one in made["forecast"]["checks"]} >= {"open", "breaker", "input", "identity"}

    begun = answer("start", "--plan", made["redrive"]["id"][-8:], *WHY)
    assert (begun["state"], begun["started_by"], begun["reason"]) == ("canary", "ann", "fixed")
    sweep(harness.engine)
    assert answer("status", begun["id"])["stage_sent"] == 1


def test_start_all_at_once(letters: list[UUID], answer: Answer, harness: Harness) -> None:
    begun = answer("start", "--all", "--yes", *WHY)
    sweep(harness.engine)
    harness.bell.take()
    harness.drain()
    sweep(harness.engine)

    assert answer("status", begun["id"])["succeeded"] == 3
    assert [one["id"] for one in answer("list")["items"]] == [begun["id"]]
    page = answer("items", begun["id"], "--limit", "2")
    assert [one["letter_id"] for one in page["items"]] == [str(one) for one in letters[:2]]
    assert len(answer("items", begun["id"], "--after", page["next"])["items"]) == 1
    assert answer("items", begun["id"], "--state", "failed")["items"] == []


def test_ids_come_from_standard_input(
    letters: list[UUID], answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = new_id()
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{letters[0]}\n{missing}\n"))
    begun = answer("start", "-", str(letters[2])[-10:], "--yes", *WHY)
    assert (begun["total"], begun["waiting"], begun["not_found"]) == (3, 2, 1)

    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert "names no dead letter" in answer("start", "-", "--yes", *WHY, exits=2)["error"]["message"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((), "UNFILTERED"),
        (("--all",), "INPUT_INVALID"),
        (("--all", *WHY), "INPUT_INVALID"),
        (("--template", "t/one", "--label", "", *WHY, "--yes"), "INPUT_INVALID"),
        (("--template", "t/one", "--step", "", *WHY, "--yes"), "INPUT_INVALID"),
        (("--all", *WHY, "--yes", "--canary", "0"), "INPUT_INVALID"),
        (("--all", *WHY, "--yes", "--canary", "few"), "USAGE"),
        (("--all", *WHY, "--yes", "--not-before", "2h"), "USAGE"),
    ],
    ids=[
        "nothing meant",
        "no reason",
        "nobody to ask",
        "empty label",
        "empty step",
        "bad canary",
        "no canary",
        "past",
    ],
)
def test_what_is_not_started(letters: list[UUID], answer: Answer, words: tuple[str, ...], code: str) -> None:
    assert answer("start", *words, exits=2)["error"]["code"] == code
    assert answer("list")["items"] == []


def test_a_dry_run_only_tells(letters: list[UUID], shown: Callable[..., str], answer: Answer) -> None:
    told = shown("start", "--all", "--dry-run")
    assert "pending or investigating letters" in told
    assert "PermanentError: card declined" in told
    assert "nothing speaks against it" in told
    assert answer("list")["items"] == []


def test_a_person_is_asked(
    letters: list[UUID], shown: Callable[..., str], answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    assert "requeue 3 letters?" in shown("start", "--all", *WHY, exits=130)
    assert answer("list")["items"] == []
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    shown("start", "--all", *WHY)
    assert len(answer("list")["items"]) == 1


def test_pause_resume_cancel_and_watch(
    letters: list[UUID], shown: Callable[..., str], answer: Answer
) -> None:
    one = answer("start", "--all", "--yes", *WHY)["id"]
    assert answer("pause", one)["state"] == "paused"
    assert "paused · 3: 3 waiting" in shown("status", one, "--watch")
    assert answer("resume", one)["state"] == "running"
    assert answer("cancel", one, "--reason", "wrong fix")["stop_reason"] == "cancelled by ann: wrong fix"
    assert answer("resume", one, exits=5)["error"]["code"] == "ILLEGAL_MOVE"
    assert answer("status", str(new_id()), exits=4)["error"]["code"] == "REDRIVE_NOT_FOUND"
    assert "cancelled by ann" in shown("status", one)


def test_yes_hides_no_warning(harness: Harness, letters: list[UUID], shown: Callable[..., str]) -> None:
    open_breaker(harness.engine, "h", by="bob")

    told = shown("start", "--all", "--yes", *WHY)

    assert "what speaks against it" in told
    assert "is the breaker of its step closed? not 3 of 3" in told


def test_a_plan_that_is_started_hides_no_warning(
    harness: Harness, letters: list[UUID], answer: Answer, shown: Callable[..., str]
) -> None:
    planned = answer("plan", "--all")["redrive"]["id"]
    answer("start", "--all", "--yes", *WHY)

    told = shown("start", "--plan", planned, *WHY)

    assert "is it in no other redrive? not 3 of 3" in told


def test_where_nothing_speaks_against_it_nothing_is_said(
    harness: Harness, letters: list[UUID], shown: Callable[..., str]
) -> None:
    harness.worker.beat()

    assert "speaks against" not in shown("start", "--all", "--yes", *WHY)


def test_status_says_what_a_redrive_waits_for(
    harness: Harness, letters: list[UUID], answer: Answer, shown: Callable[..., str]
) -> None:
    open_breaker(harness.engine, "h", by="bob", seconds=540)
    one = answer("start", "--all", "--canary", "1", "--yes", *WHY)["id"]
    sweep(harness.engine)

    told = " ".join(shown("status", one).split())

    assert "1 letter: the breaker of h is open; it probes in " in told
    assert "remand breaker close h" in told
    [wait] = answer("status", one)["waits"]
    assert (wait["letters"], wait["verb"]) == (1, "remand breaker close h")
