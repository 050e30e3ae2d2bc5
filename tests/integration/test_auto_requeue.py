"""Dead letters that go back to work by themselves, and those that went too often. Source: C10."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from remand.errors import PermanentError, RetryableError
from remand_app.domain.audit_filter import AuditFilter
from remand_app.domain.states import WorkflowState
from remand_app.engine.operate import Who, claim_letter, requeue_letter, retry_step
from remand_app.engine.sweeps.requeue import requeue
from remand_app.resources.audit import list_page as audited
from remand_app.store.workflows import lock_workflow
from tests.support.engine import Harness
from tests.support.invariants import check_invariants
from tests.support.shapes import always, shape

HarnessWith = Callable[..., Harness]
ANN = Who("ann", "the bank is open again")
AUTO = {"enabled": True, "interval_seconds": 600, "max_requeues": 2}


def dead_of(harness: Harness, graph: dict[str, Any] | None = None, **top: Any) -> UUID:
    """Let step `charge` fail for good, return the workflow."""
    harness.publish(shape("pay", graph or {"charge": ()}, **top))
    harness.play(charge=always(PermanentError("declined")))
    workflow = harness.submit("t/pay")
    harness.run_until_quiet()
    return workflow


def seconds_to_go(harness: Harness, workflow: UUID) -> float | None:
    letter = harness.open_letter(workflow)
    return None if letter.requeue_at is None else (letter.requeue_at - letter.opened_at).total_seconds()


def sweep(harness: Harness) -> tuple[int, int]:
    swept = requeue(harness.engine)
    harness.run_until_quiet()
    check_invariants(harness.database)
    return swept.requeued, swept.exhausted


def test_a_letter_waits_for_a_person_unless_something_else_is_set(harness: Harness) -> None:
    workflow = dead_of(harness)
    harness.advance(days=30)

    assert seconds_to_go(harness, workflow) is None
    assert sweep(harness) == (0, 0)


def test_a_letter_goes_back_when_its_time_has_come(harness_with: HarnessWith) -> None:
    harness = harness_with(dlq={"auto_requeue": AUTO})
    workflow = dead_of(harness)
    harness.play()

    harness.advance(599)
    assert sweep(harness) == (0, 0)
    harness.advance(2)
    assert sweep(harness) == (1, 0)

    assert harness.workflow(workflow).state is WorkflowState.COMPLETE
    [letter] = harness.letters(workflow)
    assert (letter.status, letter.closed_by, letter.resolution) == (
        "requeued",
        "remand",
        "automatic requeue 1 of 2",
    )
    [entry] = audited(harness.database, AuditFilter()).items
    assert (entry.verb, entry.by, entry.via) == ("dead_letter.requeue", "remand", "sweep")


def test_each_time_it_waits_longer_and_is_counted(harness_with: HarnessWith) -> None:
    harness = harness_with(dlq={"auto_requeue": {**AUTO, "backoff_multiplier": 3}})
    workflow = dead_of(harness)
    waits = [seconds_to_go(harness, workflow)]

    harness.advance(601)
    assert sweep(harness) == (1, 0)
    waits.append(seconds_to_go(harness, workflow))

    second, first = harness.letters(workflow)
    assert waits == [600, 1800]
    assert (second.follows, second.requeues, first.follows, first.requeues) == (first.id, 1, None, 0)


def test_after_the_last_requeue_the_letter_is_closed_and_the_workflow_ends(harness_with: HarnessWith) -> None:
    harness = harness_with(dlq={"auto_requeue": AUTO})
    workflow = dead_of(harness)
    swept = []
    for _ in range(5):
        harness.advance(hours=2)
        swept.append(sweep(harness))

    # The letter that follows the last requeue is due at once: the sweep that sent it back has gone on to it.
    assert sum(one[0] for one in swept) == 2
    assert sum(one[1] for one in swept) == 1
    assert harness.workflow(workflow).state is WorkflowState.ERROR
    newest = harness.letters(workflow)[0]
    assert (newest.status, newest.closed_by, newest.requeues) == ("permanently_failed", "remand", 2)
    assert newest.resolution == "failed again after 2 automatic requeues, the most that are set"
    assert len(harness.attempts(workflow)) == 3
    entry = audited(harness.database, AuditFilter(verb="dead_letter.give_up")).items[0]
    assert (entry.by, entry.via, entry.after) == (
        "remand", "sweep", {"status": "permanently_failed", "workflow": "error"}
    )  # fmt: skip


def test_a_person_takes_up_again_what_went_back_too_often(harness_with: HarnessWith) -> None:
    harness = harness_with(dlq={"auto_requeue": {**AUTO, "max_requeues": 1}})
    workflow = dead_of(harness)
    for _ in range(3):
        harness.advance(hours=2)
        sweep(harness)
    assert harness.workflow(workflow).state is WorkflowState.ERROR

    retry_step(harness.engine, workflow, "charge", ANN)
    harness.run_until_quiet()

    letter = harness.open_letter(workflow)
    assert (letter.requeues, seconds_to_go(harness, workflow)) == (0, 600)
    check_invariants(harness.database)


def test_whoever_sends_it_back_by_hand_begins_anew(harness_with: HarnessWith) -> None:
    harness = harness_with(dlq={"auto_requeue": AUTO})
    workflow = dead_of(harness)
    harness.advance(601)
    sweep(harness)
    assert harness.open_letter(workflow).requeues == 1

    requeue_letter(harness.engine, harness.open_letter(workflow).id, ANN)
    harness.run_until_quiet()

    assert harness.open_letter(workflow).requeues == 0
    assert len(harness.letters(workflow)) == 3


def test_what_a_person_has_taken_is_never_touched(harness_with: HarnessWith) -> None:
    harness = harness_with(dlq={"auto_requeue": AUTO})
    workflow = dead_of(harness)
    claim_letter(harness.engine, harness.open_letter(workflow).id, ANN)
    harness.advance(days=1)

    assert sweep(harness) == (0, 0)
    assert harness.open_letter(workflow).claimed_by == "ann"


def test_it_waits_until_the_other_branches_have_ended(harness_with: HarnessWith) -> None:
    harness = harness_with(dlq={"auto_requeue": {**AUTO, "max_requeues": 1, "interval_seconds": 1}})
    harness.publish(shape("pay", {"charge": (), "other": ()}, retry={"max_attempts": 100}))
    harness.play(charge=always(PermanentError("declined")), other=always(RetryableError("busy")))
    workflow = harness.submit("t/pay")
    harness.run_until_quiet()
    harness.advance(2)
    assert requeue(harness.engine).requeued == 1
    harness.run_until_quiet()

    swept = requeue(harness.engine)

    assert (swept.exhausted, swept.put_off) == (0, 1)
    assert harness.open_letter(workflow).status == "pending"
    harness.play(charge=always(PermanentError("declined")))
    harness.run_to_end(workflow)
    harness.advance(hours=1)
    assert sweep(harness) == (0, 1)
    assert harness.workflow(workflow).state is WorkflowState.ERROR


@pytest.mark.parametrize(("boost", "priorities"), [(0, [5, 5, 5]), (3, [5, 8, 9])])
def test_each_requeue_raises_the_priority(
    harness_with: HarnessWith, boost: int, priorities: list[int]
) -> None:
    harness = harness_with(dlq={"auto_requeue": {**AUTO, "priority_boost": boost}})
    workflow = dead_of(harness)
    seen = [harness.step(workflow, "charge").priority]
    for _ in range(2):
        harness.advance(hours=2)
        assert requeue(harness.engine).requeued == 1
        seen.append(harness.step(workflow, "charge").priority)
        harness.run_until_quiet()

    assert seen == priorities


def test_many_are_swept_in_batches_whatever_their_count(harness_with: HarnessWith) -> None:
    harness = harness_with(dlq={"auto_requeue": AUTO})
    dead_of(harness)
    harness.submit_many("t/pay", range(6))
    harness.run_until_quiet()
    harness.play()
    harness.advance(601)

    assert requeue(harness.engine, batch=2).requeued == 7
    harness.run_until_quiet()
    check_invariants(harness.database)


def test_a_template_says_it_for_itself(harness: Harness) -> None:
    workflow = dead_of(harness, dead_letters={"auto_requeue": {"enabled": True, "interval_seconds": 60}})

    assert seconds_to_go(harness, workflow) == 60


def test_the_instant_is_spread(harness_with: HarnessWith) -> None:
    harness = harness_with(dlq={"auto_requeue": AUTO})
    policy = harness.settings.dlq.policy()
    now = harness.clock.now

    spread = [policy.requeue_at("network", 0, now, jitter) for jitter in (-1.0, 0.0, 1.0)]

    assert spread == [now + timedelta(seconds=seconds) for seconds in (510, 600, 690)]


def test_two_sweeps_at_once_send_each_letter_back_once(harness_with: HarnessWith) -> None:
    harness = harness_with(dlq={"auto_requeue": AUTO})
    dead_of(harness)
    harness.submit_many("t/pay", range(30))
    harness.run_until_quiet()
    harness.play()
    harness.advance(601)

    with ThreadPoolExecutor(2) as threads:
        done = list(threads.map(lambda _: requeue(harness.engine, batch=3).requeued, range(2)))
    done.append(requeue(harness.engine).requeued)

    assert sum(done) == 31
    written = audited(harness.database, AuditFilter(verb="dead_letter.requeue"), limit=100).items
    assert len({one.subject for one in written}) == len(written) == 31
    harness.run_until_quiet()
    check_invariants(harness.database)


def test_a_workflow_that_somebody_holds_is_left_for_the_next_sweep(harness_with: HarnessWith) -> None:
    harness = harness_with(dlq={"auto_requeue": AUTO})
    workflow = dead_of(harness)
    harness.advance(601)

    with harness.database.begin() as connection:
        lock_workflow(connection, workflow)
        with ThreadPoolExecutor(1) as threads:
            assert threads.submit(requeue, harness.engine).result(timeout=20).requeued == 0

    assert requeue(harness.engine).requeued == 1
