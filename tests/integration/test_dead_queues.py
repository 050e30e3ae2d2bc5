"""Named dead queues: where letters lie, and that they cannot go in circles. Source: C5."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any
from uuid import UUID

import pytest

import remand_app.cli.main  # noqa: F401 - registers the commands
from remand.errors import PermanentError, RemandError
from remand_app.cli.invoke import run
from remand_app.domain.audit_filter import AuditFilter
from remand_app.domain.errors import (
    DeadQueueChained,
    DeadQueueInUse,
    DeadQueueNotFound,
    InputInvalid,
    NameTaken,
    TemplateInvalid,
)
from remand_app.engine import dead_queues as verbs
from remand_app.engine.fail import drain_failures
from remand_app.engine.operate import Who, requeue_letter
from remand_app.engine.publish import publish
from remand_app.engine.queue_settings import set_queue
from remand_app.resources.audit import list_page as audited
from remand_app.store import dead_queues, group_counts, statistics
from tests.support.engine import Harness
from tests.support.invariants import check_invariants
from tests.support.shapes import always, shape

ANN = Who("ann", "the payments team has its own")


def dead_of(harness: Harness, yaml_text: str, ref: str = "t/pay") -> UUID:
    """Publish, let step `charge` fail for good, return the workflow."""
    harness.publish(yaml_text)
    harness.play(charge=always(PermanentError("declined")))
    workflow = harness.submit(ref)
    harness.run_until_quiet()
    return workflow


def make(harness: Harness, *names: str) -> None:
    for name in names:
        verbs.create_dead_queue(harness.engine, name, ANN)


def test_a_letter_lies_in_the_default_dead_queue_when_nothing_is_said(harness: Harness) -> None:
    workflow = dead_of(harness, shape("pay", {"charge": ()}))

    assert harness.open_letter(workflow).dead_queue == "default"
    check_invariants(harness.database)


def test_a_letter_lies_where_the_queue_of_its_step_points_to(harness: Harness) -> None:
    make(harness, "payments-dead")
    assert set_queue(harness.engine, "steps", ANN, dead_queue="payments-dead") is True

    workflow = dead_of(harness, shape("pay", {"charge": ()}))

    assert harness.open_letter(workflow).dead_queue == "payments-dead"
    assert [(one.name, one.open, one.queues) for one in verbs.list_dead_queues(harness.engine)] == [
        ("default", 0, []),
        ("payments-dead", 1, ["steps"]),
    ]
    check_invariants(harness.database)


def test_the_template_goes_before_the_queue(harness: Harness) -> None:
    make(harness, "payments-dead", "steps-dead")
    set_queue(harness.engine, "steps", ANN, dead_queue="steps-dead")

    workflow = dead_of(harness, shape("pay", {"charge": ()}, dead_letters={"queue": "payments-dead"}))

    assert harness.open_letter(workflow).dead_queue == "payments-dead"


def test_letters_of_one_batch_lie_each_in_its_own_place(harness: Harness) -> None:
    make(harness, "payments-dead", "steps-dead")
    set_queue(harness.engine, "steps", ANN, dead_queue="steps-dead")
    harness.publish(shape("pay", {"charge": ()}, dead_letters={"queue": "payments-dead"}))
    harness.publish(shape("other", {"charge": ()}))
    harness.play(charge=always(PermanentError("declined")))
    made = [harness.submit(ref) for ref in ("t/pay", "t/other", "t/pay")]
    harness.drain()
    assert drain_failures(harness.engine, "retry.never").dead == 3

    places = [harness.open_letter(workflow).dead_queue for workflow in made]

    assert places == ["payments-dead", "steps-dead", "payments-dead"]


def test_a_queue_may_be_unset_and_setting_it_twice_changes_nothing(harness: Harness) -> None:
    make(harness, "payments-dead")
    set_queue(harness.engine, "steps", ANN, dead_queue="payments-dead")

    assert set_queue(harness.engine, "steps", ANN, dead_queue="payments-dead") is False
    assert set_queue(harness.engine, "steps", ANN, dead_queue="default") is True
    assert set_queue(harness.engine, "steps", ANN, dead_queue="default") is False

    assert [one.queues for one in verbs.list_dead_queues(harness.engine)] == [[], []]


def test_a_template_may_only_name_a_dead_queue_that_exists(harness: Harness) -> None:
    with pytest.raises(TemplateInvalid, match="there is no dead queue 'payments-dead'") as refused:
        harness.publish(shape("pay", {"charge": ()}, dead_letters={"queue": "payments-dead"}))

    [problem] = refused.value.problems
    assert (problem.path, problem.code) == ("dead_letters.queue", "unknown_dead_queue")
    assert harness.database.call("select count(*) from remand.templates") == [(0,)]


def test_files_with_a_bad_queue_are_published_none_of_them(harness: Harness, tmp_path: Path) -> None:
    make(harness, "payments-dead")
    (tmp_path / "a.yaml").write_text(shape("good", {"a": ()}))
    (tmp_path / "b.yaml").write_text(shape("one", {"a": ()}, dead_letters={"queue": "nowhere"}))
    (tmp_path / "c.yaml").write_text(shape("two", {"a": ()}, each={"a": {"queue": "payments-dead"}}))

    with pytest.raises(TemplateInvalid) as refused:
        publish(harness.engine.templates, [tmp_path])

    assert [one.code for one in refused.value.problems] == ["unknown_dead_queue", "dead_queue_of_step"]
    assert harness.database.call("select count(*) from remand.templates") == [(0,)]


def test_a_published_version_stays_published_when_its_dead_queue_is_gone(harness: Harness) -> None:
    make(harness, "payments-dead")
    old = shape("pay", {"charge": ()}, dead_letters={"queue": "payments-dead"})
    harness.publish(old)
    harness.publish(shape("pay", {"charge": ()}, version="2"))
    verbs.delete_dead_queue(harness.engine, "payments-dead", ANN)

    workflow = dead_of(harness, old, "t/pay:1")

    assert harness.open_letter(workflow).dead_queue == "default"
    check_invariants(harness.database)


def test_no_step_runs_in_a_dead_queue(harness: Harness) -> None:
    make(harness, "payments-dead")

    with pytest.raises(TemplateInvalid, match="'payments-dead' is a dead queue: no step can run in it"):
        harness.publish(shape("pay", {"charge": ()}, each={"charge": {"queue": "payments-dead"}}))


@pytest.mark.parametrize("name", ["steps", "slow"])
def test_no_dead_queue_is_made_of_a_queue_of_steps(harness: Harness, name: str) -> None:
    harness.publish(shape("pay", {"charge": ()}, each={"charge": {"queue": "slow"}}))

    with pytest.raises(DeadQueueChained, match="is a queue in which steps run"):
        make(harness, name)


def test_no_chain_when_a_dead_queue_is_made(harness: Harness) -> None:
    make(harness, "first")
    set_queue(harness.engine, "second", ANN, dead_queue="first")

    with pytest.raises(DeadQueueChained, match="queue 'second' has a dead queue itself, 'first'"):
        make(harness, "second")


def test_no_chain_when_a_queue_is_pointed(harness: Harness) -> None:
    make(harness, "first", "second")

    with pytest.raises(DeadQueueChained, match="'second' is a dead queue: it has no dead queue itself"):
        set_queue(harness.engine, "second", ANN, dead_queue="first")


def test_a_queue_is_never_its_own_dead_queue(harness: Harness) -> None:
    make(harness, "first")

    with pytest.raises(DeadQueueChained, match="cannot be its own dead queue"):
        set_queue(harness.engine, "first", ANN, dead_queue="first")


def test_what_is_not_there_is_said_not_to_be(harness: Harness) -> None:
    for verb in (
        lambda: set_queue(harness.engine, "steps", ANN, dead_queue="nowhere"),
        lambda: verbs.get_dead_queue(harness.engine, "nowhere"),
        lambda: verbs.change_dead_queue(harness.engine, "nowhere", ANN, description="x"),
        lambda: verbs.delete_dead_queue(harness.engine, "nowhere", ANN),
    ):
        with pytest.raises(DeadQueueNotFound, match="there is no dead queue 'nowhere'"):
            verb()


@pytest.mark.parametrize("name", ["", "retry.never", "Remand.maintenance", "with space", "x" * 64])
def test_names_that_will_not_do_are_refused(harness: Harness, name: str) -> None:
    with pytest.raises(InputInvalid, match="will not do as the name of a queue"):
        make(harness, name)


def test_a_name_is_taken_once(harness: Harness) -> None:
    make(harness, "first")

    with pytest.raises(NameTaken):
        make(harness, "first")


def test_limit_and_words_may_be_changed_one_by_one(harness: Harness) -> None:
    verbs.create_dead_queue(harness.engine, "first", ANN, description="ours", size_limit=10)

    verbs.change_dead_queue(harness.engine, "first", ANN, size_limit=20)
    changed = verbs.change_dead_queue(harness.engine, "first", ANN, description="theirs")

    assert (changed.description, changed.size_limit, changed.created_by) == ("theirs", 20, "ann")
    with pytest.raises(InputInvalid, match="1 to 100,000,000"):
        verbs.change_dead_queue(harness.engine, "first", ANN, size_limit=0)


def test_a_dead_queue_with_letters_is_deleted_only_if_they_are_moved(harness: Harness) -> None:
    make(harness, "old-dead", "new-dead")
    set_queue(harness.engine, "steps", ANN, dead_queue="old-dead")
    mended = dead_of(harness, shape("pay", {"charge": ()}))
    requeue_letter(harness.engine, harness.open_letter(mended).id, ANN)
    harness.run_until_quiet()

    with pytest.raises(DeadQueueInUse, match="2 letters lie in it"):
        verbs.delete_dead_queue(harness.engine, "old-dead", ANN)
    moved = verbs.delete_dead_queue(harness.engine, "old-dead", ANN, move_to="new-dead")

    assert moved == 2
    assert [one.dead_queue for one in harness.letters(mended)] == ["new-dead", "new-dead"]
    assert [(one.name, one.queues) for one in verbs.list_dead_queues(harness.engine)] == [
        ("default", []),
        ("new-dead", ["steps"]),
    ]
    group_counts.fold(harness.database)
    assert [(one.name, one.open) for one in statistics.held(harness.database)] == [
        ("default", 0),
        ("new-dead", 1),
    ]
    check_invariants(harness.database)


def test_a_dead_queue_that_something_names_stays(harness: Harness) -> None:
    make(harness, "pointed", "named")
    set_queue(harness.engine, "steps", ANN, dead_queue="pointed")
    harness.publish(shape("pay", {"charge": ()}, dead_letters={"queue": "named"}))

    with pytest.raises(DeadQueueInUse, match="queue steps points to it"):
        verbs.delete_dead_queue(harness.engine, "pointed", ANN)
    with pytest.raises(DeadQueueInUse, match="t/pay:1 names it"):
        verbs.delete_dead_queue(harness.engine, "named", ANN, move_to="default")
    with pytest.raises(DeadQueueInUse, match="it stays"):
        verbs.delete_dead_queue(harness.engine, "default", ANN, move_to="named")


def test_everything_is_in_the_audit_log(harness: Harness) -> None:
    make(harness, "first")
    verbs.change_dead_queue(harness.engine, "first", ANN, size_limit=7)
    set_queue(harness.engine, "steps", ANN, dead_queue="first")
    verbs.delete_dead_queue(harness.engine, "first", ANN, move_to="default")

    written = audited(harness.database, AuditFilter()).items

    assert [(one.verb, one.subject, one.after) for one in reversed(written)] == [
        ("dead_queue.create", "first", {"description": "", "size_limit": None}),
        ("dead_queue.change", "first", {"description": "", "size_limit": 7}),
        ("queue.set", "steps", {"dead_queue": "first"}),
        ("dead_queue.delete", "first", {"letters": 0, "moved_to": "default"}),
    ]
    assert {(one.by, one.reason) for one in written} == {("ann", ANN.reason)}


def both(*verbs_: Callable[[], Any]) -> list[Any]:
    """Do two things at once; return what each came to."""
    barrier = Barrier(len(verbs_))

    def act(verb: Callable[[], Any]) -> Any:
        barrier.wait()
        try:
            return verb()
        except RemandError as error:
            return type(error)

    with ThreadPoolExecutor(len(verbs_)) as threads:
        return list(threads.map(act, verbs_))


def test_of_two_that_point_crosswise_one_wins(harness: Harness) -> None:
    make(harness, "first")
    engine = harness.engine
    for turn in range(20):
        name = f"q{turn}"
        came_to = both(
            lambda name=name: verbs.create_dead_queue(engine, name, ANN),
            lambda name=name: set_queue(engine, name, ANN, dead_queue="first"),
        )
        assert came_to.count(DeadQueueChained) == 1, came_to


def test_of_a_template_and_a_dead_queue_of_one_name_one_wins(harness: Harness) -> None:
    engine = harness.engine
    for turn in range(20):
        name = f"q{turn}"
        yaml_text = shape(name, {"a": ()}, each={"a": {"queue": name}})
        came_to = both(
            lambda name=name: verbs.create_dead_queue(engine, name, ANN),
            lambda yaml_text=yaml_text: harness.publish(yaml_text),
        )
        refused = [one for one in came_to if one in (DeadQueueChained, TemplateInvalid)]
        assert len(refused) == 1, came_to


def test_a_letter_that_is_being_opened_keeps_its_dead_queue(harness: Harness) -> None:
    make(harness, "first")
    with ThreadPoolExecutor(1) as threads:
        with harness.database.begin() as connection:
            [place] = dead_queues.places(connection, [("first", "steps")], "default")
            deleting = threads.submit(verbs.delete_dead_queue, harness.engine, "first", ANN)
            with pytest.raises(TimeoutError):
                deleting.result(timeout=0.3)
        assert (place, deleting.result(timeout=10)) == ("first", 0)


@pytest.fixture
def answer(
    database_url: str,
    broker_url: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Callable[..., Any]:
    monkeypatch.setenv("REMAND_DATABASE_URL", database_url)
    monkeypatch.setenv("REMAND_BROKER_URL", broker_url)
    monkeypatch.setenv("REMAND_USER", "ann")
    monkeypatch.chdir(tmp_path)

    def ask(*words: str, exits: int = 0, is_json: bool = True) -> Any:
        capsys.readouterr()
        assert run([*words, *(["--json"] if is_json else [])]) == exits
        out = capsys.readouterr().out
        return json.loads(out.splitlines()[-1]) if is_json else out

    return ask


def test_the_command_line_makes_points_lists_and_deletes(
    harness: Harness, answer: Callable[..., Any]
) -> None:
    made = answer("dlq", "queue", "create", "first", "--description", "ours", "--size-limit", "9")
    assert (made["name"], made["size_limit"], made["created_by"]) == ("first", 9, "ann")
    assert answer("dlq", "queue", "set", "first", "--size-limit", "8")["size_limit"] == 8
    assert answer("queue", "set", "steps", "--dead-queue", "first")["changed"] is True
    dead_of(harness, shape("pay", {"charge": ()}))

    assert [(one["name"], one["open"]) for one in answer("dlq", "queue", "list")["items"]] == [
        ("default", 0),
        ("first", 1),
    ]
    assert "steps" in answer("dlq", "queue", "list", is_json=False)
    assert answer("dlq", "queue", "delete", "first", exits=5)["error"]["code"] == "DEAD_QUEUE_IN_USE"
    assert answer("dlq", "queue", "delete", "first", "--move-to", "default")["moved"] == 1
    assert answer("dlq", "queue", "create", "steps", exits=5)["error"]["code"] == "DEAD_QUEUE_CHAINED"
    for words in (("set", "first"), ("create", "third")):
        assert (
            answer("dlq", "queue", *words, "--size-limit", "0", exits=2)["error"]["code"] == "INPUT_INVALID"
        )
    assert answer("queue", "set", "steps", "--dead-queue", "nowhere", exits=4)["error"]["hint"]
