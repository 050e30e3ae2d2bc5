"""What becomes of a terminal failure: a letter that goes back, one that waits, or none. Source: C9."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from structlog.testing import capture_logs

from remand.errors import PermanentError, RetryableError
from remand_app.domain.dead_letter_filter import LetterFilter
from remand_app.domain.errors import TemplateInvalid
from remand_app.domain.states import WorkflowState
from remand_app.engine import redrive
from remand_app.engine.operate import Who, retry_step
from remand_app.engine.sweeps.redrive import redrive as sweep_redrives
from remand_app.engine.sweeps.requeue import requeue
from tests.support.engine import Harness
from tests.support.invariants import check_invariants
from tests.support.shapes import always, shape

HarnessWith = Callable[..., Harness]
ANN = Who("ann", "the bank is open again")
AUTO = {"enabled": True, "interval_seconds": 60}
RESET, DECLINED = ConnectionResetError("reset"), PermanentError("declined")


def fail(harness: Harness, error: BaseException, graph: dict[str, Any] | None = None, **top: Any) -> UUID:
    harness.publish(shape("pay", graph or {"charge": ()}, retry={"max_attempts": 1}, **top))
    harness.play(charge=always(error))
    workflow = harness.submit("t/pay")
    harness.run_until_quiet()
    check_invariants(harness.database, harness.settings)
    return workflow


@pytest.mark.parametrize(
    ("strategy", "error", "goes_back"),
    [
        ("automatic", RESET, True),
        ("automatic", DECLINED, True),
        ("selective", RESET, True),
        ("selective", DECLINED, False),
        ("manual", RESET, False),
        ("manual", DECLINED, False),
    ],
)
def test_each_has_a_letter_and_goes_back_as_its_strategy_says(
    harness_with: HarnessWith, strategy: str, error: BaseException, goes_back: bool
) -> None:
    harness = harness_with(dlq={"strategy": strategy, "auto_requeue": AUTO})
    workflow = fail(harness, error)

    assert harness.workflow(workflow).state is WorkflowState.BLOCKED_BY_FAILURES
    assert (harness.open_letter(workflow).requeue_at is not None) is goes_back
    harness.advance(100)
    assert requeue(harness.engine).requeued == int(goes_back)


def test_without_automatic_requeue_no_strategy_sends_anything_back(harness: Harness) -> None:
    workflow = fail(harness, RESET, dead_letters={"strategy": "automatic"})

    assert harness.open_letter(workflow).requeue_at is None


def test_the_template_goes_before_the_setting(harness_with: HarnessWith) -> None:
    harness = harness_with(dlq={"strategy": "manual", "auto_requeue": AUTO})

    workflow = fail(harness, DECLINED, dead_letters={"strategy": "automatic"})

    assert harness.open_letter(workflow).requeue_at is not None


def test_an_unknown_strategy_is_refused_with_the_known_ones(harness: Harness) -> None:
    with pytest.raises(TemplateInvalid, match=r"dead_letters\.strategy") as refused:
        harness.publish(shape("pay", {"charge": ()}, dead_letters={"strategy": "sometimes"}))

    assert "selective" in str(refused.value)


def test_disabled_ends_the_workflow_in_error_and_leaves_no_letter(harness: Harness) -> None:
    with capture_logs() as lines:
        workflow = fail(harness, DECLINED, dead_letters={"strategy": "disabled"})

    assert harness.letters(workflow) == []
    assert harness.workflow(workflow).state is WorkflowState.ERROR
    assert harness.states(workflow) == {"charge": "error"}
    [attempt] = harness.attempts(workflow)
    assert (attempt.outcome, attempt.decision) == ("failed", "dead")
    assert harness.moves(workflow)[-2:] == ["steps_failed", "give_up"]
    [line] = [one for one in lines if one["event"] == "step.given_up"]
    assert (line["log_level"], line["workflow_id"], line["reason"], line["error"]) == (
        "error", str(workflow), "permanent_failure", "remand.errors.PermanentError"
    )  # fmt: skip
    assert not [one for one in lines if one["event"] == "dead_letter.opened"]


def test_disabled_lets_the_other_branches_end_first(harness: Harness) -> None:
    harness.publish(
        shape(
            "pay",
            {"charge": (), "other": (), "after": ["charge"], "last": ["other"]},
            dead_letters={"strategy": "disabled"},
        )
    )
    ran = harness.play(charge=always(DECLINED), other=always(RetryableError("busy")))
    workflow = harness.submit("t/pay")
    harness.run_until_quiet()
    check_invariants(harness.database, harness.settings)
    assert harness.workflow(workflow).state is WorkflowState.WAITING_FOR_RETRY

    harness.play(charge=always(DECLINED))
    harness.run_to_end(workflow)

    assert harness.workflow(workflow).state is WorkflowState.ERROR
    assert harness.states(workflow) == {
        "charge": "error", "other": "complete", "after": "pending", "last": "complete"
    }  # fmt: skip
    assert "after" not in ran
    check_invariants(harness.database, harness.settings)


def test_disabled_and_fail_fast_ends_at_once(harness: Harness) -> None:
    workflow = fail(
        harness,
        DECLINED,
        {"charge": (), "after": ["charge"]},
        on_failure="fail_fast",
        dead_letters={"strategy": "disabled"},
    )

    assert harness.workflow(workflow).state is WorkflowState.ERROR
    assert harness.states(workflow) == {"charge": "error", "after": "pending"}


def test_a_person_may_retry_what_has_no_letter(harness: Harness) -> None:
    workflow = fail(harness, DECLINED, dead_letters={"strategy": "disabled"})
    harness.play()

    retry_step(harness.engine, workflow, "charge", ANN)
    harness.run_until_quiet()

    assert harness.workflow(workflow).state is WorkflowState.COMPLETE
    check_invariants(harness.database, harness.settings)


def test_of_two_failed_steps_one_may_be_retried(harness: Harness) -> None:
    harness.publish(shape("pay", {"a": (), "b": ()}, dead_letters={"strategy": "disabled"}))
    harness.play(a=always(DECLINED), b=always(DECLINED))
    workflow = harness.submit("t/pay")
    harness.run_until_quiet()
    harness.play()

    retry_step(harness.engine, workflow, "a", ANN)
    check_invariants(harness.database, harness.settings)
    harness.run_until_quiet()

    assert harness.states(workflow) == {"a": "complete", "b": "error"}
    assert harness.workflow(workflow).state is WorkflowState.ERROR
    check_invariants(harness.database, harness.settings)


def test_a_workflow_with_an_open_letter_keeps_it_when_letters_are_disabled(harness_with: HarnessWith) -> None:
    before = harness_with()
    before.publish(shape("pay", {"a": (), "b": ()}))
    before.play(a=always(DECLINED), b=always(RetryableError("busy")))
    workflow = before.submit("t/pay")
    before.run_until_quiet()
    after = harness_with(dlq={"strategy": "disabled"})
    after.play(b=always(DECLINED))
    after.clock.now = before.clock.now
    after.run_to_end(workflow)

    assert after.workflow(workflow).state is WorkflowState.BLOCKED_BY_FAILURES
    assert after.open_letter(workflow).step == "a"
    check_invariants(after.database, after.settings)


def test_letters_enabled_again_are_kept_again(harness_with: HarnessWith) -> None:
    before = harness_with(dlq={"strategy": "disabled"})
    workflow = fail(before, DECLINED)
    after = harness_with()
    after.play(charge=always(DECLINED))

    retry_step(after.engine, workflow, "charge", ANN)
    after.run_until_quiet()

    assert after.workflow(workflow).state is WorkflowState.BLOCKED_BY_FAILURES
    assert after.open_letter(workflow).step == "charge"
    check_invariants(after.database, after.settings)


def test_a_redrive_counts_what_ends_in_error_without_a_letter_as_failed(harness_with: HarnessWith) -> None:
    workflow = fail(harness_with(), DECLINED)
    harness = harness_with(dlq={"strategy": "disabled"})
    harness.play(charge=always(DECLINED))
    planned = redrive.plan(harness.engine, LetterFilter(template="pay"), ANN)
    redrive.start(harness.engine, planned.redrive.id, ANN)
    sweep_redrives(harness.engine)
    harness.bell.rings = ["steps"]
    harness.run_until_quiet()
    sweep_redrives(harness.engine)

    assert harness.workflow(workflow).state is WorkflowState.ERROR
    ended = redrive.get(harness.engine, planned.redrive.id)
    assert (ended.sent, ended.succeeded, ended.failed) == (0, 0, 1)
