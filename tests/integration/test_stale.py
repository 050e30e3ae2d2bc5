"""What shows no sign of life is taken out of work, the oldest first, and nothing else is. Source: D1, D2."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remand.errors import PermanentError, RetryableError
from remand_app.domain.staleness import PATIENT, Health, Lifecycle, Signs, Why, WorkflowStaleness, judge
from remand_app.domain.states import WorkflowState
from remand_app.engine import staleness as engine_staleness
from remand_app.engine.operate import Who, pause_workflow, requeue_letter, resume_workflow
from remand_app.engine.pauses import pause_queue, resume_queue
from remand_app.engine.staleness import would_take
from remand_app.engine.sweeps import stale as sweeping
from remand_app.engine.sweeps.stale import StaleResult, stale
from remand_app.store import staleness
from remand_app.store.database import Database
from remand_app.store.sweep_lock import alone
from tests.support.engine import Harness
from tests.support.invariants import check_invariants
from tests.support.shapes import CHAIN, always, shape
from tests.support.threads import together, values

ANN = Who("ann", "there is a worker now")
HALF_HOUR = 1800.0
DAY = 86_400.0
NOTHING = StaleResult()
HarnessWith = Callable[..., Harness]
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def sweep(harness: Harness) -> StaleResult:
    """Sweep; who was warned is told by test_stale_shown."""
    swept = stale(harness.engine)
    check_invariants(harness.database)
    return replace(swept, warned=0)


def standing(harness: Harness, workflow: UUID) -> WorkflowStaleness:
    with harness.database.begin() as connection:
        going_by = engine_staleness.settings_of(harness.engine)
        [one] = staleness.standings(connection, [workflow], going_by, harness.clock.now)
    return one


def far(harness: Harness, graph: Any = None, **top: Any) -> UUID:
    """A workflow whose step `far` is in a queue that nobody consumes."""
    harness.worker.beat()
    harness.publish(shape("far", graph or {"far": ()}, each={"far": {"queue": "far"}}, **top))
    return harness.submit("t/far")


def left_alone(harness: Harness, **lifecycle: Any) -> UUID:
    """A workflow whose attempt has lost its worker, and which nobody rescues."""
    harness.publish(shape("lost", CHAIN, lifecycle=lifecycle))
    workflow = harness.submit("t/lost")
    harness.new_worker(hostname="gone@test").queue.claim("steps", 1)
    return workflow


# the rule

ages = st.integers(-100, 400)
SHORT = Lifecycle(
    max_waiting_for_dependencies_seconds=200,
    max_waiting_for_retry_seconds=80,
    max_steps_in_process_seconds=100,
    max_other_seconds=250,
    max_lifetime_seconds=300,
)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.sampled_from(sorted(WorkflowState)),
            ages,
            ages,
            st.sampled_from([None, *sorted(PATIENT)]),
            st.none() | ages,
        ),
        max_size=30,
    )
)
def test_the_database_judges_as_the_domain_does(
    raw_database: Database, cases: list[tuple[WorkflowState, int, int, Why | None, int | None]]
) -> None:
    def ago(seconds: int | None) -> datetime | None:
        return None if seconds is None else NOW - timedelta(seconds=seconds)

    for state, age, sign, stand, unheard in cases:
        signs = Signs(state, ago(age), ago(sign), stand, ago(unheard))  # type: ignore[arg-type]
        [row] = raw_database.call(
            "select health, why, since, limit_seconds from remand.classify_staleness("
            "%s, %s, %s, %s, %s, 200, 80, 100, 250, 300, 0.75, %s)",
            (state, signs.born_at, signs.sign_at, stand, signs.unheard_since, NOW),
        )
        verdict = judge(signs, SHORT, NOW)
        assert row == (verdict.health, verdict.why, verdict.since, verdict.limit_seconds)


# signs of life


def test_a_step_that_no_worker_takes_gets_a_letter_that_names_the_queue(harness: Harness) -> None:
    workflow = far(harness)
    harness.advance(HALF_HOUR - 1)
    assert sweep(harness) == NOTHING
    harness.advance(1)

    assert sweep(harness) == StaleResult(letters=1)

    letter = harness.open_letter(workflow)
    assert (letter.reason, letter.queue, letter.attempts) == ("worker_unavailable", "far", 0)
    assert letter.error_message == "no live worker consumes the queue far"
    assert sweep(harness) == NOTHING
    requeue_letter(harness.engine, letter.id, ANN)
    assert sweep(harness) == NOTHING
    assert harness.step(workflow, "far").state == "enqueued"


def test_only_the_branch_that_nobody_takes_stands(harness: Harness) -> None:
    workflow = far(harness, {"far": (), "near": ()})
    harness.advance(HALF_HOUR)

    assert sweep(harness) == StaleResult(letters=1)
    harness.play()
    harness.run_until_quiet()

    assert harness.states(workflow) == {"far": "error", "near": "complete"}
    assert harness.workflow(workflow).state == "blocked_by_failures"
    check_invariants(harness.database)


def test_failures_that_no_retry_worker_takes_up_are_told_by_their_queue(harness: Harness) -> None:
    harness.queues = ["steps"]
    harness.publish(shape("pay", {"a": ()}))
    harness.play(a=always(PermanentError("no")))
    workflow = harness.submit("t/pay")
    harness.drain()
    harness.advance(HALF_HOUR)

    assert sweep(harness) == StaleResult(letters=1)

    assert harness.open_letter(workflow).error_message == "no live worker consumes the queue retry.never"


def test_time_without_a_worker_counts_from_when_one_was_last_seen(harness: Harness) -> None:
    workflow = far(harness)
    harness.worker.beat()
    harness.database.call("update remand.workers set queues = queues || '{far}'")
    harness.advance(DAY / 2)
    assert sweep(harness) == NOTHING
    assert standing(harness, workflow).why is Why.WAITS_ITS_TURN
    harness.clock.advance(HALF_HOUR - 1)  # its worker beats no longer

    assert sweep(harness) == NOTHING
    harness.clock.advance(1)
    assert sweep(harness) == StaleResult(letters=1)


def test_after_all_were_away_those_that_come_back_late_have_their_time(harness: Harness) -> None:
    workflow = far(harness, lifecycle={"max_lifetime_seconds": 10 * DAY})
    harness.clock.advance(DAY)
    back = harness.new_worker("steps", hostname="back@test")

    assert sweep(harness) == NOTHING
    assert standing(harness, workflow).health is Health.HEALTHY
    harness.clock.advance(HALF_HOUR)
    back.beat()
    assert sweep(harness) == StaleResult(letters=1)


def test_what_waits_its_turn_behind_others_only_warns_until_its_lifetime_is_over(harness: Harness) -> None:
    harness.publish(shape("pay", CHAIN))
    workflow = harness.submit("t/pay")
    harness.advance(DAY - 1)

    assert sweep(harness) == NOTHING
    assert standing(harness, workflow).health is Health.WARNING
    harness.advance(1)
    assert sweep(harness) == StaleResult(letters=1)

    letter = harness.open_letter(workflow)
    assert (letter.reason, letter.step) == ("staleness_timeout", "a")
    assert "lifetime" in letter.error_message


def test_a_long_step_under_its_lease_is_alive(harness: Harness) -> None:
    harness.publish(shape("slow", {"a": ()}, each={"a": {"timeout_seconds": 40_000}}))
    workflow = harness.submit("t/slow")
    harness.worker.queue.claim("steps", 1)
    harness.advance(39_000)

    assert sweep(harness) == NOTHING
    assert standing(harness, workflow).why is Why.RUNNING


def test_an_attempt_that_nobody_rescues_is_stale_from_the_end_of_its_lease(harness: Harness) -> None:
    workflow = left_alone(harness)
    [(lease,)] = harness.database.call("select lease_until from remand.run_queue")
    harness.clock.now = lease + timedelta(seconds=HALF_HOUR - 1)
    assert sweep(harness) == NOTHING
    harness.clock.advance(1)

    assert sweep(harness) == StaleResult(letters=1)
    assert harness.open_letter(workflow).reason == "staleness_timeout"
    assert "steps_in_process" in harness.open_letter(workflow).error_message


def test_a_retry_counts_from_when_it_is_due(harness: Harness) -> None:
    retry = {"exponential": {"base_seconds": 7200, "cap_seconds": 7200}}
    harness.publish(shape("pay", {"a": ()}, retry=retry))
    harness.play(a=always(RetryableError("busy")))
    workflow = harness.submit("t/pay")
    harness.run_until_quiet()
    [(due,)] = harness.database.call("select due_at from remand.run_queue")
    assert due - harness.clock.now > timedelta(seconds=2 * HALF_HOUR)
    harness.clock.now = due + timedelta(seconds=HALF_HOUR - 1)
    assert sweep(harness) == NOTHING
    harness.clock.advance(1)

    assert sweep(harness) == StaleResult(letters=1)
    assert "waiting_for_retry" in harness.open_letter(workflow).error_message


def test_what_a_person_holds_is_never_stale(harness: Harness) -> None:
    workflow, queued = left_alone(harness), far(harness)
    pause_workflow(harness.engine, workflow, ANN)
    pause_queue(harness.engine, "far", by="ann")
    harness.clock.advance(40 * DAY)

    assert sweep(harness) == NOTHING
    assert standing(harness, workflow).health is Health.WARNING
    assert standing(harness, queued).why is Why.QUEUE_PAUSED


def test_from_when_a_person_lets_it_go_on_its_lifetime_begins_anew(harness: Harness) -> None:
    harness.publish(shape("pay", CHAIN))
    workflow, queued = harness.submit("t/pay"), far(harness)
    pause_workflow(harness.engine, workflow, ANN)
    pause_queue(harness.engine, "far", by="ann")
    harness.advance(40 * DAY)
    harness.worker.beat()
    harness.database.call("update remand.workers set queues = queues || '{far}'")
    harness.serve("far")
    resume_workflow(harness.engine, workflow, ANN)
    resume_queue(harness.engine, "far", by="ann")

    assert sweep(harness) == NOTHING
    assert standing(harness, workflow).born_at == harness.clock.now
    harness.advance(DAY)
    assert sweep(harness) == StaleResult(letters=2)
    assert harness.open_letter(queued).reason == "staleness_timeout"


def test_what_is_blocked_with_an_open_letter_never_gets_a_second_one(harness: Harness) -> None:
    harness.publish(shape("pay", CHAIN))
    harness.play(a=always(PermanentError("no")))
    workflow = harness.submit("t/pay")
    harness.run_until_quiet()
    harness.advance(40 * DAY)

    assert sweep(harness) == NOTHING
    assert standing(harness, workflow).why is Why.BLOCKED
    assert len(harness.letters(workflow)) == 1


# what becomes of it


@pytest.mark.parametrize(
    ("action", "swept", "state"),
    [
        ("dlq", StaleResult(letters=1), "blocked_by_failures"),
        ("error", StaleResult(errors=1), "error"),
        ("none", NOTHING, "steps_in_process"),
    ],
)
def test_the_lifecycle_says_what_becomes_of_it(
    harness: Harness, action: str, swept: StaleResult, state: str
) -> None:
    workflow = far(harness, lifecycle={"stale_action": action})
    harness.advance(HALF_HOUR)

    assert sweep(harness) == swept

    assert harness.workflow(workflow).state == state
    assert len(harness.letters(workflow)) == swept.letters
    assert sweep(harness) == NOTHING


def test_a_template_has_thresholds_of_its_own_and_a_new_version_changes_no_workflow_of_the_old(
    harness: Harness,
) -> None:
    old = far(harness, lifecycle={"max_steps_in_process_seconds": 100})
    text = shape("far", {"far": ()}, each={"far": {"queue": "far"}}, version="2")
    harness.publish(text)
    new = harness.submit("t/far:2")
    harness.advance(100)

    assert sweep(harness) == StaleResult(letters=1)

    assert harness.open_letter(old)
    assert not harness.letters(new)


def test_a_dry_run_says_what_would_happen_oldest_first_and_changes_nothing(harness: Harness) -> None:
    first = far(harness)
    harness.advance(60)
    second = harness.submit("t/far")
    harness.advance(HALF_HOUR)

    told = would_take(harness.engine, limit=10).items

    assert [(one.workflow_id, one.why, one.queue, one.action) for one in told] == [
        (first, Why.WORKER_UNAVAILABLE, "far", "dlq"),
        (second, Why.WORKER_UNAVAILABLE, "far", "dlq"),
    ]
    assert harness.letters(first) == harness.letters(second) == []
    assert sweep(harness) == StaleResult(letters=2)
    assert harness.open_letter(first).id < harness.open_letter(second).id
    assert would_take(harness.engine, limit=10).items == []


# two at once, killed, clocks


def flood(harness: Harness, count: int) -> list[UUID]:
    far(harness)
    found = harness.submit_many("t/far", range(count - 1))
    harness.advance(HALF_HOUR)
    return found


def test_it_goes_on_in_batches_until_nothing_is_left(harness_with: HarnessWith) -> None:
    harness = harness_with(staleness={"batch_size": 4})
    flood(harness, 21)

    assert sweep(harness) == StaleResult(letters=21)
    [(transactions,)] = harness.database.call("select count(distinct opened_at) from remand.dead_letters")
    assert transactions == 1  # the test's clock stands still


@pytest.mark.parametrize(
    ("action", "expected"),
    [("dlq", StaleResult(letters=21)), ("none", StaleResult(warned=21)), ("error", StaleResult(errors=21))],
)
def test_what_is_more_than_one_look_finds_is_dealt_with_once_each(
    harness_with: HarnessWith, monkeypatch: pytest.MonkeyPatch, action: str, expected: StaleResult
) -> None:
    monkeypatch.setattr(sweeping, "FOUND_AT_ONCE", 5)
    harness = harness_with(staleness={"batch_size": 2, "stale_action": action})
    flood(harness, 21)

    assert stale(harness.engine) == expected
    assert stale(harness.engine) == NOTHING


def test_of_two_at_once_one_works(harness: Harness) -> None:
    flood(harness, 21)

    swept = values(together(*[lambda: stale(harness.engine)] * 3))
    swept.append(stale(harness.engine))

    assert sum(one.letters for one in swept) == 21
    check_invariants(harness.database)


def test_while_another_runs_it_does_nothing(harness: Harness) -> None:
    flood(harness, 2)
    with alone(harness.database, "stale") as first:
        assert first
        assert replace(stale(harness.engine), warned=0) == NOTHING

    assert sweep(harness) == StaleResult(letters=2)


class Killed(BaseException):
    """Its process ends here."""


def test_killed_half_way_it_keeps_whole_batches_and_the_next_goes_on(
    harness_with: HarnessWith, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = harness_with(staleness={"batch_size": 4})
    flood(harness, 10)
    rounds = iter([False, True])
    take_out = sweeping.take_out

    def dies(*arguments: Any, **named: Any) -> Any:
        died = take_out(*arguments, **named)
        if next(rounds):
            raise Killed
        return died

    with monkeypatch.context() as patched:
        patched.setattr(sweeping, "take_out", dies)
        with pytest.raises(Killed):
            stale(harness.engine)
    check_invariants(harness.database)
    assert harness.database.call("select count(*) from remand.dead_letters") == [(4,)]

    assert sweep(harness) == StaleResult(letters=6)


def test_what_has_moved_since_it_was_found_is_left(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    workflow = far(harness)
    harness.advance(HALF_HOUR)
    lock = staleness.lock

    def a_worker_comes(*arguments: Any) -> Any:
        harness.new_worker("far", hostname="far@test")
        return lock(*arguments)

    monkeypatch.setattr(staleness, "lock", a_worker_comes)

    assert sweep(harness) == NOTHING
    assert not harness.letters(workflow)


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "America/St_Johns"])
def test_the_time_zone_of_a_session_changes_nothing(harness: Harness, zone: str) -> None:
    workflow = far(harness)
    harness.database.call(f"set time zone '{zone}'")
    harness.advance(HALF_HOUR - 1)
    assert sweep(harness) == NOTHING
    harness.advance(1)

    assert sweep(harness) == StaleResult(letters=1)
    assert harness.open_letter(workflow)


def test_a_clock_that_is_set_back_makes_nothing_stale(harness: Harness) -> None:
    workflow = far(harness)
    harness.clock.advance(-DAY)

    assert sweep(harness) == NOTHING
    assert standing(harness, workflow).health is Health.HEALTHY
