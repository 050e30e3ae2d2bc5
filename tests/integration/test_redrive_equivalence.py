"""Requeueing in bulk and one by one are the same: the same rows, whichever road a workflow took."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from remand import PermanentError
from remand_app.engine.operate import Who, claim_letter, requeue_letter
from remand_app.store import redrive_items
from remand_app.store.database import Database
from tests.support.engine import Harness
from tests.support.invariants import check_invariants
from tests.support.shapes import always, shape

ANN = Who("ann", "repaired")
NO = PermanentError("no")
SHAPES: dict[str, dict[str, Any]] = {
    "chain": {"graph": {"a": (), "b": "a", "c": "b"}, "dead": "b"},
    "first": {"graph": {"a": (), "b": "a"}, "dead": "a"},
    "branches": {"graph": {"a": (), "b": "a", "c": "a", "d": "bc"}, "dead": "bc"},
    "one_branch": {"graph": {"a": (), "b": "a", "c": "a", "d": "bc"}, "dead": "c"},
    "fast": {"graph": {"a": (), "b": (), "c": "ab"}, "dead": "a", "on_failure": "fail_fast"},
    "wide": {"graph": {"a": (), **dict.fromkeys("bcdefg", "a")}, "dead": "bdf"},
}
_WORKFLOW = (
    "select state, state_since, open_steps, error_steps, troubled, hold from remand.workflows where id = %s"
)
_STEPS = (
    "select name, state, queue, priority, open_parents, attempt, failures, lost_attempts, enqueued_at,"
    " started_at, ended_at, failing_since, worker is null from remand.steps"
    " where workflow_id = %s order by position"
)
_QUEUE = (
    "select step, phase, queue, namespace, dependency, gate, priority, due_at, attempt, suspect, worker"
    " from remand.run_queue where workflow_id = %s order by step"
)
_HISTORY = (
    "select kind, step, from_state, event, to_state, at, by, reason from remand.history"
    " where workflow_id = %s order by seq"
)
_LETTER = (
    "select status, claimed_by, claimed_at, closed_by, closed_at, resolution, requeue_at, labels, links,"
    " requeues, metadata from remand.dead_letters where workflow_id = %s order by id"
)
_AUDIT = (
    "select at, by, via, verb, kind, reason, before, after from remand.audit_log where workflow_id = %s"
    " order by verb, at"
)
_NOTES = (
    "select n.at, n.author, n.text from remand.dead_letter_notes n join remand.dead_letters d"
    " on d.id = n.dead_letter_id where d.workflow_id = %s order by n.id"
)


def rows(database: Database, workflow_id: UUID) -> dict[str, Any]:
    """Everything that is stored of a workflow, without ids."""
    parts = {
        "workflow": _WORKFLOW, "steps": _STEPS, "queue": _QUEUE, "history": _HISTORY, "letters": _LETTER,
        "audit": _AUDIT, "notes": _NOTES,
    }  # fmt: skip
    return {name: database.call(query, (workflow_id,)) for name, query in parts.items()}


def deaths(harness: Harness, name: str, count: int) -> list[tuple[UUID, UUID]]:
    """Workflows of a shape that died, with their letters."""
    spec = dict(SHAPES[name])
    dead = spec.pop("dead")
    harness.publish(shape(name, spec.pop("graph"), **spec))
    harness.play(**{step: always(NO) for step in dead})
    ids = harness.submit_many(f"t/{name}", [None] * count)
    harness.run_until_quiet()
    return [(one, harness.open_letter(one).id) for one in ids]


def in_bulk(harness: Harness, letters: list[UUID], **more: Any) -> redrive_items.Requeued:
    with harness.database.begin() as connection:
        done = redrive_items.requeue_letters(
            connection, letters, by=ANN.by, reason=ANN.reason, via=ANN.via, now=harness.clock.now, **more
        )
    harness.bell.ring(done.queues)
    return done


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("claimed", [False, True], ids=["pending", "investigating"])
def test_both_roads_leave_the_same_rows(harness: Harness, name: str, *, claimed: bool) -> None:
    (one, letter), *others = deaths(harness, name, 3)
    if claimed:
        for each in (letter, *(other for _, other in others)):
            claim_letter(harness.engine, each, ANN)
    harness.advance(7)

    harness.bell.take()
    requeue_letter(harness.engine, letter, ANN)
    rung = harness.bell.take()
    done = in_bulk(harness, [other for _, other in others])

    assert harness.bell.take() == rung
    assert set(done.sent) == {other for _, other in others}
    wanted = rows(harness.database, one)
    for other, _ in others:
        assert rows(harness.database, other) == wanted
    check_invariants(harness.database)
    harness.play()
    harness.run_until_quiet()
    assert {harness.workflow(each).state for each, _ in [(one, letter), *others]} == {"complete"}
    check_invariants(harness.database)


def test_a_second_death_goes_the_same_way(harness: Harness) -> None:
    (one, letter), (other, other_letter) = deaths(harness, "chain", 2)
    for each in (letter, other_letter):
        requeue_letter(harness.engine, each, ANN)
    harness.run_until_quiet()
    harness.advance(1)

    requeue_letter(harness.engine, harness.open_letter(one).id, ANN)
    in_bulk(harness, [harness.open_letter(other).id])

    assert rows(harness.database, other) == rows(harness.database, one)
    check_invariants(harness.database)


def test_a_mixed_batch_is_told_apart(harness: Harness) -> None:
    died = [letter for name in SHAPES for _, letter in deaths(harness, name, 2)]
    requeue_letter(harness.engine, died[0], Who("bob"))
    claim_letter(harness.engine, died[1], Who("bob"))

    done = in_bulk(harness, died, include_claimed=False)

    assert dict(done.skipped) == {died[0]: "closed as requeued by bob", died[1]: "claimed by bob"}
    assert set(done.sent) == set(died[2:])
    check_invariants(harness.database)
    assert in_bulk(harness, died[2:]).sent == {}
