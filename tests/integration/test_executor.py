"""The executor when its ground gives way: lost answers, a database that refuses, threads in one process."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import psycopg2
import pytest

from remand.errors import PermanentError, StepCancelled
from remand_app.domain.errors import Busy, DatabaseUnreachable, ValueRefused
from remand_app.engine.child_supervisor import ChildSupervisor
from remand_app.engine.process_table import ProcessTable, Running
from remand_app.engine.routing import Routing
from remand_app.runtime import Runtime
from remand_app.store import attempt_counts
from remand_app.store.claims import Claim, Completed
from remand_app.store.ids import new_id
from remand_app.store.workflows import lock_workflow
from tests.support.engine import Harness
from tests.support.locks import wait_for_waiter
from tests.support.refusals import refusing
from tests.support.shapes import shape

_LONG_SECONDS = 10.0
_BARRED_SECONDS = 0.5
ERRORS = {"bad": PermanentError("no"), "cancelled": StepCancelled("so I say")}


def part(ctx: Any) -> Any:
    if ctx.input in ERRORS:
        raise ERRORS[ctx.input]
    return ctx.input


def broken(call: Callable[..., Any], *errors: Exception, after: bool = False) -> Callable[..., Any]:
    """Return `call` so that its first uses raise; `after`: it was done, only its answer is lost."""
    left = list(errors)

    def flawed(*arguments: Any, **named: Any) -> Any:
        if left:
            if after:
                call(*arguments, **named)
            raise left.pop(0)
        return call(*arguments, **named)

    return flawed


def warm(harness: Harness, play: Callable[[Any], Any] = part) -> Any:
    """Let the executor learn that steps are short, so that it claims many; return its run queue."""
    harness.publish(shape("one", {"a": ()}))
    harness.play(a=play)
    harness.submit("t/one", "warm")
    harness.run_until_quiet()
    return harness.worker.queue


@pytest.mark.parametrize("after", [False, True], ids=["the question was lost", "the answer was lost"])
def test_a_failure_is_kept_when_the_database_goes_away_in_its_batch(harness: Harness, after: bool) -> None:
    queue = warm(harness)
    good, bad = harness.submit_many("t/one", ["good", "bad"])
    queue.settle = broken(queue.settle, DatabaseUnreachable("away"), after=after)

    harness.drain()

    assert harness.states(good) == {"a": "complete"}
    assert [(one.attempt, one.outcome) for one in harness.attempts(bad)] == [(1, "failed")]


def test_what_the_long_step_monitor_records_is_not_given_back_meanwhile(
    harness_with: Callable[..., Harness],
) -> None:
    """Both threads lose the database; the main thread has it back first and asks what it holds."""
    stepped_in, given_back = threading.Event(), threading.Event()
    harness = harness_with(flush_after_seconds=0.01)

    def play(ctx: Any) -> Any:
        if ctx.input == "long":
            assert stepped_in.wait(_LONG_SECONDS)
        return ctx.input

    queue = warm(harness, play)
    short, long = harness.submit_many("t/one", ["short", "long"])
    settle, give_back = queue.settle, queue.give_back_unknown
    away = {"remand-long-steps", "MainThread"}

    def settle_late(*arguments: Any) -> Any:
        name = threading.current_thread().name
        if name in away:
            away.remove(name)
            raise DatabaseUnreachable("away")
        if name == "remand-long-steps":
            stepped_in.set()
            given_back.wait(_BARRED_SECONDS)
        return settle(*arguments)

    def give_back_and_say_so(known: Any) -> Any:
        queues = give_back(known)
        given_back.set()
        return queues

    queue.settle, queue.give_back_unknown = settle_late, give_back_and_say_so

    harness.drain()

    assert (harness.states(short), harness.states(long)) == ({"a": "complete"}, {"a": "complete"})


CLOSED = psycopg2.DatabaseError("server closed the connection unexpectedly")
UNFORESEEN = [
    psycopg2.ProgrammingError("no such function"),
    psycopg2.errors.InternalError_("tuple concurrently updated"),
    RuntimeError("dictionary changed size during iteration"),
    ValueRefused("Postgres refused a value: of a claim that came with it"),
    Busy("others work on the same rows just now"),
]


@pytest.mark.parametrize("error", UNFORESEEN, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("call", ["settle", "fail"])
@pytest.mark.parametrize("times", [1, 2])
def test_what_ended_is_recorded_as_that_whatever_breaks(
    harness: Harness, call: str, error: Exception, times: int
) -> None:
    queue = warm(harness)
    good, bad = harness.submit_many("t/one", ["good", "bad"])
    setattr(queue, call, broken(getattr(queue, call), *[error] * times))

    harness.drain()

    assert harness.attempts(good)[0].outcome == "complete"
    assert [(one.attempt, one.outcome) for one in harness.attempts(bad)] == [(1, "failed")]
    assert harness.letters(good) == []


@pytest.mark.parametrize("error", UNFORESEEN, ids=lambda error: type(error).__name__)
def test_a_result_that_cannot_be_settled_is_lost_and_never_failed(harness: Harness, error: Exception) -> None:
    """Nor is it a reason to stop: those that were claimed with it are settled."""
    queue = warm(harness)
    ids = harness.submit_many("t/one", ["first", "cursed", "last"])
    settle = queue.settle

    def settle_but_one(results: Any, *more: Any) -> Any:
        if any('"cursed"' in one.result for one in results):
            raise error
        return settle(results, *more)

    queue.settle = settle_but_one
    harness.drain()

    assert [harness.attempts(one)[0].outcome for one in ids] == ["complete", "lost", "complete"]
    assert harness.step(ids[1], "a").failures == 0
    queue.settle = settle
    harness.run_until_quiet()
    assert [(one.attempt, one.outcome) for one in harness.attempts(ids[1])] == [(1, "lost"), (2, "complete")]


def test_a_result_of_which_nothing_can_be_recorded_is_kept_for_the_next_drain(harness: Harness) -> None:
    queue = warm(harness)
    workflow_id = harness.submit("t/one", "good")
    refusal = psycopg2.ProgrammingError("permission denied")
    queue.settle, queue.fail = broken(queue.settle, *[refusal] * 3), broken(queue.fail, *[refusal] * 3)

    harness.drain()
    assert harness.states(workflow_id) == {"a": "in_progress"}
    harness.drain()

    assert [(one.attempt, one.outcome) for one in harness.attempts(workflow_id)] == [(1, "complete")]


def test_a_process_that_can_record_nothing_runs_no_more(harness_with: Callable[..., Harness]) -> None:
    harness = harness_with(batch_size=2)
    ran: list[Any] = []
    queue = warm(harness, lambda ctx: ran.append(ctx.input))
    ids = harness.submit_many("t/one", range(6))

    def refuse(*_: Any, **__: Any) -> Any:
        raise psycopg2.ProgrammingError("permission denied")

    settle, fail = queue.settle, queue.fail
    queue.settle = queue.fail = refuse
    for _ in range(9):
        harness.drain()
    assert len(ran) == 1 + 2, "what is kept is no more than one claim takes"

    queue.settle, queue.fail = settle, fail
    harness.run_until_quiet()
    assert [[one.attempt for one in harness.attempts(each)] for each in ids] == [[1]] * 6
    assert len(ran) == 1 + 6


@pytest.mark.parametrize("where", ["begin", "end"])
def test_a_run_that_we_break_off_is_lost_and_what_ran_before_is_kept(harness: Harness, where: str) -> None:
    class Rude:
        """An audience that cannot bear one of the steps."""

        def begin(self, claim: Claim) -> None:
            self.at = claim
            if where == "begin" and claim.input == "cursed":
                raise RuntimeError("our own mistake")

        def end(self, _error_class: str | None) -> None:
            if where == "end" and self.at.input == "cursed":
                raise RuntimeError("our own mistake")

    warm(harness)
    ids = harness.submit_many("t/one", ["first", "cursed", "last"])
    harness.worker.executor._batch_runner.audience = Rude()

    with pytest.raises(RuntimeError, match="our own"):
        harness.drain()

    outcomes = [[one.outcome for one in harness.attempts(each)] for each in ids]
    assert outcomes == [["complete"], ["lost"], []]
    assert harness.states(ids[2]) == {"a": "enqueued"}


@pytest.mark.parametrize("error", [CLOSED, RuntimeError("changed size during iteration")], ids=["db", "own"])
def test_counts_that_cannot_be_added_keep_no_result_waiting(
    harness: Harness, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    warm(harness)
    ids = harness.submit_many("t/one", ["good", "bad"])

    def refuse(*_: Any) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(attempt_counts, "count", refuse)
        harness.drain()

    assert [harness.attempts(one)[0].outcome for one in ids] == ["complete", "failed"]


HUGE = "update remand.{} set {} = ('[1' || repeat('0', 5000) || ']')::jsonb where {} = %s"


@pytest.mark.parametrize("place", [0, 3, 5])
def test_a_claim_that_cannot_be_read_becomes_a_letter_and_stops_nobody(harness: Harness, place: int) -> None:
    """A number of 5 000 digits: PostgreSQL takes it, Python does not read it."""
    warm(harness)
    ids = harness.submit_many("t/one", range(6))
    harness.database.call(HUGE.format("workflows", "input", "id"), (ids[place],))
    try:
        harness.run_until_quiet()
        letter = harness.open_letter(ids[place])
    finally:
        harness.database.call("update remand.workflows set input = '1' where id = %s", (ids[place],))

    others = [one for number, one in enumerate(ids) if number != place]
    assert [[(one.attempt, one.outcome) for one in harness.attempts(each)] for each in others] == (
        [[(1, "complete")]] * 5
    )
    assert [(one.attempt, one.outcome) for one in harness.attempts(ids[place])] == [(1, "failed")]
    assert letter.error_class == "remand_app.domain.errors.StepUnreadable"
    assert "more digits than Python reads" in letter.error_message


@pytest.mark.parametrize("how", ["its claim comes with a settle", "it is claimed"])
def test_a_child_whose_parents_cannot_be_read_becomes_a_letter(harness: Harness, how: str) -> None:
    warm(harness)
    harness.publish(shape("pair", {"a": (), "b": (), "c": ["a", "b"], "d": ["b"]}))
    odd, even = harness.submit_many("t/pair", range(2))
    huge = HUGE.format("steps", "result", "name = 'a' and workflow_id")
    settle, queue = harness.worker.queue.settle, harness.worker.queue

    def settle_and_spoil(results: list[Completed], name: str, k: int) -> Any:
        came = settle([one for one in results if one.claim.step == "a"], name, 0)
        harness.database.call(huge, (odd,))
        rest = settle([one for one in results if one.claim.step != "a"], name, 0 if "claimed" in how else k)
        return replace(rest, counted=rest.counted + came.counted, ring=[*came.ring, *rest.ring])

    queue.settle = settle_and_spoil  # type: ignore[method-assign]
    try:
        harness.run_until_quiet()
        assert harness.open_letter(odd).error_class == "remand_app.domain.errors.StepUnreadable"
        assert harness.states(odd) == {"a": "complete", "b": "complete", "c": "error", "d": "complete"}
    finally:
        harness.database.call("update remand.steps set result = '1' where name = 'a'")
    assert harness.workflow(even).state == "complete"


def test_a_step_that_cannot_even_be_claimed_waits_and_stops_nobody(harness: Harness) -> None:
    warm(harness)
    ids = harness.submit_many("t/one", range(4))
    with refusing(harness.database, "update on remand.steps", ids[1]):
        for _ in range(6):
            harness.drain()
        states = [harness.states(one)["a"] for one in ids]
    assert states == ["complete", "enqueued", "complete", "complete"]

    harness.advance(61)
    harness.run_until_quiet()
    assert [(one.attempt, one.outcome) for one in harness.attempts(ids[1])] == [(1, "complete")]


def test_a_template_that_cannot_be_read_keeps_no_step_from_running(harness: Harness) -> None:
    warm(harness)
    workflow_id = harness.submit("t/one", "good")
    counter = harness.worker.executor._state.counter
    counter._sources.clear()
    get = counter._templates.get
    counter._templates.get = broken(get, TypeError("a key of a later version"))  # type: ignore[method-assign]

    harness.drain()

    assert harness.states(workflow_id) == {"a": "complete"}


def test_large_results_of_parents_are_read_before_the_clock_of_the_step_runs(harness: Harness) -> None:
    """A database that is away then is waited for; it is no failure of a step whose handler never ran."""
    harness.publish(shape("pair", {"a": (), "b": ["a"]}))
    harness.play(a=lambda _: "x" * 900_000, b=lambda ctx: len(ctx.parents["a"]))
    workflow_id = harness.submit("t/pair")
    queue = harness.worker.queue
    queue.parents = broken(queue.parents, DatabaseUnreachable("away"), Busy("locked"))  # type: ignore[method-assign]

    harness.run_until_quiet()

    assert [(one.attempt, one.outcome) for one in harness.attempts(workflow_id, "b")] == [(1, "complete")]


def test_a_step_that_says_it_was_cancelled_but_was_not_has_failed(harness: Harness) -> None:
    warm(harness)
    workflow_id = harness.submit("t/one", "cancelled")

    harness.drain()

    assert [one.outcome for one in harness.attempts(workflow_id)] == ["failed"]


@pytest.mark.parametrize(
    ("raised", "asked", "outcome"),
    [
        (lambda: sys.exit(-241), False, "failed"),
        (lambda: sys.exit(-241), True, "failed"),
        (lambda: killed(-signal.SIGTERM), False, "failed"),
        (lambda: killed(-signal.SIGTERM), True, "interrupted"),
        (lambda: killed(128 + signal.SIGHUP, wrapped=True), True, "interrupted"),
        (lambda: killed(1), True, "failed"),
        (lambda: killed(-signal.SIGKILL), True, "failed"),
    ],
)
def test_only_the_echo_of_a_stop_is_an_interruption(
    harness: Harness, database_url: str, raised: Callable[[], None], asked: bool, outcome: str
) -> None:
    processes = ProcessTable()
    settings = harness.settings.model_copy(update={"database_url": database_url})
    runtime = Runtime(settings, bell=harness.bell, clock=harness.clock)
    drain = runtime.drain(harness.worker.id, processes, harness.handlers)
    place = processes.acquire()

    def play(_ctx: Any) -> None:
        if asked:
            place.leave(1.0)
        raised()

    harness.publish(shape("one", {"a": ()}))
    harness.play(a=play)
    workflow_id = harness.submit("t/one", "x")

    drain.run("steps")
    runtime.database.dispose()

    assert [one.outcome for one in harness.attempts(workflow_id)] == [outcome]


def test_worker_that_stops_claims_nothing_more(harness: Harness, database_url: str) -> None:
    # Its own bells may still reach it: that of a step which it has just given back.
    processes = ProcessTable()
    settings = harness.settings.model_copy(update={"database_url": database_url})
    runtime = Runtime(settings, bell=harness.bell, clock=harness.clock)
    drain = runtime.drain(harness.worker.id, processes, harness.handlers)
    harness.publish(shape("one", {"a": ()}))
    order = harness.play()
    workflow_id = harness.submit("t/one", "x")
    processes.stop()

    drained = drain.run("steps")
    runtime.database.dispose()

    assert (drained.claimed, order, harness.states(workflow_id)) == (0, [], {"a": "enqueued"})
    assert harness.attempts(workflow_id) == []


def killed(returncode: int, *, wrapped: bool = False) -> None:
    error = subprocess.CalledProcessError(returncode, ["ffmpeg"])
    if wrapped:
        raise RuntimeError("the video could not be made") from error
    raise error


def test_threads_of_a_worker_do_not_give_back_what_another_runs(harness: Harness, database_url: str) -> None:
    warm(harness)
    harness.submit_many("t/one", range(2))
    worker = new_id()
    runtime = Runtime(harness.settings.model_copy(update={"database_url": database_url}), clock=harness.clock)
    theirs: list[Claim] = []
    other = threading.Thread(target=lambda: theirs.extend(runtime.run_queue(worker).claim("steps", 1)))
    other.start()
    other.join()
    mine = runtime.run_queue(worker)
    [own] = mine.claim("steps", 1)

    assert mine.give_back_unknown([own]) == []
    assert mine.settle([Completed(one, "1") for one in (own, *theirs)], "steps", 0).counted == 2
    runtime.database.dispose()


def test_a_dead_process_is_no_failure_that_a_template_sends_to_a_person(harness: Harness) -> None:
    """As for a worker that is gone as a whole: only `lost_attempts` of them are."""
    harness.publish(shape("one", {"a": ()}, retry={"policies": {"resource": "never"}}))
    workflow_id = harness.submit("t/one")
    harness.worker.queue.claim("steps", 1)
    processes = ProcessTable()
    processes.acquire().show(Running(workflow_id, "a", 1, math.inf))
    routing = Routing(harness.engine.templates, harness.settings)
    supervisor = ChildSupervisor(
        processes,
        harness.worker.queue,
        harness.bell,
        lambda end: routing.route([end])[0],
        lambda _: "SIGKILL",
    )

    supervisor.look()

    assert harness.bell.take()[-1] == "retry.immediate"
    assert harness.drain_failures("immediate").retried == 1


def test_what_was_parked_is_settled_by_its_own_drain_once_the_workflow_is_free(harness: Harness) -> None:
    # No sweep runs: a site without a maintenance worker must not leave it lying.
    harness.publish(shape("diamond", {"a": (), "b": "a", "c": "a", "d": "bc"}))
    held = threading.Event()
    free = threading.Event()

    def hold_on(ctx: Any) -> Any:
        if ctx.step == "b":
            held.set()
        return ctx.step

    workflow_id = harness.submit("t/diamond")
    order = harness.play(b=hold_on)
    settle = harness.worker.queue.settle
    with harness.database.begin() as connection:

        def locked_from_b_on(*arguments: Any) -> Any:
            if held.is_set() and not free.is_set():
                lock_workflow(connection, workflow_id)
                free.set()
            return settle(*arguments)

        harness.worker.queue.settle = locked_from_b_on  # type: ignore[method-assign]
        draining = threading.Thread(target=lambda: harness.drain("steps"))
        draining.start()
        wait_for_waiter(harness.database)
        states = harness.states(workflow_id)
    draining.join()

    assert states["d"] == "pending"
    assert sorted({states["b"], states["c"]}) == ["enqueued_for_orchestration"]
    assert (order[0], sorted(order[1:3]), order[3:]) == ("a", ["b", "c"], ["d"])
    assert harness.workflow(workflow_id).state == "complete"
