"""What has not ended by its deadline becomes a dead letter, whether or not it ever ran. Source: C14."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from remand.errors import PermanentError, RetryableError
from remand_app.domain.audit_filter import AuditFilter
from remand_app.domain.errors import InputInvalid
from remand_app.engine.operate import Who, pause_workflow, requeue_letter, retry_step
from remand_app.engine.queue_settings import set_queue
from remand_app.engine.sweeps.expire import expire
from remand_app.resources.audit import list_page as audited
from tests.support.engine import Harness
from tests.support.invariants import check_invariants
from tests.support.shapes import CHAIN, always, shape
from tests.support.threads import together, values

HarnessWith = Callable[..., Harness]
ANN = Who("ann", "the bank is open again")
HOUR = 3600.0
SLOW = {"exponential": {"base_seconds": 2 * HOUR, "cap_seconds": 2 * HOUR}}


def submitted(harness: Harness, graph: dict[str, Any] | None = None, **top: Any) -> UUID:
    harness.publish(shape("pay", graph or CHAIN, **{"expire_after_seconds": HOUR, **top}))
    return harness.submit("t/pay")


def sweep(harness: Harness) -> int:
    expired = expire(harness.engine)
    check_invariants(harness.database)
    return expired


def test_what_never_ran_expires(harness: Harness) -> None:
    workflow = submitted(harness)
    harness.advance(HOUR - 1)
    assert sweep(harness) == 0
    harness.advance(1)

    assert sweep(harness) == 1

    letter = harness.open_letter(workflow)
    assert (letter.reason, letter.step, letter.attempts) == ("expired", "a", 0)
    assert (letter.error_class, letter.category, letter.policy, letter.rule) == (
        "remand.errors.Expired",
        "permanent",
        "never",
        "expired",
    )
    assert harness.workflow(workflow).state == "blocked_by_failures"
    assert harness.step(workflow, "a").state == "error"
    assert harness.drain().claimed == 0
    assert sweep(harness) == 0


def test_what_waits_for_its_retry_expires(harness: Harness) -> None:
    workflow = submitted(harness, retry=SLOW)
    harness.play(a=always(RetryableError("busy")))
    harness.run_until_quiet()
    assert harness.step(workflow, "a").state == "waiting_for_retry"
    harness.advance(HOUR)

    assert sweep(harness) == 1

    assert harness.open_letter(workflow).reason == "expired"
    assert harness.open_letter(workflow).attempts == 1


def test_the_late_result_of_a_running_step_is_refused(harness: Harness) -> None:
    workflow = submitted(harness)

    def slow(ctx: Any) -> str:
        harness.advance(HOUR)
        assert sweep(harness) == 1
        return "late"

    harness.play(a=slow)
    harness.run_until_quiet()

    assert harness.step(workflow, "a").state == "error"
    assert [one.outcome for one in harness.attempts(workflow, "a")] == ["interrupted"]
    assert harness.workflow(workflow).state == "blocked_by_failures"
    check_invariants(harness.database)


def test_what_waits_for_its_decision_expires(harness: Harness) -> None:
    workflow = submitted(harness)
    harness.play(a=always(PermanentError("declined")))
    harness.drain()
    harness.advance(HOUR)

    assert sweep(harness) == 1

    assert harness.open_letter(workflow).reason == "expired"
    assert harness.attempts(workflow, "a")[0].decision == "dead"


def test_a_paused_workflow_expires_and_stays_paused_when_sent_back(harness: Harness) -> None:
    workflow = submitted(harness)
    pause_workflow(harness.engine, workflow, ANN)
    harness.advance(HOUR)

    assert sweep(harness) == 1

    requeue_letter(harness.engine, harness.open_letter(workflow).id, ANN)
    check_invariants(harness.database)
    assert harness.workflow(workflow).state == "waiting_for_dependencies"


@pytest.mark.parametrize("verb", ["requeue", "retry"])
def test_what_is_sent_back_gets_a_deadline_of_the_same_length(harness: Harness, verb: str) -> None:
    workflow = submitted(harness)
    harness.advance(HOUR + 60)
    assert sweep(harness) == 1
    harness.advance(60)
    if verb == "requeue":
        requeue_letter(harness.engine, harness.open_letter(workflow).id, ANN)
    else:
        retry_step(harness.engine, workflow, "a", ANN)
    harness.advance(HOUR - 1)
    assert sweep(harness) == 0

    harness.advance(1)

    assert sweep(harness) == 1
    assert [one.status for one in harness.letters(workflow)] == ["pending", "requeued"]


def test_what_has_ended_or_is_blocked_does_not_expire(harness: Harness) -> None:
    done = submitted(harness)
    harness.play()
    harness.run_until_quiet()
    blocked = harness.submit("t/pay")
    harness.play(a=always(PermanentError("declined")))
    harness.run_until_quiet()
    harness.advance(HOUR)

    assert sweep(harness) == 0

    assert harness.letters(done) == []
    assert harness.open_letter(blocked).reason == "permanent_failure"


def test_every_branch_that_holds_it_up_expires_with_one_letter(harness: Harness) -> None:
    workflow = submitted(harness, {"a": (), "b": (), "c": "ab"})
    harness.advance(HOUR)

    assert sweep(harness) == 1

    assert harness.states(workflow) == {"a": "error", "b": "error", "c": "pending"}
    assert len(harness.letters(workflow)) == 1
    requeue_letter(harness.engine, harness.open_letter(workflow).id, ANN)
    harness.play()
    harness.run_until_quiet()
    assert harness.workflow(workflow).state == "complete"
    check_invariants(harness.database)


def test_a_branch_expires_beside_one_that_failed(harness: Harness) -> None:
    workflow = submitted(harness, {"a": (), "b": ()}, retry=SLOW)
    harness.play(a=always(PermanentError("declined")), b=always(RetryableError("busy")))
    harness.run_until_quiet()
    harness.advance(HOUR)

    assert sweep(harness) == 1

    assert [one.reason for one in harness.letters(workflow)] == ["permanent_failure"]
    assert harness.workflow(workflow).state == "blocked_by_failures"


def test_without_dead_letters_what_expires_ends_in_error(harness: Harness) -> None:
    workflow = submitted(harness, dead_letters={"strategy": "disabled"})
    harness.advance(HOUR)

    assert sweep(harness) == 1

    assert harness.letters(workflow) == []
    assert harness.workflow(workflow).state == "error"


def test_the_queue_of_the_first_steps_sets_the_least(harness: Harness) -> None:
    assert set_queue(harness.engine, "bank", ANN, expire_after_seconds=60)
    assert not set_queue(harness.engine, "bank", ANN, expire_after_seconds=60)
    harness.publish(
        shape("pay", {"a": (), "b": "a"}, each={"a": {"queue": "bank"}}, expire_after_seconds=HOUR)
    )
    harness.publish(shape("later", {"a": (), "b": "a"}, each={"b": {"queue": "bank"}}))
    first, later = harness.submit("t/pay"), harness.submit("t/later")
    harness.advance(60)

    assert sweep(harness) == 1

    assert harness.open_letter(first).queue == "bank"
    assert harness.letters(later) == []


def test_an_age_of_a_queue_is_taken_away_and_must_be_one(harness: Harness) -> None:
    harness.publish(shape("pay", {"a": ()}))
    for seconds in (-1, 1e12, float("nan")):
        with pytest.raises(InputInvalid, match="an age is 0 to"):
            set_queue(harness.engine, "steps", ANN, expire_after_seconds=seconds)
    set_queue(harness.engine, "steps", ANN, expire_after_seconds=60)
    assert set_queue(harness.engine, "steps", ANN, expire_after_seconds=0)
    workflow = harness.submit("t/pay")
    harness.advance(HOUR)

    assert sweep(harness) == 0

    assert harness.letters(workflow) == []
    told = [(one.before, one.after) for one in audited(harness.database, AuditFilter(verb="queue.set")).items]
    assert told[0] == ({"expire_after_seconds": 60.0}, {"expire_after_seconds": None})


def test_two_sweeps_at_once_share_the_work(harness: Harness) -> None:
    submitted(harness)
    harness.submit_many("t/pay", range(30))
    harness.advance(HOUR)

    swept = values(together(*[lambda: expire(harness.engine, 5)] * 3))
    swept.append(expire(harness.engine))

    assert sum(swept) == 31
    assert harness.database.call("select count(*) from remand.dead_letters")[0][0] == 31
    check_invariants(harness.database)


def test_dying_half_way_leaves_it_as_it_was(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    workflow = submitted(harness)
    harness.advance(HOUR)
    with monkeypatch.context() as patched:
        patched.setattr("remand_app.engine.dead_letter_workflows.open_letters", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            expire(harness.engine)
    check_invariants(harness.database)
    assert harness.step(workflow, "a").state == "enqueued"

    assert sweep(harness) == 1
