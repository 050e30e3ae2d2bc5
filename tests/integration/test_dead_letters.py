from __future__ import annotations

import dataclasses
import json
import os
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa

from remand import PermanentError
from remand_app.domain.errors import AmbiguousId, DatabaseUnreachable, DeadLetterNotFound
from remand_app.domain.snapshot import CUT
from remand_app.engine import fail
from remand_app.engine.operate import Who, cancel, requeue_letter, resolve_step
from remand_app.store import dead_letters
from remand_app.store.ids import new_id
from tests.support.engine import Harness
from tests.support.letters import list_letters
from tests.support.shapes import always, fails, shape

NO = PermanentError("card 4111 declined")


def died(harness: Harness, workflow_input: Any = None, **parts: Any) -> UUID:
    """A workflow a -> b whose step b is dead."""
    harness.publish(shape("two", {"a": (), "b": "a"}))
    harness.play(**{"b": always(NO), **parts})
    workflow_id = harness.submit("t/two", workflow_input)
    harness.run_until_quiet()
    return workflow_id


def test_a_letter_says_what_happened_where_and_why(harness: Harness) -> None:
    workflow_id = died(harness)

    letter = harness.open_letter(workflow_id)

    assert (letter.status, letter.reason, letter.category) == ("pending", "permanent_failure", "permanent")
    assert (letter.namespace, letter.template, letter.step) == ("t", "two", "b")
    assert (letter.handler, letter.queue, letter.attempts, letter.worker) == ("h", "steps", 1, "w1@test")
    assert letter.error_class == "remand.errors.PermanentError"
    assert letter.rule
    assert letter.opened_at == harness.clock.now
    assert (letter.source, letter.source_id) == ("step", f"{workflow_id}:b:1")
    assert letter.metadata["explanation"]


def test_the_snapshot_holds_the_workflow_as_it_died(harness: Harness) -> None:
    workflow_id = died(harness, {"order": 7})

    snapshot = harness.open_letter(workflow_id).snapshot

    assert snapshot["left_out"] == []
    assert (snapshot["workflow"]["id"], snapshot["workflow"]["input"]) == (str(workflow_id), {"order": 7})
    assert snapshot["workflow"]["state"] == "blocked_by_failures"
    assert [(step["name"], step["state"], step["result"]) for step in snapshot["steps"]] == [
        ("a", "complete", "a"),
        ("b", "error", None),
    ]
    [attempt] = snapshot["attempts"]
    assert (attempt["step"], attempt["outcome"], attempt["decision"]) == ("b", "failed", "dead")
    assert attempt["failure"]["error_class"] == "remand.errors.PermanentError"
    events = [move["event"] for move in snapshot["moves"] if move["step"] == "b"]
    assert events == ["enqueue", "start", "fail", "fail_permanently"]


@pytest.mark.parametrize("size", [5_000, 60_000, 900_000])
def test_a_snapshot_is_cut_to_its_limit_and_says_what_is_missing(harness_with: Any, size: int) -> None:
    harness = harness_with(snapshot_max_bytes=4096)
    workflow_id = died(harness, {"blob": "x" * size}, a="y" * size)

    snapshot = harness.open_letter(workflow_id).snapshot

    assert len(json.dumps(snapshot)) <= 4096 + 400
    assert {"steps.result", "workflow.input"} <= set(snapshot["left_out"])
    assert [step["name"] for step in snapshot["steps"] if step["state"] == "error"] == ["b"]


def test_a_wide_workflow_fits_its_snapshot_too(harness_with: Any) -> None:
    harness = harness_with(snapshot_max_bytes=16_384)
    harness.publish(shape("wide", {f"s{n:03}": () for n in range(300)}))
    harness.play(s007=always(NO))
    workflow_id = harness.submit("t/wide")

    harness.run_until_quiet()

    snapshot = harness.open_letter(workflow_id).snapshot
    assert len(json.dumps(snapshot)) <= 16_384 + 400
    assert [step["name"] for step in snapshot["steps"]] == ["s007"]
    assert "steps but the failed ones" in snapshot["left_out"]


def test_secrets_are_masked_wherever_the_failure_is_kept(harness: Harness) -> None:
    canary = "hunter2-canary"

    def leak(ctx: Any) -> None:
        raise PermanentError(f"login failed: password={canary} at postgresql://app:{canary}@db/x")

    workflow_id = died(harness, {"user": "ann", "password": canary, "deep": [{"api_key": canary}]}, b=leak)

    letter = harness.open_letter(workflow_id)
    assert letter.snapshot["workflow"]["input"]["user"] == "ann"
    kept = json.dumps(letter.snapshot) + letter.error_message
    stored = harness.database.call(
        "select failure::text from remand.attempts union all"
        " select failure::text from remand.steps where failure is not null"
    )
    assert canary not in kept + str(stored)
    [(workflow_input,)] = harness.database.call("select input from remand.workflows")
    assert workflow_input["password"] == canary, "a requeue still needs the real value"


def test_a_second_dead_branch_adds_a_note_and_a_fresh_snapshot(harness: Harness) -> None:
    harness.publish(shape("two", {"a": (), "b": ()}, each={"b": {"queue": "later"}}))
    harness.play(a=always(NO), b=always(PermanentError("b is broken too")))
    workflow_id = harness.submit("t/two")
    harness.drain()
    harness.drain_failures("never")
    first = harness.open_letter(workflow_id)
    harness.drain("later")

    harness.drain_failures("never")

    letter = harness.open_letter(workflow_id)
    assert (letter.id, letter.step) == (first.id, "a")
    [note] = dead_letters.notes_of(harness.database, letter.id)
    assert note.author == "remand"
    assert note.text.startswith("step b failed too: remand.errors.PermanentError")
    assert [step["state"] for step in letter.snapshot["steps"]] == ["error", "error"]


def test_two_branches_that_die_in_one_batch_share_an_entry(harness: Harness) -> None:
    harness.publish(shape("two", {"a": (), "b": (), "c": ()}))
    harness.play(**dict.fromkeys("abc", always(NO)))
    workflow_id = harness.submit("t/two")

    harness.run_until_quiet()

    [letter] = harness.letters(workflow_id)
    assert len(dead_letters.notes_of(harness.database, letter.id)) == 2


def test_the_same_thing_is_not_moved_twice(harness: Harness) -> None:
    workflow_id = died(harness)
    letter = harness.open_letter(workflow_id)
    names = {field.name for field in dataclasses.fields(dead_letters.DeadLetter)} - {"id"}
    values = {name: getattr(letter, name) for name in names}
    cancel(harness.engine, workflow_id, Who("ann"))

    with harness.database.begin() as connection:
        again = dead_letters.insert_letters(
            connection, [{**values, "id": new_id(), "snapshot": json.dumps(letter.snapshot)}]
        )

    assert again == set()
    assert len(harness.letters(workflow_id)) == 1


def test_letters_too_large_for_one_statement_are_stored_in_several(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness.publish(shape("one", {"a": ()}))
    harness.play(a=always(NO))
    ids = {harness.submit("t/one", {"text": "x" * 1000}) for _ in range(5)}
    monkeypatch.setattr(dead_letters, "AT_ONCE_CHARACTERS", 5_000)

    harness.run_until_quiet()

    assert {harness.open_letter(one).workflow_id for one in ids} == ids


def test_a_letter_and_the_failure_it_is_about_are_one_transaction(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness.publish(shape("one", {"a": ()}))
    harness.play(a=always(NO))
    workflow_id = harness.submit("t/one")
    harness.drain()
    really = fail.open_letters

    def killed(connection: Any, *arguments: Any, **named: Any) -> list[Any]:
        opened = really(connection, *arguments, **named)
        assert opened, "the entry is there, not yet committed"
        connection.execute(sa.text("select pg_terminate_backend(pg_backend_pid())"))
        return opened

    monkeypatch.setattr(fail, "open_letters", killed)
    with pytest.raises(DatabaseUnreachable):
        harness.drain_failures("never")

    assert harness.letters(workflow_id) == []
    assert harness.states(workflow_id) == {"a": "enqueued_as_error_for_orchestration"}
    monkeypatch.setattr(fail, "open_letters", really)
    assert harness.drain_failures("never").dead == 1
    assert len(harness.letters(workflow_id)) == 1


def test_every_road_into_the_queue_fills_every_field(harness: Harness) -> None:
    from remand.errors import StepTimeout

    harness.publish(shape("two", {"a": ()}, retry={"max_attempts": 1, "lost_attempts": 1}))
    parts = iter([NO, ConnectionResetError("reset"), StepTimeout("late")])

    def part(ctx: Any) -> None:
        raise next(parts)

    harness.play(a=part)
    ids = [harness.submit("t/two") for _ in range(3)]
    harness.run_until_quiet()
    lost = harness.submit("t/two")
    other = harness.new_worker(hostname="gone@test")
    other.queue.claim("steps", 1)
    harness.clock.advance(3600)
    harness.run_until_quiet()

    letters = [harness.open_letter(one) for one in [*ids, lost]]
    assert [letter.reason for letter in letters] == [
        "permanent_failure", "max_retries_exceeded", "max_retries_exceeded", "worker_lost",
    ]  # fmt: skip
    assert letters[3].worker == "gone@test"
    for letter in letters:
        for name in ("handler", "queue", "category", "rule", "error_class", "error_message", "worker"):
            assert getattr(letter, name), (letter.reason, name)


def test_after_a_requeue_the_next_death_opens_a_new_entry(harness: Harness) -> None:
    workflow_id = died(harness)
    first = harness.open_letter(workflow_id)

    requeue_letter(harness.engine, first.id, Who("ann", "fixed it"))
    harness.run_until_quiet()

    second = harness.open_letter(workflow_id)
    assert second.id != first.id
    assert second.source_id == f"{workflow_id}:b:2"
    assert [letter.status for letter in harness.letters(workflow_id)] == ["pending", "requeued"]


def test_an_entry_is_found_by_a_piece_of_its_id_or_of_its_workflows(harness: Harness) -> None:
    workflow_id = died(harness)
    letter = harness.open_letter(workflow_id)

    for typed in (str(letter.id), str(letter.id)[-8:], str(workflow_id), str(workflow_id)[-8:]):
        assert dead_letters.find_dead_letter(harness.database, typed).id == letter.id
    with pytest.raises(DeadLetterNotFound):
        dead_letters.find_dead_letter(harness.database, str(new_id()))
    for nonsense in ("", "xyz", "%", "'; drop table"):
        with pytest.raises(DeadLetterNotFound):
            dead_letters.find_dead_letter(harness.database, nonsense)


def test_a_piece_that_fits_several_names_them(harness: Harness) -> None:
    harness.publish(shape("one", {"a": ()}))
    harness.play(a=always(NO))
    harness.submit_many("t/one", [1, 2])
    harness.run_until_quiet()
    [first, second] = list_letters(harness.database)

    with pytest.raises(AmbiguousId, match=str(first.id)):
        dead_letters.find_dead_letter(harness.database, str(second.id)[:6])


def test_entries_are_listed_by_what_is_asked_for(harness: Harness) -> None:
    harness.publish(shape("one", {"a": ()}))
    harness.publish(shape("other", {"a": ()}))
    harness.play(a=fails(NO))
    one, other = harness.submit("t/one"), harness.submit("t/other")
    harness.run_until_quiet()
    resolve_step(harness.engine, other, "a", Who("ann"))

    listed = [
        [letter.workflow_id for letter in list_letters(harness.database, **filters)]
        for filters in (
            {},
            {"statuses": ("manually_resolved",)},
            {"template": "t/one"},
            {"template": "one"},
            {"template": "on"},
            {"reasons": ("worker_lost",)},
            {"statuses": (), "limit": 1},
        )
    ]

    assert listed == [[one], [other], [one], [one], [], [], [other]]


def test_notes_cannot_be_changed(harness: Harness) -> None:
    workflow_id = died(harness)
    letter = harness.open_letter(workflow_id)
    with harness.database.begin() as connection:
        dead_letters.add_note(connection, letter.id, author="ann", text="looking", now=harness.clock.now)

    with pytest.raises(Exception, match="append-only"):
        harness.database.call("update remand.dead_letter_notes set text = 'never said that'")


def test_the_large_values_of_a_wide_workflow_are_left_out_of_its_snapshot(harness: Harness) -> None:
    """Read whole they would pass 256 MB some day, and no failure of that queue would be decided any more."""
    wide = {f"w{n}": () for n in range(20)}
    harness.publish(shape("wide", {**wide, "bad": ()}))
    harness.play(**{name: os.urandom(20_000).hex() for name in wide}, bad=always(PermanentError("no")))
    workflow_id = harness.submit("t/wide")

    harness.run_until_quiet()

    steps = {step["name"]: step for step in harness.open_letter(workflow_id).snapshot["steps"]}
    assert {steps[name]["result"] for name in wide} == {CUT}
    assert "traceback" in steps["bad"]["failure"]
