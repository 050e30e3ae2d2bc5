"""A person takes a workflow out of work, and sends it on later. Source: C1."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from remand.errors import PermanentError
from remand_app.domain.audit_filter import AuditFilter
from remand_app.domain.errors import IllegalMove, InputInvalid
from remand_app.engine.operate import Who, cancel, pause_workflow, requeue_letter
from remand_app.engine.operate.open_by_hand import open_dead_letter
from remand_app.resources.audit import list_page as audited
from tests.support.engine import Harness
from tests.support.invariants import check_invariants
from tests.support.shapes import CHAIN, always, shape
from tests.support.threads import together

ANN = Who("ann", "the bank sends wrong balances")


def submitted(harness: Harness, graph: Any = CHAIN, **top: Any) -> UUID:
    harness.publish(shape("pay", graph, **top))
    return harness.submit("t/pay")


def test_a_workflow_taken_out_stands_until_it_is_sent_on(harness: Harness) -> None:
    workflow = submitted(harness)
    decided = open_dead_letter(harness.engine, workflow, ANN)

    assert (decided.before, decided.after) == ("steps_in_process", "blocked_by_failures")
    letter = harness.open_letter(workflow)
    assert (letter.reason, letter.step, letter.error_message) == ("manual_dlq", "a", ANN.reason)
    ran = harness.play()
    harness.run_until_quiet()
    assert ran == []
    check_invariants(harness.database)

    requeue_letter(harness.engine, letter.id, Who("bob", "fixed"))
    harness.run_until_quiet()

    assert ran == ["a", "b", "c", "d"]
    assert harness.workflow(workflow).state == "complete"
    check_invariants(harness.database)


def test_what_was_done_is_kept_and_a_late_result_refused(harness: Harness) -> None:
    workflow = submitted(harness)

    def taken_out(ctx: Any) -> str:
        open_dead_letter(harness.engine, workflow, ANN)
        return "late"

    harness.play(b=taken_out)
    harness.run_until_quiet()

    assert harness.states(workflow) == {"a": "complete", "b": "error", "c": "pending", "d": "pending"}
    check_invariants(harness.database)


def test_it_can_be_taken_out_again_at_the_same_attempt(harness: Harness) -> None:
    workflow = submitted(harness)
    for _ in range(2):
        open_dead_letter(harness.engine, workflow, ANN)
        requeue_letter(harness.engine, harness.open_letter(workflow).id, ANN)
        harness.advance(1)

    assert [one.status for one in harness.letters(workflow)] == ["requeued", "requeued"]
    check_invariants(harness.database)


def test_by_hand_there_is_a_letter_where_failures_get_none(harness: Harness) -> None:
    workflow = submitted(harness, dead_letters={"strategy": "disabled"})

    open_dead_letter(harness.engine, workflow, ANN)

    assert harness.open_letter(workflow).reason == "manual_dlq"
    assert harness.workflow(workflow).state == "blocked_by_failures"
    check_invariants(harness.database)


def test_a_paused_workflow_can_be_taken_out(harness: Harness) -> None:
    workflow = submitted(harness)
    pause_workflow(harness.engine, workflow, ANN)

    open_dead_letter(harness.engine, workflow, ANN)

    assert harness.open_letter(workflow).step == "a"
    check_invariants(harness.database)


def test_it_needs_a_reason_and_a_workflow_that_is_in_work(harness: Harness) -> None:
    workflow = submitted(harness)
    with pytest.raises(InputInvalid, match="reason"):
        open_dead_letter(harness.engine, workflow, Who("ann"))
    harness.play(a=always(PermanentError("declined")))
    harness.run_until_quiet()
    with pytest.raises(IllegalMove, match="already"):
        open_dead_letter(harness.engine, workflow, ANN)
    cancel(harness.engine, workflow, ANN)
    with pytest.raises(IllegalMove, match="has not ended"):
        open_dead_letter(harness.engine, workflow, ANN)
    check_invariants(harness.database)


def test_of_two_at_once_one_opens_the_letter(harness: Harness) -> None:
    workflow = submitted(harness)

    done = together(*[lambda: open_dead_letter(harness.engine, workflow, ANN)] * 2)

    assert sorted(isinstance(one, IllegalMove) for one in done) == [False, True]
    assert len(harness.letters(workflow)) == 1
    check_invariants(harness.database)


def test_it_is_written_down(harness: Harness) -> None:
    workflow = submitted(harness)

    open_dead_letter(harness.engine, workflow, ANN)

    [entry] = audited(harness.database, AuditFilter(workflow_id=workflow)).items
    assert (entry.verb, entry.by, entry.reason) == ("dead_letter.open", "ann", ANN.reason)
