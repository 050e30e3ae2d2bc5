"""What people do with an investigation itself, and two who press replay at once. Source: C2."""

from __future__ import annotations

from functools import partial
from typing import Any
from uuid import UUID

import pytest

from remand.errors import PermanentError
from remand_app.domain.errors import BadInput, IllegalMove, InputInvalid
from remand_app.engine import operate
from remand_app.engine.operate import Who
from remand_app.resources import audit
from remand_app.store import dead_letters
from tests.support.engine import Harness
from tests.support.invariants import check_invariants
from tests.support.shapes import always, fails, shape
from tests.support.threads import together

ANN, BOB = Who("ann", "mine"), Who("bob")


def dead(harness: Harness, **steps: Any) -> UUID:
    harness.publish(shape("one", {"a": ()}))
    harness.play(**(steps or {"a": always(PermanentError("no"))}))
    workflow = harness.submit("t/one")
    harness.run_until_quiet()
    return harness.open_letter(workflow).id


def letter_of(harness: Harness, letter: UUID) -> dead_letters.DeadLetter:
    return dead_letters.get_dead_letter(harness.database, letter)


def verbs_written(harness: Harness, letter: UUID) -> list[str]:
    found = audit.list_page(harness.database, audit.AuditFilter(kind="dead_letter", subject=str(letter)))
    return [one.verb for one in found.items]


def test_releasing_gives_it_back_and_twice_is_once(harness: Harness) -> None:
    letter = dead(harness)
    operate.claim_letter(harness.engine, letter, ANN)

    assert operate.release_letter(harness.engine, letter, ANN).after == "pending"
    assert not operate.release_letter(harness.engine, letter, ANN).changed

    found = letter_of(harness, letter)
    assert (found.status, found.claimed_by, found.claimed_at) == ("pending", None, None)
    assert verbs_written(harness, letter) == ["dead_letter.release", "dead_letter.claim"]


@pytest.mark.parametrize("verb", ["release", "assign"])
def test_what_somebody_else_has_changes_hands_by_force_only(harness: Harness, verb: str) -> None:
    letter = dead(harness)
    operate.claim_letter(harness.engine, letter, ANN)
    act = {
        "release": partial(operate.release_letter, harness.engine, letter, BOB),
        "assign": partial(operate.assign_letter, harness.engine, letter, "bob", BOB),
    }[verb]

    with pytest.raises(IllegalMove, match="claimed by ann"):
        act()
    assert letter_of(harness, letter).claimed_by == "ann"
    act(force=True)

    assert letter_of(harness, letter).claimed_by == (None if verb == "release" else "bob")
    entry = audit.list_page(harness.database, audit.AuditFilter(verb=f"dead_letter.{verb}")).items[0]
    assert (entry.before["claimed_by"], entry.by) == ("ann", "bob")


def test_assigning_gives_a_free_one_to_somebody(harness: Harness) -> None:
    letter = dead(harness)

    assert operate.assign_letter(harness.engine, letter, " cleo ", BOB).after == "investigating"
    assert not operate.assign_letter(harness.engine, letter, "cleo", BOB).changed

    found = letter_of(harness, letter)
    assert (found.claimed_by, found.claimed_at) == ("cleo", harness.clock.now)


@pytest.mark.parametrize("name", ["", "  ", "x" * 201, "nul\x00"])
def test_nobody_is_assigned_to(harness: Harness, name: str) -> None:
    letter = dead(harness)

    with pytest.raises(BadInput):
        operate.assign_letter(harness.engine, letter, name, BOB)


def test_labels_and_links_are_each_there_once(harness: Harness) -> None:
    letter = dead(harness)

    operate.label_letter(harness.engine, letter, ANN, add=["bank", "p1", "bank"])
    operate.label_letter(harness.engine, letter, ANN, add=["eu"], remove=["p1", "never"])
    operate.link_letter(harness.engine, letter, ANN, add=["https://tickets.example/4"])

    found = letter_of(harness, letter)
    assert (found.labels, found.links) == (["bank", "eu"], ["https://tickets.example/4"])
    assert not operate.label_letter(harness.engine, letter, ANN, add=["eu"]).changed
    entry = audit.list_page(harness.database, audit.AuditFilter(verb="dead_letter.label")).items[0]
    assert (entry.before, entry.after) == ({"labels": ["bank", "p1"]}, {"labels": ["bank", "eu"]})


@pytest.mark.parametrize("label", ["", " a", "a b", "x" * 65, "<b>", "a\n"])
def test_what_is_no_label_is_refused(harness: Harness, label: str) -> None:
    letter = dead(harness)

    with pytest.raises(InputInvalid, match="no label"):
        operate.label_letter(harness.engine, letter, ANN, add=[label])


@pytest.mark.parametrize(
    "link",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        "ftp://x/y",
        "//x/y",
        "https://",
        "https://a:b@c/",
        "http://x/ y",
        'http://x/"onclick=',
        "http://[x",
        "java\nscript:alert(1)",
        "http://x/" + "y" * 2000,
    ],
)
def test_what_is_no_link_is_refused(harness: Harness, link: str) -> None:
    letter = dead(harness)

    with pytest.raises(InputInvalid, match="no link"):
        operate.link_letter(harness.engine, letter, ANN, add=[link])


def test_a_letter_has_twenty_labels_at_most(harness: Harness) -> None:
    letter = dead(harness)
    operate.label_letter(harness.engine, letter, ANN, add=[f"l{n}" for n in range(20)])

    with pytest.raises(InputInvalid, match="21 labels"):
        operate.label_letter(harness.engine, letter, ANN, add=["one-more"])


def test_metadata_is_merged_and_secrets_are_masked(harness: Harness) -> None:
    letter = dead(harness)
    before = letter_of(harness, letter).metadata

    operate.merge_letter_metadata(harness.engine, letter, {"ticket": 4, "password": "hunter2"}, ANN)
    operate.merge_letter_metadata(harness.engine, letter, {"ticket": None, "team": "eu"}, ANN)

    found = letter_of(harness, letter).metadata
    assert "hunter2" not in str(found)
    assert (found["team"], "ticket" in found) == ("eu", False)
    assert before.items() <= found.items()


@pytest.mark.parametrize("key", ["explanation", "redrive"])
def test_what_the_product_wrote_into_metadata_is_kept(harness: Harness, key: str) -> None:
    letter = dead(harness)

    with pytest.raises(InputInvalid, match=key):
        operate.merge_letter_metadata(harness.engine, letter, {key: "mine"}, ANN)


def test_a_closed_letter_changes_hands_no_more_but_takes_labels(harness: Harness) -> None:
    letter = dead(harness)
    operate.cancel_letter(harness.engine, letter, ANN)

    with pytest.raises(IllegalMove, match="closed as cancelled"):
        operate.release_letter(harness.engine, letter, ANN)
    with pytest.raises(IllegalMove, match="closed as cancelled"):
        operate.assign_letter(harness.engine, letter, "cleo", ANN)
    assert operate.label_letter(harness.engine, letter, ANN, add=["postmortem"]).changed


def test_two_who_replay_at_once_make_one_attempt_and_the_other_hears_the_state(harness: Harness) -> None:
    letter = dead(harness, a=fails(PermanentError("no")))
    workflow = letter_of(harness, letter).workflow_id

    ends = together(
        partial(operate.requeue_letter, harness.engine, letter, ANN),
        partial(operate.requeue_letter, harness.engine, letter, BOB),
    )

    refused = [one for one in ends if isinstance(one, BaseException)]
    assert [type(one) for one in refused] == [IllegalMove]
    assert "closed as requeued by" in str(refused[0])
    harness.run_until_quiet()
    assert len(harness.attempts(workflow, "a")) == 2
    assert harness.workflow(workflow).state == "complete"
    check_invariants(harness.database)


def test_two_who_retry_the_step_at_once_make_one_attempt(harness: Harness) -> None:
    letter = dead(harness, a=fails(PermanentError("no")))
    workflow = letter_of(harness, letter).workflow_id

    ends = together(*(partial(operate.retry_step, harness.engine, workflow, "a", one) for one in (ANN, BOB)))

    refused = [one for one in ends if isinstance(one, BaseException)]
    assert [type(one) for one in refused] == [IllegalMove]
    assert "'a' is enqueued" in str(refused[0])
    harness.run_until_quiet()
    assert len(harness.attempts(workflow, "a")) == 2
    check_invariants(harness.database)


@pytest.mark.parametrize("closing", ["requeue", "resolve"])
def test_a_letter_that_is_dealt_with_or_runs_again_is_not_replayed(harness: Harness, closing: str) -> None:
    letter = dead(harness)
    act = {"requeue": operate.requeue_letter, "resolve": operate.resolve_letter}[closing]
    act(harness.engine, letter, ANN)
    if closing == "requeue":
        harness.worker.queue.claim("steps", 1)

    with pytest.raises(IllegalMove, match="closed as"):
        operate.requeue_letter(harness.engine, letter, BOB)

    check_invariants(harness.database)
