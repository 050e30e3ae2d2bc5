"""`remand breaker` and `remand queue`, and what other verbs say of work that is kept back."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import remand_app.cli.main  # noqa: F401 - registers the commands
from remand_app.cli.invoke import run
from remand_app.domain.workflow_filter import WorkflowFilter
from remand_app.engine.operate.breakers import close_breaker, open_breaker
from remand_app.engine.pauses import pause_queue, resume_queue
from remand_app.store.workflow_search import search
from tests.support.brokers import bells_in
from tests.support.clock import FakeClock
from tests.support.engine import Harness
from tests.support.shapes import always, shape
from tests.support.waiting import eventually

pytestmark = pytest.mark.once

RESET = ConnectionResetError("reset")
TRIP = {
    "enabled": True,
    "failures": 3,
    "window_seconds": 60,
    "cool_down_seconds": 300,
    "release_per_second": 2,
}
SHARED = shape("shared", {"a": ()}, each={"a": {"dependency": "ledger"}})
OTHER = shape("other", {"a": ()}, each={"a": {"dependency": "crm", "queue": "fast"}})

Answer = Callable[..., Any]


@pytest.fixture
def clock() -> FakeClock:
    """The command line reads Postgres' clock: the engine of these tests must live in the same time."""
    return FakeClock(datetime.now(UTC))


@pytest.fixture
def rig(harness_with: Callable[..., Harness]) -> Harness:
    harness = harness_with(breaker=TRIP)
    harness.queues.append("fast")
    for template in (SHARED, OTHER):
        harness.publish(template)
    return harness


@pytest.fixture(autouse=True)
def place(database_url: str, any_broker_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("REMAND_DATABASE_URL", database_url)
    monkeypatch.setenv("REMAND_BROKER_URL", any_broker_url)
    monkeypatch.setenv("REMAND_USER", "ann")
    for name, value in TRIP.items():
        monkeypatch.setenv(f"REMAND_BREAKER__{name.upper()}", str(value))
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def answer(capsys: pytest.CaptureFixture[str]) -> Answer:
    """Run `remand … --json`, hold it to its exit code, return what it answered."""

    def ask(*words: str, exits: int = 0) -> Any:
        capsys.readouterr()
        code = run([*words, "--json"])
        told = capsys.readouterr()
        assert code == exits, f"{words}: {code}\n{told.out}\n{told.err}"
        # The entry point turns the log down; in this process it comes first.
        return json.loads(told.out.splitlines()[-1])

    return ask


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run `remand …` as a person does and return standard output."""

    def ask(*words: str, exits: int = 0) -> str:
        capsys.readouterr()
        assert run(words) == exits
        return capsys.readouterr().out

    return ask


def trip(harness: Harness) -> list[UUID]:
    """Let the ledger fail until its breaker opens."""
    harness.play(a=always(RESET))
    ids = harness.submit_many("t/shared", range(3))
    harness.run_until_quiet()
    return ids


def hold(harness: Harness, template: str = "t/shared") -> UUID:
    """Submit a workflow that the open breaker holds."""
    workflow = harness.submit(template)
    harness.run_until_quiet()
    assert harness.workflow(workflow).state == "waiting_for_retry"
    return workflow


# Breakers


def test_nothing_open_is_said_as_such(rig: Harness, answer: Answer, told: Answer) -> None:
    assert answer("breaker", "list")["items"] == []
    assert "all closed" in told("breaker", "list")
    every = answer("breaker", "list", "--all")["items"]
    assert [(one["name"], one["state"]) for one in every] == [("crm", "closed"), ("ledger", "closed")]


def test_an_open_breaker_is_listed_with_what_it_counted_and_holds(
    rig: Harness, answer: Answer, told: Answer
) -> None:
    trip(rig)
    hold(rig)

    [one] = answer("breaker", "list")["items"]

    assert (one["name"], one["state"], one["is_gating"], one["by"]) == ("ledger", "open", True, "remand")
    assert (one["attempts"], one["failures"], one["held"], one["passed"]) == (3, 3, 1, 0)
    assert datetime.fromisoformat(one["probe_at"]) == rig.clock.now + timedelta(seconds=300)
    assert "3 of 3 attempts on ledger failed" in one["reason"]
    listed = told("breaker", "list")
    assert "probe in " in listed
    assert "all closed" not in listed


def test_show_tells_the_rules_the_counts_and_who_moved_it(rig: Harness, answer: Answer, told: Answer) -> None:
    trip(rig)

    shown = answer("breaker", "show", "ledger")

    assert shown["settings"]["failures"] == 3
    assert shown["settings"]["categories"] == ["network", "resource", "transient"]
    assert [(move["event"], move["by"]) for move in shown["moves"]] == [("trip", "remand")]
    text = told("breaker", "show", "ledger")
    assert "3 failures within 60 s, 50% of the attempts or more" in text
    assert "→ remand breaker close ledger" in text


def test_one_that_never_moved_is_shown_closed(rig: Harness, answer: Answer, told: Answer) -> None:
    shown = answer("breaker", "show", "crm")
    assert (shown["state"], shown["moves"], shown["state_since"]) == ("closed", [], None)
    assert "it never moved" in told("breaker", "show", "crm")


@pytest.mark.parametrize("verb", ["show", "open", "close", "reset"])
def test_an_unknown_dependency_is_refused(rig: Harness, answer: Answer, verb: str) -> None:
    error = answer("breaker", verb, "legder", exits=4)["error"]

    assert error["code"] == "BREAKER_NOT_FOUND"
    if verb in ("show", "open"):
        assert error["hint"] == "did you mean 'ledger'?"
    assert answer("breaker", "list")["items"] == []


def test_open_for_a_while_close_and_reset_are_recorded_with_who_and_why(rig: Harness, answer: Answer) -> None:
    opened = answer("breaker", "open", "ledger", "--for", "30m", "--reason", "their maintenance")
    assert (opened["before"], opened["after"]) == ("closed", "open")
    left = datetime.fromisoformat(opened["probe_at"]) - datetime.now(UTC)
    assert timedelta(minutes=29) < left <= timedelta(minutes=30)
    hold(rig)

    closed = answer("breaker", "close", "ledger", "--by", "bob")
    assert (closed["before"], closed["after"]) == ("open", "closed")
    assert answer("breaker", "reset", "ledger")["after"] == "closed"

    moves = answer("breaker", "show", "ledger")["moves"]
    assert [(move["event"], move["by"], move["reason"]) for move in moves] == [
        ("reset", "ann", None),
        ("close_manually", "bob", None),
        ("open_manually", "ann", "their maintenance"),
    ]


def test_open_without_an_end_says_who_ends_it(rig: Harness, answer: Answer, told: Answer) -> None:
    assert answer("breaker", "open", "ledger")["probe_at"] is None
    assert "closed by hand" in told("breaker", "list")


@pytest.mark.parametrize("duration", ["soon", "0s", "-5m", "30", "9999999d"])
def test_a_duration_that_is_none_is_refused(rig: Harness, answer: Answer, duration: str) -> None:
    assert answer("breaker", "open", "ledger", f"--for={duration}", exits=2)["error"]["code"] == "USAGE"
    assert answer("breaker", "list")["items"] == []


def test_releasing_is_no_state_of_its_own_but_shown(rig: Harness, answer: Answer, told: Answer) -> None:
    open_breaker(rig.engine, "ledger", by="ann")
    rig.submit_many("t/shared", range(9))
    rig.run_until_quiet()

    close_breaker(rig.engine, "ledger", by="ann")

    [one] = answer("breaker", "list")["items"]
    assert (one["state"], one["is_gating"], one["release_per_second"]) == ("closed", True, 2.0)
    listed = told("breaker", "list")
    assert "releasing" in listed
    assert "2/s go out" in listed


# What others say of held work


def test_a_held_step_names_its_breaker_and_the_instant_of_the_probe(
    rig: Harness, answer: Answer, told: Answer
) -> None:
    trip(rig)
    workflow = hold(rig)

    [step] = answer("workflow", "show", str(workflow))["steps"]

    assert (step["state"], step["held_by"], step["breaker_state"]) == ("waiting_for_retry", "ledger", "open")
    probe_at = rig.clock.now + timedelta(seconds=300)
    assert datetime.fromisoformat(step["due_at"]) == probe_at
    assert rig.step(workflow, "a").attempt == 0
    assert answer("step", "show", str(workflow), "a")["step"]["held_by"] == "ledger"
    words = f"held by breaker ledger until {probe_at:%H:%M:%S} UTC (in "
    assert words in told("workflow", "show", str(workflow))
    assert words in told("step", "show", str(workflow), "a")
    [listed] = [one for one in answer("workflow", "list")["items"] if one["id"] == str(workflow)]
    assert listed["held_by"] == ["ledger"]
    assert "held by breaker ledger" in told("workflow", "list")


def test_a_row_keeps_its_place_in_line(rig: Harness) -> None:
    trip(rig)
    workflow = hold(rig)

    [(due_at,)] = rig.database.call("select due_at from remand.run_queue where workflow_id = %s", (workflow,))

    assert due_at == rig.clock.now


def test_a_back_off_is_held_by_nobody(rig: Harness, answer: Answer) -> None:
    rig.play(a=always(RESET))
    workflow = rig.submit("t/shared")
    rig.run_until_quiet()

    [step] = answer("workflow", "show", str(workflow))["steps"]

    assert (step["state"], step["held_by"]) == ("waiting_for_retry", None)
    assert datetime.fromisoformat(step["due_at"]) == rig.step(workflow, "a").due_at
    assert [one.held_by for one in search(rig.database, WorkflowFilter()).page.items] == [[]]


def test_retry_of_a_held_step_is_refused_and_names_the_way_out(rig: Harness, answer: Answer) -> None:
    trip(rig)
    workflow = hold(rig)

    error = answer("step", "retry", str(workflow), "a", "--input", "7", exits=5)["error"]

    assert error["code"] == "HELD_BY_BREAKER"
    assert "the breaker of ledger is open" in error["message"]
    assert error["hint"] == "to let it go: remand breaker close ledger"
    assert error["details"]["breaker"] == "ledger"
    assert rig.step(workflow, "a").input is None, "refused means that nothing changed"


def test_retry_of_a_back_off_that_would_be_held_is_refused_too(rig: Harness, answer: Answer) -> None:
    waiting = trip(rig)[0]
    assert rig.step(waiting, "a").held_by is None

    assert answer("step", "retry", str(waiting), "a", exits=5)["error"]["code"] == "HELD_BY_BREAKER"


def test_retry_while_it_lets_go_in_turn_is_refused_with_another_way_out(
    rig: Harness, answer: Answer, told: Answer
) -> None:
    open_breaker(rig.engine, "ledger", by="ann")
    ids = rig.submit_many("t/shared", range(9))
    rig.run_until_quiet()
    close_breaker(rig.engine, "ledger", by="ann")
    held = next(one for one in ids if rig.step(one, "a").held_by)

    error = answer("step", "retry", str(held), "a", exits=5)["error"]

    assert error["hint"] == "to let all of it out at once: remand breaker reset ledger"
    assert "lets go of what it held in turn" in told("workflow", "show", str(held))
    answer("breaker", "reset", "ledger")
    assert rig.step(held, "a").state == "enqueued"


def test_retry_of_a_back_off_works_while_other_breakers_are_open(rig: Harness, answer: Answer) -> None:
    rig.play(a=always(RESET))
    workflow = rig.submit("t/shared")
    rig.run_until_quiet()
    open_breaker(rig.engine, "crm", by="ann")

    assert answer("step", "retry", str(workflow), "a")["after"] == "enqueued"


# Queues


def test_queues_are_listed_with_depth_and_age(rig: Harness, answer: Answer, told: Answer) -> None:
    rig.play(a=always(RESET))
    rig.submit_many("t/shared", range(2))
    rig.drain()
    rig.submit("t/other")
    rig.clock.advance(-90)
    rig.submit("t/shared")

    found = {one["queue"]: one for one in answer("queue", "list")["items"]}

    assert list(found)[:2] == ["steps", "fast"]
    assert (found["steps"]["ready"], found["retry.exponential"]["failed"], found["fast"]["ready"]) == (
        1,
        2,
        1,
    )
    assert 90 <= found["steps"]["oldest_seconds"] < 200
    assert found["retry.never"]["oldest_seconds"] is None
    assert found["steps"]["workers"] == ["w1@test"]
    assert found["remand.commands"]["workers"] == []
    listed = told("queue", "list")
    assert "retry.exponential" in listed
    assert "none" in listed


def test_held_and_waiting_and_claimed_work_is_told_apart(rig: Harness, answer: Answer) -> None:
    trip(rig)
    hold(rig)
    rig.submit("t/other")
    assert rig.worker.queue.claim("fast", 1)

    found = {one["queue"]: one for one in answer("queue", "list")["items"]}

    assert (found["steps"]["waiting"], found["steps"]["held"], found["fast"]["claimed"]) == (3, 1, 1)
    assert (found["steps"]["due"], found["steps"]["oldest_seconds"]) == (0, None)


def test_a_paused_queue_says_since_when_by_whom_and_why(rig: Harness, answer: Answer, told: Answer) -> None:
    paused = answer("queue", "pause", "steps", "--reason", "deploy")
    assert (paused["changed"], paused["is_paused"]) == (True, True)
    assert answer("queue", "pause", "steps", "--by", "bob")["paused_by"] == "ann"
    workflow = rig.submit("t/shared")
    rig.submit("t/other")

    shown = answer("queue", "show", "steps")

    assert (shown["paused_by"], shown["paused_reason"], shown["ready"]) == ("ann", "deploy", 1)
    assert "by ann: deploy" in told("queue", "show", "steps")
    assert "in queue steps · paused" in told("workflow", "show", str(workflow))
    assert rig.worker.queue.claim("steps", 5) == []
    assert len(rig.worker.queue.claim("fast", 5)) == 1
    assert answer("queue", "resume", "steps")["changed"] is True
    assert answer("queue", "resume", "steps")["changed"] is False
    assert len(rig.worker.queue.claim("steps", 5)) == 1


def test_resume_rings(rig: Harness, answer: Answer, broker_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMAND_BROKER_URL", broker_url)
    answer("queue", "pause", "steps")
    rig.submit("t/shared")
    assert bells_in(broker_url, "steps") == 0

    answer("queue", "resume", "steps")

    # RabbitMQ has a message a moment after it was sent.
    eventually(lambda: bells_in(broker_url, "steps") == 1, message="nobody rang")


def test_failures_in_a_paused_retry_queue_wait_and_are_decided_after_it_goes_on(
    rig: Harness, answer: Answer, told: Answer
) -> None:
    answer("queue", "pause", "retry.exponential")
    rig.play(a=always(RESET))
    workflow = rig.submit("t/shared")
    rig.run_until_quiet()

    [step] = answer("workflow", "show", str(workflow))["steps"]

    assert (step["state"], step["waits_in"]) == ("enqueued_as_error_for_orchestration", "retry.exponential")
    assert step["paused_since"] is not None
    assert "queue retry.exponential is paused · ConnectionResetError" in told(
        "workflow", "show", str(workflow)
    )
    assert "queue retry.exponential is paused" in told("step", "show", str(workflow), "a")
    assert answer("queue", "show", "retry.exponential")["failed"] == 1
    resume_queue(rig.engine, "retry.exponential", by="ann")
    rig.run_until_quiet()
    assert rig.step(workflow, "a").state == "waiting_for_retry"
    assert [one.decision for one in rig.attempts(workflow)] == ["retry"]


@pytest.mark.parametrize(
    ("words", "exits", "code"),
    [
        (("pause", "remand.maintenance"), 2, "INPUT_INVALID"),
        (("pause", "retry.exponental"), 4, "QUEUE_NOT_FOUND"),
        (("resume", "nosuch"), 4, "QUEUE_NOT_FOUND"),
        (("show", "nosuch"), 4, "QUEUE_NOT_FOUND"),
    ],
)
def test_what_cannot_be_paused_is_refused(
    rig: Harness, answer: Answer, words: tuple[str, ...], exits: int, code: str
) -> None:
    assert answer("queue", *words, exits=exits)["error"]["code"] == code


def test_the_doctor_tells_of_pauses_and_breakers_and_what_to_do(rig: Harness, answer: Answer) -> None:
    trip(rig)
    hold(rig)
    pause_queue(rig.engine, "fast", by="ann")
    rig.submit("t/other")

    # Queues without a worker make it fail here; that is another finding.
    findings = {one["subject"]: one for one in answer("doctor", exits=1)["findings"]}

    assert findings["paused"]["level"] == "warn"
    assert findings["paused"]["message"].endswith("by ann, 1 wait in it")
    assert findings["paused"]["todo"] == "remand queue resume fast"
    assert findings["breaker"]["message"] == "ledger is open, 1 step held"
    assert findings["breaker"]["todo"] == "remand breaker show ledger"
    assert "nothing is due" in findings["work"]["message"], "what is paused is not overdue"


def test_the_doctor_says_when_all_is_closed(rig: Harness, answer: Answer) -> None:
    findings = {one["subject"]: one for one in answer("doctor", exits=1)["findings"]}

    assert (findings["breakers"]["level"], findings["breakers"]["message"]) == ("ok", "all closed")
    assert "paused" not in findings
