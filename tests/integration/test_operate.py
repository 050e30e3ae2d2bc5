from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from remand import PermanentError
from remand_app.domain.errors import (
    BadInput,
    DeadLetterNotFound,
    IllegalMove,
    InputInvalid,
    StepNotFound,
    WorkflowNotFound,
)
from remand_app.domain.states import StepState
from remand_app.engine import operate
from remand_app.engine.operate import Decided, Who
from remand_app.store import dead_letters
from remand_app.store.claims import Completed
from remand_app.store.ids import new_id
from remand_app.store.workflows import lock_workflow
from tests.support.engine import Harness
from tests.support.invariants import check_invariants
from tests.support.shapes import CHAIN, always, fails, shape
from tests.support.threads import together

ANN = Who("ann", "looked into it")
NO = PermanentError("no")
LIVE = [state for state in StepState if not state.is_final] + [StepState.ERROR]


def workflow_with(harness: Harness, state: str) -> UUID:
    """A workflow p -> x -> y whose step x is in a state."""
    harness.publish(shape("pxy", {"p": (), "x": "p", "y": "x"}, each={"x": {"queue": "x"}}))
    errors = {
        "enqueued_as_error_for_orchestration": [ConnectionResetError("reset")],
        "waiting_for_retry": [ConnectionResetError("reset")],
        "error": [NO],
    }.get(state, [])
    harness.play(x=fails(*errors))
    workflow_id = harness.submit("t/pxy", {"n": 1})
    queue = harness.worker.queue
    if state == "pending":
        return workflow_id
    harness.drain()
    match state:
        case "in_progress":
            queue.claim("x", 1)
        case "enqueued_for_orchestration":
            claims = queue.claim("x", 1)
            with harness.database.begin() as connection:
                lock_workflow(connection, workflow_id)
                queue.settle([Completed(claims[0], "1")], "x", 0)
        case "enqueued_as_error_for_orchestration":
            harness.drain("x")
        case "waiting_for_retry":
            harness.drain("x")
            harness.drain_failures("exponential")
        case "error":
            harness.drain("x")
            harness.drain_failures("never")
        case "complete":
            harness.drain("x")
        case "cancelled":
            operate.cancel(harness.engine, workflow_id, ANN)
        case "resolved_manually":
            operate.resolve_step(harness.engine, workflow_id, "x", ANN)
    assert harness.step(workflow_id, "x").state == state
    check_invariants(harness.database)
    harness.bell.take()
    return workflow_id


StepVerb = Callable[[Any, UUID, str, Who], Decided]
STEP_VERBS: dict[str, tuple[StepVerb, list[StepState], str]] = {
    "retry": (operate.retry_step, [StepState.ERROR, StepState.WAITING_FOR_RETRY], "enqueued"),
    "resolve": (operate.resolve_step, LIVE, "resolved_manually"),
    "complete": (partial(operate.complete_step, result={"by": "hand"}), LIVE, "complete"),
}


@pytest.mark.parametrize("verb", STEP_VERBS)
@pytest.mark.parametrize("state", list(StepState))
def test_a_verb_on_a_step_moves_it_or_says_in_which_state_it_is(
    harness: Harness, verb: str, state: StepState
) -> None:
    act, legal, after = STEP_VERBS[verb]
    workflow_id = workflow_with(harness, state)
    before = harness.database.call("select * from remand.moves"), harness.states(workflow_id)

    if state not in legal:
        with pytest.raises(IllegalMove, match=f"is {state}") as caught:
            act(harness.engine, workflow_id, "x", ANN)
        assert caught.value.details["state"] == state
        assert (harness.database.call("select * from remand.moves"), harness.states(workflow_id)) == before
        return

    decided = act(harness.engine, workflow_id, "x", ANN)

    assert (decided.before, decided.after) == (state, after)
    assert harness.step(workflow_id, "x").state == after
    check_invariants(harness.database)
    harness.run_until_quiet()
    assert harness.workflow(workflow_id).state == "complete"
    assert harness.states(workflow_id)["y"] == "complete"


@pytest.mark.parametrize("verb", ["resolve", "complete"])
def test_the_result_of_a_step_that_was_ended_by_hand_is_refused(harness: Harness, verb: str) -> None:
    workflow_id = workflow_with(harness, "enqueued")
    [claim] = harness.worker.queue.claim("x", 1)
    STEP_VERBS[verb][0](harness.engine, workflow_id, "x", ANN)

    assert not harness.worker.queue.renew(claim)
    assert harness.worker.queue.settle([Completed(claim, '"late"')], "x", 0).counted == 0

    assert harness.step(workflow_id, "x").result != "late"
    [attempt] = harness.attempts(workflow_id, "x")
    assert (attempt.outcome, attempt.worker) == ("interrupted", harness.worker.id)


def test_a_result_given_by_hand_reaches_the_children(harness: Harness) -> None:
    workflow_id = workflow_with(harness, "error")
    seen: list[Any] = []
    harness.handlers._by_name.clear()
    harness.play(y=lambda ctx: seen.append(dict(ctx.parents)))

    operate.complete_step(harness.engine, workflow_id, "x", ANN, result={"paid": True})
    harness.run_until_quiet()

    assert seen == [{"x": {"paid": True}}]
    assert harness.step(workflow_id, "x").worker is None


@pytest.mark.parametrize(
    "bad", [float("nan"), {1: 2}, "a\x00", object()], ids=["nan", "key", "nul", "object"]
)
def test_a_result_by_hand_must_be_json(harness: Harness, bad: object) -> None:
    workflow_id = workflow_with(harness, "error")

    with pytest.raises(InputInvalid):
        operate.complete_step(harness.engine, workflow_id, "x", ANN, result=bad)

    assert harness.states(workflow_id)["x"] == "error"


def test_a_step_is_retried_with_another_input(harness: Harness) -> None:
    harness.publish(shape("pair", {"a": (), "b": "a"}))
    seen: list[Any] = []

    def part(ctx: Any) -> None:
        seen.append(ctx.input)
        if ctx.input == {"n": "wrong"}:
            raise NO

    harness.play(a=part, b=lambda ctx: seen.append(ctx.input))
    workflow_id = harness.submit("t/pair", {"n": "wrong"})
    harness.run_until_quiet()

    operate.retry_step(harness.engine, workflow_id, "a", ANN, new_input={"n": "right"})
    harness.run_until_quiet()

    assert seen == [{"n": "wrong"}, {"n": "right"}, {"n": "wrong"}]
    assert harness.workflow(workflow_id).state == "complete"


def test_an_input_for_a_step_that_cannot_be_retried_is_not_kept(harness: Harness) -> None:
    workflow_id = workflow_with(harness, "enqueued")

    with pytest.raises(IllegalMove):
        operate.retry_step(harness.engine, workflow_id, "x", ANN, new_input={"n": 2})

    assert harness.step(workflow_id, "x").input is None


def test_a_retry_starts_the_counts_anew_and_goes_on_with_the_numbers(harness: Harness) -> None:
    harness.publish(shape("one", {"a": ()}, retry={"max_attempts": 2}))
    harness.play(a=always(ConnectionResetError("reset")))
    workflow_id = harness.submit("t/one")
    harness.run_to_end(workflow_id)

    operate.retry_step(harness.engine, workflow_id, "a", ANN)
    assert harness.step(workflow_id, "a").failures == 0
    harness.run_to_end(workflow_id)

    assert [one.attempt for one in harness.attempts(workflow_id)] == [1, 2, 3, 4]
    assert [one.decision for one in harness.attempts(workflow_id)] == ["retry", "dead", "retry", "dead"]
    assert len(harness.letters(workflow_id)) == 2


def test_who_decided_and_why_is_kept(harness: Harness) -> None:
    workflow_id = workflow_with(harness, "error")
    letter = harness.open_letter(workflow_id)

    decided = operate.retry_step(harness.engine, workflow_id, "x", ANN)

    assert decided.closed_letter == letter.id
    closed = dead_letters.get_dead_letter(harness.database, letter.id)
    assert (closed.status, closed.closed_by, closed.resolution) == ("requeued", "ann", "looked into it")
    rows = harness.database.call(
        "select kind, event from remand.history where by = 'ann' and reason = 'looked into it' order by seq"
    )
    assert ("step", "reset_for_retry") in rows
    assert ("workflow", "reopen") in rows
    assert harness.bell.take() == ["x"]


def test_an_entry_stays_open_until_the_last_failed_step_is_dealt_with(harness: Harness) -> None:
    harness.publish(shape("two", {"a": (), "b": ()}))
    harness.play(a=fails(NO), b=fails(NO))
    workflow_id = harness.submit("t/two")
    harness.run_until_quiet()
    letter = harness.open_letter(workflow_id)

    first = operate.retry_step(harness.engine, workflow_id, "a", ANN)
    harness.run_until_quiet()
    assert first.closed_letter is None
    assert harness.workflow(workflow_id).state == "blocked_by_failures"
    second = operate.resolve_step(harness.engine, workflow_id, "b", ANN)

    assert second.closed_letter == letter.id
    assert harness.workflow(workflow_id).state == "complete"


def test_a_blocked_child_may_be_completed_while_its_parent_is_dead(harness: Harness) -> None:
    workflow_id = workflow_with(harness, "error")

    operate.complete_step(harness.engine, workflow_id, "y", ANN, result=1)

    assert harness.workflow(workflow_id).state == "blocked_by_failures"
    check_invariants(harness.database)
    operate.resolve_step(harness.engine, workflow_id, "x", ANN)
    assert harness.workflow(workflow_id).state == "complete"


@pytest.mark.parametrize("verb", STEP_VERBS)
def test_unknown_things_are_named(harness: Harness, verb: str) -> None:
    act = STEP_VERBS[verb][0]
    workflow_id = workflow_with(harness, "enqueued")

    with pytest.raises(StepNotFound, match="no step 'nobody'"):
        act(harness.engine, workflow_id, "nobody", ANN)
    with pytest.raises(WorkflowNotFound):
        act(harness.engine, new_id(), "x", ANN)


def test_a_retry_of_a_waiting_step_is_due_at_once(harness: Harness) -> None:
    workflow_id = workflow_with(harness, "waiting_for_retry")

    operate.retry_step(harness.engine, workflow_id, "x", ANN)

    assert harness.bell.take() == ["x"]
    assert harness.workflow(workflow_id).state == "steps_in_process"
    assert harness.step(workflow_id, "x").failures == 1, "the failures still count"


# cancel


@pytest.mark.parametrize(
    "state", [s for s in StepState if s not in ("cancelled", "complete", "resolved_manually")]
)
def test_a_workflow_is_cancelled_whatever_its_steps_do(harness: Harness, state: StepState) -> None:
    workflow_id = workflow_with(harness, state)
    letters = harness.letters(workflow_id)

    decided = operate.cancel(harness.engine, workflow_id, ANN)

    assert (decided.after, decided.changed) == ("cancelled", True)
    assert decided.closed_letter == (letters[0].id if letters else None)
    assert [letter.status for letter in harness.letters(workflow_id)] == ["cancelled"] * len(letters)
    assert harness.states(workflow_id)["x"] == "cancelled"
    assert not operate.cancel(harness.engine, workflow_id, ANN).changed
    harness.run_until_quiet()
    assert harness.worker.queue.claim("x", 5) == []


def test_a_late_result_of_a_cancelled_step_is_refused(harness: Harness) -> None:
    workflow_id = workflow_with(harness, "enqueued")
    [claim] = harness.worker.queue.claim("x", 1)
    operate.cancel(harness.engine, workflow_id, ANN)

    assert not harness.worker.queue.renew(claim)
    assert harness.worker.queue.settle([Completed(claim, "1")], "x", 5).counted == 0

    assert harness.step(workflow_id, "x").result is None


def test_a_cancelled_step_runs_nowhere(harness: Harness) -> None:
    harness.publish(shape("chain", CHAIN))
    ran = harness.play()
    workflow_id = harness.submit("t/chain")
    operate.cancel(harness.engine, workflow_id, ANN)

    harness.run_until_quiet()

    assert ran == []


def test_what_has_ended_otherwise_cannot_be_cancelled(harness: Harness) -> None:
    workflow_id = workflow_with(harness, "complete")
    harness.run_until_quiet()

    with pytest.raises(IllegalMove, match="it is complete"):
        operate.cancel(harness.engine, workflow_id, ANN)
    with pytest.raises(WorkflowNotFound):
        operate.cancel(harness.engine, new_id(), ANN)


# dead letters


LETTER_VERBS: dict[str, tuple[Callable[..., Decided], str]] = {
    "requeue": (operate.requeue_letter, "requeued"),
    "resolve": (operate.resolve_letter, "manually_resolved"),
    "resolve_all": (partial(operate.resolve_letter, whole_workflow=True), "manually_resolved"),
    "give_up": (operate.give_up_letter, "permanently_failed"),
    "cancel": (operate.cancel_letter, "cancelled"),
}
AFTER = {
    "requeue": ("complete", {"x": "complete", "y": "complete"}),
    "resolve": ("complete", {"x": "resolved_manually", "y": "complete"}),
    "resolve_all": ("resolved_manually", {"x": "resolved_manually", "y": "resolved_manually"}),
    "give_up": ("error", {"x": "error", "y": "pending"}),
    "cancel": ("cancelled", {"x": "cancelled", "y": "cancelled"}),
}


@pytest.mark.parametrize("claimed", [False, True])
@pytest.mark.parametrize("verb", LETTER_VERBS)
def test_a_verb_closes_an_open_entry_once(harness: Harness, verb: str, claimed: bool) -> None:
    act, status = LETTER_VERBS[verb]
    workflow_id = workflow_with(harness, "error")
    letter_id = harness.open_letter(workflow_id).id
    if claimed:
        operate.claim_letter(harness.engine, letter_id, Who("bob"))

    decided = act(harness.engine, letter_id, ANN)
    check_invariants(harness.database)
    harness.run_until_quiet()

    letter = dead_letters.get_dead_letter(harness.database, letter_id)
    assert (letter.status, letter.closed_by, letter.resolution) == (status, "ann", "looked into it")
    assert letter.claimed_by == ("bob" if claimed else None)
    assert decided.closed_letter == letter_id
    states = harness.states(workflow_id)
    assert (harness.workflow(workflow_id).state, {name: states[name] for name in "xy"}) == AFTER[verb]


@pytest.mark.parametrize("verb", [*LETTER_VERBS, "claim"])
@pytest.mark.parametrize("closing", LETTER_VERBS)
def test_a_closed_entry_refuses_every_verb(harness: Harness, verb: str, closing: str) -> None:
    act = operate.claim_letter if verb == "claim" else LETTER_VERBS[verb][0]
    closer, status = LETTER_VERBS[closing]
    letter_id = harness.open_letter(workflow_with(harness, "error")).id
    closer(harness.engine, letter_id, ANN)

    with pytest.raises(IllegalMove, match=f"closed as {status} by ann"):
        act(harness.engine, letter_id, Who("bob"))


def test_a_requeue_by_many_at_once_makes_one_new_attempt(harness: Harness) -> None:
    workflow_id = workflow_with(harness, "error")
    letter_id = harness.open_letter(workflow_id).id

    ends = together(
        *(partial(operate.requeue_letter, harness.engine, letter_id, Who(f"p{n}")) for n in range(4))
    )

    won = [end for end in ends if isinstance(end, Decided)]
    lost = [end for end in ends if isinstance(end, IllegalMove)]
    assert (len(won), len(lost)) == (1, 3)
    harness.run_until_quiet()
    assert [one.attempt for one in harness.attempts(workflow_id, "x")] == [1, 2]


def test_a_retry_and_a_requeue_at_once_make_one_new_attempt(harness: Harness) -> None:
    workflow_id = workflow_with(harness, "error")
    letter_id = harness.open_letter(workflow_id).id

    ends = together(
        lambda: operate.requeue_letter(harness.engine, letter_id, ANN),
        lambda: operate.retry_step(harness.engine, workflow_id, "x", ANN),
        lambda: operate.cancel(harness.engine, workflow_id, ANN),
    )

    assert sum(isinstance(end, Decided) for end in ends[:2]) <= 1
    assert all(isinstance(end, Decided | IllegalMove) for end in ends)
    harness.run_until_quiet()
    assert len(harness.attempts(workflow_id, "x")) <= 2


def test_a_requeue_takes_every_failed_step(harness: Harness) -> None:
    harness.publish(shape("three", {"a": (), "b": (), "c": "ab"}))
    harness.play(a=fails(NO), b=fails(NO))
    workflow_id = harness.submit("t/three")
    harness.run_until_quiet()

    operate.requeue_letter(harness.engine, harness.open_letter(workflow_id).id, ANN)
    harness.run_until_quiet()

    assert set(harness.states(workflow_id).values()) == {"complete"}


def test_a_requeue_ends_the_hold_of_fail_fast(harness: Harness) -> None:
    harness.publish(
        shape("fast", {"a": (), "b": (), "c": "b"}, on_failure="fail_fast", each={"b": {"queue": "b"}})
    )
    harness.play(a=fails(NO))
    workflow_id = harness.submit("t/fast")
    harness.drain()
    harness.drain_failures("never")
    assert harness.states(workflow_id) == {"a": "error", "b": "pending", "c": "pending"}

    operate.requeue_letter(harness.engine, harness.open_letter(workflow_id).id, ANN)
    harness.run_until_quiet()

    assert harness.workflow(workflow_id).state == "complete"


def test_a_running_workflow_cannot_be_given_up(harness: Harness) -> None:
    harness.publish(shape("two", {"a": (), "b": ()}, each={"b": {"queue": "b"}}))
    harness.play(a=always(NO))
    workflow_id = harness.submit("t/two")
    harness.drain()
    harness.drain_failures("never")

    with pytest.raises(IllegalMove, match="still under way"):
        operate.give_up_letter(harness.engine, harness.open_letter(workflow_id).id, ANN)


def test_a_workflow_that_was_given_up_can_be_taken_up_again(harness: Harness) -> None:
    workflow_id = workflow_with(harness, "error")
    operate.give_up_letter(harness.engine, harness.open_letter(workflow_id).id, ANN)

    operate.retry_step(harness.engine, workflow_id, "x", ANN)
    harness.run_until_quiet()

    assert harness.workflow(workflow_id).state == "complete"
    assert [letter.status for letter in harness.letters(workflow_id)] == ["permanently_failed"]


def test_what_is_still_broken_in_a_workflow_taken_up_again_needs_a_person(harness: Harness) -> None:
    harness.publish(shape("two", {"a": (), "b": ()}))
    harness.play(a=fails(NO), b=always(NO))
    workflow_id = harness.submit("t/two")
    harness.run_until_quiet()
    operate.give_up_letter(harness.engine, harness.open_letter(workflow_id).id, ANN)

    operate.retry_step(harness.engine, workflow_id, "a", ANN)
    harness.run_until_quiet()

    assert harness.workflow(workflow_id).state == "blocked_by_failures"
    letter = harness.open_letter(workflow_id)
    assert (letter.status, letter.closed_by, letter.resolution) == ("pending", None, None)
    assert dead_letters.notes_of(harness.database, letter.id)[-1].text.startswith(
        "given up before, taken up again"
    )
    operate.requeue_letter(harness.engine, letter.id, ANN)


def test_a_child_completed_in_a_given_up_workflow_leaves_its_parent_to_a_person(harness: Harness) -> None:
    workflow_id = workflow_with(harness, "error")
    operate.give_up_letter(harness.engine, harness.open_letter(workflow_id).id, ANN)

    operate.complete_step(harness.engine, workflow_id, "y", ANN, result=1)

    assert harness.workflow(workflow_id).state == "blocked_by_failures"
    assert harness.open_letter(workflow_id).step == "x"


def test_one_person_has_an_investigation(harness: Harness) -> None:
    letter_id = harness.open_letter(workflow_with(harness, "error")).id

    first = operate.claim_letter(harness.engine, letter_id, ANN)
    again = operate.claim_letter(harness.engine, letter_id, ANN)
    with pytest.raises(IllegalMove, match="claimed by ann since"):
        operate.claim_letter(harness.engine, letter_id, Who("bob"))

    assert (first.changed, again.changed) == (True, False)
    letter = dead_letters.get_dead_letter(harness.database, letter_id)
    assert (letter.status, letter.claimed_by) == ("investigating", "ann")
    assert [note.text for note in dead_letters.notes_of(harness.database, letter_id)] == ["looked into it"]


def test_many_who_claim_at_once_are_told_who_has_it(harness: Harness) -> None:
    letter_id = harness.open_letter(workflow_with(harness, "error")).id

    ends = together(
        *(partial(operate.claim_letter, harness.engine, letter_id, Who(f"p{n}")) for n in range(4))
    )

    assert sum(isinstance(end, Decided) for end in ends) == 1
    assert sum(isinstance(end, IllegalMove) for end in ends) == 3


def test_notes_are_kept_in_order_even_after_the_end(harness: Harness) -> None:
    letter_id = harness.open_letter(workflow_with(harness, "error")).id
    operate.note_letter(harness.engine, letter_id, " first ", ANN)
    operate.requeue_letter(harness.engine, letter_id, ANN)
    operate.note_letter(harness.engine, letter_id, "second", Who("bob"))

    notes = dead_letters.notes_of(harness.database, letter_id)
    assert [(note.author, note.text) for note in notes] == [("ann", "first"), ("bob", "second")]
    for bad in ("", "  \n", "a\x00b", "\ud83d"):
        with pytest.raises(BadInput):
            operate.note_letter(harness.engine, letter_id, bad, ANN)


@pytest.mark.parametrize("verb", [*LETTER_VERBS, "claim"])
def test_an_unknown_entry_is_named(harness: Harness, verb: str) -> None:
    act = operate.claim_letter if verb == "claim" else LETTER_VERBS[verb][0]

    with pytest.raises(DeadLetterNotFound):
        act(harness.engine, new_id(), ANN)
    with pytest.raises(DeadLetterNotFound):
        operate.note_letter(harness.engine, new_id(), "text", ANN)


def test_verbs_work_when_the_handlers_are_gone(harness: Harness) -> None:
    workflow_id = workflow_with(harness, "error")
    harness.handlers._by_name.clear()

    operate.resolve_step(harness.engine, workflow_id, "x", ANN)
    operate.resolve_step(harness.engine, workflow_id, "y", ANN)

    assert harness.workflow(workflow_id).state == "complete"
