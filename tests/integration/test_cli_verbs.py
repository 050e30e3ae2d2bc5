"""The verbs of people as they are typed: previewed, done, refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

import remand_app.cli.main  # noqa: F401 - registers the commands
from remand import StepContext
from remand.errors import PermanentError
from remand_app.cli.invoke import run
from tests.support.clock import FakeClock
from tests.support.engine import Harness
from tests.support.shapes import CHAIN, fails, shape

pytestmark = pytest.mark.once

Answer = Callable[..., Any]


@pytest.fixture
def clock() -> FakeClock:
    """The command line reads Postgres' clock: the engine of these tests must live in the same time."""
    return FakeClock(datetime.now(UTC))


@pytest.fixture(autouse=True)
def place(database_url: str, any_broker_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMAND_DATABASE_URL", database_url)
    monkeypatch.setenv("REMAND_BROKER_URL", any_broker_url)
    monkeypatch.setenv("REMAND_USER", "ann")


@pytest.fixture
def answer(capsys: pytest.CaptureFixture[str]) -> Answer:
    def ask(*words: object, exits: int = 0) -> Any:
        capsys.readouterr()
        code = run([*map(str, words), "--json"])
        told = capsys.readouterr()
        assert code == exits, f"{words}: {code}\n{told.out}\n{told.err}"
        return json.loads(told.out.splitlines()[-1]) if exits == 0 else told.out + told.err

    return ask


@pytest.fixture
def dead(harness: Harness) -> UUID:
    harness.publish(shape("chain", CHAIN))
    harness.play(b=fails(PermanentError("no")))
    workflow = harness.submit("t/chain")
    harness.run_until_quiet()
    return workflow


@pytest.mark.parametrize(
    "words",
    [
        ("step", "retry", "{}", "b"),
        ("step", "resolve", "{}", "b"),
        ("step", "skip", "{}", "b"),
        ("step", "complete", "{}", "b", "--result", "1"),
        ("workflow", "cancel", "{}"),
        ("workflow", "restart", "{}", "--from", "a"),
        ("dlq", "requeue", "{}"),
        ("dlq", "resolve", "{}"),
        ("dlq", "resolve", "{}", "--give-up"),
        ("dlq", "complete", "{}", "--result", "1"),
        ("dlq", "cancel", "{}"),
    ],
    ids=" ".join,
)
def test_a_dry_run_says_what_the_verb_then_does(
    harness: Harness, answer: Answer, dead: UUID, words: tuple[str, ...]
) -> None:
    typed = [str(dead) if word == "{}" else word for word in words]
    states = harness.states(dead)

    shown = answer(*typed, "--dry-run")

    assert (shown["dry_run"], harness.states(dead)) == (True, states)
    assert harness.open_letter(dead)
    answer(*typed)
    now = harness.states(dead)
    assert {one["step"]: one["after"] for one in shown["changes"]} == {
        step: now[step] for step in now if now[step] != states[step]
    }
    assert harness.workflow(dead).state == shown["after"]
    assert harness.letters(dead)[0].status == shown["closed_as"]


def test_null_is_an_input_and_what_is_shown_can_be_given_back(
    harness: Harness, answer: Answer, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[Any] = []

    def part(ctx: StepContext) -> Any:
        seen.append(ctx.input)
        return {"flag": True, "none": None}

    harness.publish(shape("pair", {"a": (), "b": "a"}))
    harness.play(a=part, b=fails(PermanentError("no")))
    workflow = harness.submit("t/pair", {"n": 1})
    harness.run_until_quiet()
    answer("step", "retry", workflow, "b", "--input", "null")
    harness.play(b=part)
    harness.advance(60)
    harness.drain()

    assert seen == [{"n": 1}, None]
    told = answer("step", "show", workflow, "b")["step"]
    assert (told["input"], told["has_own_input"]) == (None, True)
    assert answer("step", "show", workflow, "a")["step"]["has_own_input"] is False
    assert run(["step", "show", str(workflow), "b"]) == 0
    lines = capsys.readouterr().out.splitlines()
    shown = dict(line.split(None, 1) for line in lines if len(line.split()) > 1)
    assert shown["result"].strip() == '{"flag": true, "none": null}'
    assert shown["own"].split() == ["input", "null"]


def test_what_attempts_tell_is_masked_here_as_over_http(harness: Harness, answer: Answer) -> None:
    harness.publish(shape("one", {"a": ()}))
    harness.play(a=fails(PermanentError("refused for password=hunter2 at the gate")))
    workflow = harness.submit("t/one")
    harness.run_until_quiet()
    with harness.database.begin() as connection:
        # As one that was recorded before its kind was masked.
        connection.exec_driver_sql(
            "update remand.attempts set failure = jsonb_set(failure, '{message}', '\"api_key=sk_live_9\"')"
        )

    for told in (
        answer("step", "show", workflow, "a")["attempts"],
        answer("dlq", "show", workflow)["attempts_made"],
    ):
        assert "sk_live_9" not in json.dumps(told)


def test_a_workflow_is_paused_and_resumed_and_list_and_show_say_so(
    harness: Harness, answer: Answer, dead: UUID
) -> None:
    answer("workflow", "pause", dead, "--reason", "bank is closed")

    for shown in (answer("workflow", "show", dead), answer("workflow", "list")["items"][0]):
        assert (shown["paused_by"], shown["pause_reason"]) == ("ann", "bank is closed")
    answer("workflow", "resume", dead)
    assert answer("workflow", "show", dead)["paused_by"] is None


def test_a_template_is_paused_and_resumed_and_its_list_says_so(
    harness: Harness, answer: Answer, dead: UUID
) -> None:
    assert answer("template", "pause", "t/chain")["workflows"] == 1
    assert answer("template", "list")["items"][0]["paused_by"] == "ann"
    found = answer("submit", "t/chain", "--tag", "eu", "--tag", "vip")
    held = harness.workflow(UUID(found["workflow_id"]))
    assert (held.paused_by, held.tags) == ("ann", ["eu", "vip"])

    assert answer("template", "resume", "t/chain")["workflows"] == 2
    assert answer("template", "list")["items"][0]["paused_by"] is None


def test_a_letter_is_handed_on_marked_and_linked(answer: Answer, dead: UUID) -> None:
    assert answer("dlq", "assign", dead, "bob")["claimed_by"] == "bob"
    assert "claimed by bob" in answer("dlq", "assign", dead, "cleo", exits=5)
    assert answer("dlq", "assign", dead, "cleo", "--take-over")["claimed_by"] == "cleo"
    assert answer("dlq", "release", dead, "--by", "cleo")["claimed_by"] is None
    assert answer("dlq", "label", dead, "bank", "eu")["labels"] == ["bank", "eu"]
    assert answer("dlq", "label", dead, "--remove", "eu")["labels"] == ["bank"]
    assert answer("dlq", "link", dead, "https://t.example/4")["links"] == ["https://t.example/4"]
    assert "no link" in answer("dlq", "link", dead, "javascript:alert(1)", exits=2)
