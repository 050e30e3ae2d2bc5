"""The main process's look after its children: real forks, real signals, the real run queue."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from uuid import UUID

import pytest

from remand_app.domain.errors import DatabaseUnreachable
from remand_app.engine.child_supervisor import GONE, ChildSupervisor, end_of_process
from remand_app.engine.leases import lease_slack
from remand_app.engine.process_table import ProcessTable, Running
from remand_app.engine.routing import Routing
from remand_app.store.claims import Completed
from remand_app.store.database import Database
from remand_app.store.run_queue import RunQueue
from tests.support.children import dead, died, forked
from tests.support.engine import Harness
from tests.support.refusals import refusing
from tests.support.shapes import shape

pytestmark = pytest.mark.once

ONE = shape("one", {"a": ()})
IN_TIME = 3600.0


class Yard:
    """A main process with children: each claims, and runs the first of its claims."""

    def __init__(self, harness: Harness, stack: ExitStack) -> None:
        self.harness = harness
        self.processes = ProcessTable()
        self.worker = harness.worker.id
        self.supervisor = self.new_supervisor()
        self._stack = stack
        harness.publish(ONE)
        harness.play()

    def new_supervisor(self, database: Database | None = None) -> ChildSupervisor:
        routing = Routing(self.harness.engine.templates, self.harness.settings)
        queue = self.queue(database)
        return ChildSupervisor(
            self.processes,
            queue,
            self.harness.bell,
            lambda one: routing.route([one])[0],
            grace_seconds=IN_TIME,
        )

    def queue(self, database: Database | None = None) -> RunQueue:
        """The run queue as this process sees it."""
        harness = self.harness
        return RunQueue(
            database or harness.database,
            harness.clock,
            worker=self.worker,
            pid=os.getpid(),
            timeout_seconds=1800,
            slack_seconds=lease_slack(harness.settings),
        )

    def submitted(self, count: int = 1) -> list[UUID]:
        """Submit one after the other, so that they are claimed in this order."""
        ids = []
        for value in range(count):
            ids.append(self.harness.submit("t/one", value))
            self.harness.clock.advance(milliseconds=1)
        self.harness.bell.take()
        return ids

    def child(
        self, k: int = 1, *, runs: bool = True, kill_in: float = IN_TIME, leaving_since: float | None = None
    ) -> int:
        """Fork a child that claims `k` steps and runs the first, if it `runs`; return its pid."""

        def work() -> None:
            claims = self.queue().claim("steps", k)
            slot = self.processes.acquire()
            if leaving_since is not None:
                slot.leave(leaving_since)
            if runs:
                first = claims[0]
                kill_at = time.monotonic() + kill_in
                slot.show(Running(first.workflow_id, first.step, first.attempt, kill_at))
            signal.signal(signal.SIGUSR1, lambda *_: os._exit(3))

        return self.child_of(work)

    def child_of(self, work: Callable[[], None]) -> int:
        """Fork a child that does some work and then waits; return its pid."""
        return self._stack.enter_context(forked(work))

    def attempts(self, *ids: UUID) -> list[list[tuple[int, str]]]:
        """Return number and outcome of each attempt of each workflow."""
        return [[(one.attempt, one.outcome) for one in self.harness.attempts(each)] for each in ids]

    def play_on(self, *ids: UUID) -> list[str]:
        """Let everything else happen; return the states of the workflows."""
        self.harness.run_until_quiet()
        return [str(self.harness.workflow(each).state) for each in ids]


@pytest.fixture
def yard(harness: Harness) -> Iterator[Yard]:
    with ExitStack() as stack:
        yield Yard(harness, stack)


def test_only_the_attempt_that_a_dead_child_ran_is_lost(yard: Yard) -> None:
    first, second, third = yard.submitted(3)
    dead(yard.child(k=3))

    assert yard.supervisor.look() == 1

    assert yard.harness.bell.rings == ["retry.immediate", "steps"]
    assert list(yard.processes.slots()) == []
    assert [yard.harness.step(each, "a").attempt for each in (first, second, third)] == [1, 0, 0]
    assert yard.play_on(first, second, third) == ["complete"] * 3
    assert yard.attempts(first, second, third) == [
        [(1, "lost"), (2, "complete")],
        [(1, "complete")],
        [(1, "complete")],
    ]
    step = yard.harness.step(first, "a")
    assert (step.failures, step.lost_attempts) == (0, 1)


@pytest.mark.parametrize(
    ("sent", "how"),
    [
        (signal.SIGKILL, "SIGKILL"),
        (signal.SIGSEGV, "SIGSEGV"),
        (signal.SIGTERM, "SIGTERM"),
        (signal.SIGUSR1, "exit status 3"),
    ],
)
def test_a_lost_attempt_says_how_its_process_ended(yard: Yard, sent: int, how: str) -> None:
    [workflow_id] = yard.submitted()
    dead(yard.child(), sent)

    yard.supervisor.look()

    [attempt] = yard.harness.attempts(workflow_id)
    assert attempt.failure is not None
    assert attempt.failure.message == f"the process that ran the step died: {how}"
    assert (attempt.failure.error_class, attempt.policy) == ("remand.errors.WorkerLost", "immediate")


def ran(yard: Yard, k: int, *, then_runs: bool, recorded: int = 0) -> int:
    """Fork a child that claims `k` steps, has run two of them, and runs the third if it says so."""

    def work() -> None:
        queue = yard.queue()
        claims = queue.claim("steps", k)
        slot = yard.processes.acquire()
        for claim in claims[:2]:
            slot.show(Running(claim.workflow_id, claim.step, claim.attempt, IN_TIME))
            slot.ended(claim.workflow_id, claim.step, claim.attempt)
        queue.settle([Completed(claim, "1") for claim in claims[:recorded]], "steps", 0)
        if then_runs:
            third = claims[2]
            slot.show(Running(third.workflow_id, third.step, third.attempt, time.monotonic() + IN_TIME))

    return yard.child_of(work)


@pytest.mark.parametrize("then_runs", [True, False], ids=["while another runs", "between two"])
def test_what_ran_and_was_not_recorded_is_lost_with_its_process(yard: Yard, then_runs: bool) -> None:
    """It may have had its effect: the next attempt has a number of its own; after three there is a letter."""
    ids = yard.submitted(4)
    dead(ran(yard, 4, then_runs=then_runs))

    assert yard.supervisor.look() == 1

    third = [(1, "lost")] if then_runs else []
    assert yard.attempts(*ids) == [[(1, "lost")], [(1, "lost")], third, []]
    assert list(yard.processes.slots()) == []
    assert yard.play_on(*ids) == ["complete"] * 4


def test_what_was_recorded_before_its_process_could_say_so_is_not_lost(yard: Yard) -> None:
    ids = yard.submitted(3)
    dead(ran(yard, 3, then_runs=False, recorded=1))

    yard.supervisor.look()

    assert yard.attempts(*ids) == [[(1, "complete")], [(1, "lost")], []]


@pytest.mark.parametrize("how", ["look", "close"])
def test_what_ran_in_a_process_that_a_shutdown_ended_is_interrupted(yard: Yard, how: str) -> None:
    ids = yard.submitted(4)
    pid = ran(yard, 4, then_runs=True)
    yard.supervisor.interrupt_all()
    died(pid)

    yard.supervisor.look() if how == "look" else yard.supervisor.close()

    assert yard.attempts(*ids) == [[(1, "interrupted")]] * 3 + [[]]


def test_what_ran_in_a_process_that_was_asked_to_end_is_interrupted_and_what_runs_is_lost(yard: Yard) -> None:
    ids = yard.submitted(3)

    def work() -> None:
        first, second, _ = yard.queue().claim("steps", 3)
        slot = yard.processes.acquire()
        slot.leave(time.monotonic())
        slot.ended(first.workflow_id, first.step, first.attempt)
        slot.show(Running(second.workflow_id, second.step, second.attempt, time.monotonic() + IN_TIME))

    dead(yard.child_of(work))
    yard.supervisor.look()

    assert yard.attempts(*ids) == [[(1, "interrupted")], [(1, "lost")], []]


def test_one_attempt_that_cannot_be_recorded_holds_up_no_other(yard: Yard) -> None:
    ids = yard.submitted(3)
    dead(ran(yard, 3, then_runs=True))
    with refusing(yard.harness.database, "insert on remand.attempts", ids[1]):
        assert yard.supervisor.look() == 1

    assert yard.attempts(ids[0], ids[2]) == [[(1, "lost")], [(1, "lost")]]
    assert yard.harness.states(ids[1]) == {"a": "in_progress"}, "its lease ends it"


def test_a_second_look_finds_nothing(yard: Yard) -> None:
    yard.submitted()
    dead(yard.child())

    assert [yard.supervisor.look() for _ in range(3)] == [1, 0, 0]


def test_a_child_that_died_between_steps_has_lost_none(yard: Yard) -> None:
    ids = yard.submitted(2)
    dead(yard.child(k=2, runs=False))

    assert yard.supervisor.look() == 1

    assert yard.harness.bell.rings == ["steps"]
    assert yard.play_on(*ids) == ["complete"] * 2
    assert yard.attempts(*ids) == [[(1, "complete")]] * 2


def test_the_claims_of_the_living_stay_theirs(yard: Yard) -> None:
    lost, kept = yard.submitted(2)
    doomed = yard.child()
    yard.child()
    dead(doomed)

    assert yard.supervisor.look() == 1

    assert [slot.running is not None for slot in yard.processes.slots()] == [True]
    assert yard.attempts(lost, kept) == [[(1, "lost")], [(1, "running")]]


def test_a_child_that_overran_is_killed_and_its_attempt_has_timed_out(yard: Yard) -> None:
    first, second = yard.submitted(2)
    pid = yard.child(k=2, kill_in=0)

    assert yard.supervisor.look() == 0
    died(pid)
    assert yard.supervisor.look() == 1

    [attempt] = yard.harness.attempts(first)
    assert attempt.failure is not None
    assert (attempt.outcome, attempt.failure.error_class) == ("timed_out", "remand.errors.StepTimeout")
    assert yard.attempts(second) == [[]]
    yard.play_on()
    step = yard.harness.step(first, "a")
    assert (step.state, step.failures, step.lost_attempts) == ("waiting_for_retry", 1, 0)
    assert yard.harness.workflow(second).state == "complete"


def test_a_child_in_time_is_left_alone(yard: Yard) -> None:
    yard.submitted()
    pid = yard.child()

    assert yard.supervisor.look() == 0

    assert end_of_process(pid) is None


def test_what_a_shutdown_interrupts_is_counted_as_nothing(yard: Yard) -> None:
    ids = yard.submitted(3)
    busy, other, idle = yard.child(), yard.child(), yard.child(runs=False)

    yard.supervisor.interrupt_all()
    died(busy)
    died(other)
    yard.supervisor.interrupt_all()

    assert end_of_process(idle) is None, "it leaves by itself"
    assert yard.supervisor.look() == 2
    assert yard.attempts(*ids) == [[(1, "interrupted")], [(1, "interrupted")], [(1, "running")]]
    for each in ids[:2]:
        step = yard.harness.step(each, "a")
        assert (step.state, step.failures, step.lost_attempts) == ("enqueued", 0, 0)
    assert yard.harness.bell.rings == ["steps", "steps"]


@pytest.mark.parametrize(("asked_ago", "ends"), [(IN_TIME + 1, True), (IN_TIME - 60, False)])
def test_a_child_that_was_asked_to_end_has_its_grace(yard: Yard, asked_ago: float, ends: bool) -> None:
    [workflow_id] = yard.submitted()
    busy = yard.child(leaving_since=time.monotonic() - asked_ago)

    yard.supervisor.look()
    if ends:
        died(busy)
        yard.supervisor.look()

    assert yard.attempts(workflow_id) == [[(1, "interrupted" if ends else "running")]]
    assert ends or end_of_process(busy) is None


def test_a_worker_that_leaves_gives_everything_back(yard: Yard) -> None:
    ids = yard.submitted(4)
    dead(yard.child(k=2))
    yard.child(k=2, runs=False)

    yard.supervisor.close()

    assert [str(yard.harness.step(each, "a").state) for each in ids] == ["enqueued"] * 4
    assert yard.attempts(*ids)[1:] == [[]] * 3
    assert set(yard.harness.bell.rings) == {"steps"}
    assert yard.play_on(*ids) == ["complete"] * 4


def test_a_worker_that_holds_nothing_leaves_in_silence(yard: Yard) -> None:
    yard.supervisor.close()

    assert yard.harness.bell.rings == []


@pytest.fixture
def away() -> Iterator[Database]:
    """A database that is away: nobody listens at the port."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        database = Database(f"postgresql://u:p@127.0.0.1:{held.getsockname()[1]}/d")
        yield database
        database.dispose()


@pytest.mark.parametrize(
    ("kill_in", "outcome"), [(IN_TIME, "lost"), (0, "timed_out")], ids=["died", "overran"]
)
def test_the_dead_wait_in_their_seats_while_the_database_is_away(
    yard: Yard, away: Database, kill_in: float, outcome: str
) -> None:
    [workflow_id] = yard.submitted()
    pid = yard.child(kill_in=kill_in)
    supervisor = yard.new_supervisor()
    supervisor.look()
    if kill_in:
        dead(pid)
    died(pid)
    supervisor._queue = yard.queue(away)
    for _ in range(2):
        with pytest.raises(DatabaseUnreachable):
            supervisor.look()
    supervisor._queue = yard.queue()

    assert supervisor.look() == 1

    assert yard.attempts(workflow_id) == [[(1, outcome)]]
    assert list(yard.processes.slots()) == []


def test_an_answer_that_was_lost_on_the_way_is_asked_for_again(yard: Yard, away: Database) -> None:
    workflow_id, other = yard.submitted(2)
    dead(yard.child(k=2))
    supervisor = yard.new_supervisor()
    queue = yard.queue()
    give_back = queue.give_back_of
    queue.give_back_of = yard.queue(away).give_back_of  # type: ignore[method-assign]
    supervisor._queue = queue

    with pytest.raises(DatabaseUnreachable):
        supervisor.look()
    queue.give_back_of = give_back  # type: ignore[method-assign]

    assert supervisor.look() == 1
    assert yard.attempts(workflow_id, other) == [[(1, "lost")], []]
    assert yard.play_on(workflow_id, other) == ["complete"] * 2


def test_the_main_process_of_a_solo_pool_never_kills_itself(yard: Yard) -> None:
    [workflow_id] = yard.submitted()
    [claim] = yard.queue().claim("steps", 1)
    yard.processes.acquire().show(Running(workflow_id, claim.step, 1, time.monotonic() - 1))

    yard.supervisor.look()
    yard.supervisor.interrupt_all()

    assert yard.harness.step(workflow_id, "a").state == "in_progress"


def test_the_end_of_a_process_is_told_as_long_as_the_kernel_knows(yard: Yard) -> None:
    pid = yard.child(k=0, runs=False)
    alive = end_of_process(pid)
    dead(pid)

    told = [end_of_process(pid), end_of_process(pid)]
    os.waitpid(pid, 0)

    assert (alive, told, end_of_process(pid)) == (None, ["SIGKILL", "SIGKILL"], GONE)
    assert end_of_process(1) is None, "it lives and is not ours"
