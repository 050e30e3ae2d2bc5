"""One attempt under its time limit: real alarms, the real run queue, the main thread of this process."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from remand import StepTimeout
from remand.rules import BOOK
from remand_app.domain.errors import DatabaseUnreachable
from remand_app.engine.leases import lease_slack
from remand_app.engine.process_table import ProcessTable
from remand_app.engine.run import Abandoned, Runner
from remand_app.engine.soft_timeout import SoftTimeout
from remand_app.store.claims import Claim, Completed, EndedBadly
from remand_app.store.run_queue import RunQueue
from tests.support.engine import Harness
from tests.support.shapes import HANDLER, shape

SHORT = 0.05
"""Seconds after which the alarm comes to handlers that wait for it."""
LONG = 30.0


class Bench:
    """A runner of this process and a claim that it runs."""

    def __init__(
        self, harness: Harness, queue: type[RunQueue] = RunQueue, processes: ProcessTable | None = None
    ) -> None:
        self.harness = harness
        harness.publish(shape("one", {"a": ()}))
        self.queue = queue(
            harness.database,
            harness.clock,
            worker=harness.worker.id,
            pid=os.getpid(),
            timeout_seconds=1800,
            slack_seconds=lease_slack(harness.settings),
        )
        self.runner = Runner(
            harness.handlers,
            self.queue,
            harness.settings,
            lambda _: BOOK,
            processes.acquire() if processes else None,
        )

    def claim(self, timeout_seconds: float) -> Claim:
        self.harness.submit("t/one", {"n": 1})
        [claim] = self.queue.claim("steps", 1)
        return replace(claim, timeout_seconds=timeout_seconds)

    def run(self, part: Any, timeout_seconds: float = SHORT) -> Completed | EndedBadly | Abandoned:
        self.harness.handlers._by_name[HANDLER] = part
        with self.runner.ready():
            return self.runner.run(self.claim(timeout_seconds))


@pytest.fixture
def bench(harness: Harness) -> Iterator[Bench]:
    made = Bench(harness)
    yield made
    if made.runner._loop is not None:
        made.runner._loop.close()  # that of a worker ends with its process


def result_of(end: object) -> Any:
    assert isinstance(end, Completed), end
    return json.loads(end.result)


def failure_of(end: object, outcome: str) -> dict[str, Any]:
    assert isinstance(end, EndedBadly), end
    assert end.outcome == outcome
    return end.failure.to_json()


def asleep(ctx: Any) -> None:
    time.sleep(LONG)


def test_a_handler_is_interrupted_at_its_timeout(bench: Bench) -> None:
    started = time.monotonic()

    failure = failure_of(bench.run(asleep), "timed_out")

    assert SHORT <= time.monotonic() - started < LONG
    assert failure["error_class"] == "remand.errors.StepTimeout"
    assert "time.sleep" in failure["traceback"], "says where it was"


def test_a_timeout_is_not_swallowed_by_whoever_catches_every_exception(bench: Bench) -> None:
    went_on: list[str] = []

    def part(ctx: Any) -> str:
        try:
            time.sleep(LONG)
        except Exception:
            went_on.append("swallowed")
        return "well"

    failure_of(bench.run(part), "timed_out")

    assert went_on == []


def test_a_handler_may_clean_up_after_its_timeout_for_as_long_as_it_takes(bench: Bench) -> None:
    cleaned: list[str] = []

    def part(ctx: Any) -> None:
        try:
            time.sleep(LONG)
        except StepTimeout:
            threading.Event().wait(2 * SHORT)  # a second alarm would come in here
            cleaned.append("clean")
            raise

    failure_of(bench.run(part), "timed_out")

    assert cleaned == ["clean"]


def test_a_timeout_that_a_handler_keeps_to_itself_is_its_own_affair(bench: Bench) -> None:
    def part(ctx: Any) -> str:
        try:
            time.sleep(LONG)
        except StepTimeout:
            return "what I have so far"
        return "all of it"

    assert result_of(bench.run(part)) == "what I have so far"


def test_no_alarm_is_left_behind_an_end(bench: Bench) -> None:
    before = signal.getsignal(signal.SIGALRM)

    bench.run(lambda ctx: 1, LONG)
    bench.run(asleep)

    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is before


def test_an_alarm_that_comes_when_the_handler_has_ended_hits_nobody(bench: Bench) -> None:
    bench.harness.handlers.add(HANDLER, lambda ctx: 1)
    with bench.runner.ready():
        end = bench.runner.run(bench.claim(LONG))
        signal.raise_signal(signal.SIGALRM)

    assert result_of(end) == 1


class AlarmInHeartbeat(RunQueue):
    """The alarm comes while a heartbeat is on its way to the database."""

    lost = False

    def renew(self, claim: Claim) -> bool:
        signal.raise_signal(signal.SIGALRM)
        if self.lost:
            raise DatabaseUnreachable("gone")
        return super().renew(claim)

    def checkpoint(self, claim: Claim, value: str) -> bool:
        signal.raise_signal(signal.SIGALRM)
        if self.lost:
            raise DatabaseUnreachable("gone")
        return super().checkpoint(claim, value)


class AlarmInLostHeartbeat(AlarmInHeartbeat):
    lost = True


@pytest.mark.parametrize("queue", [AlarmInHeartbeat, AlarmInLostHeartbeat], ids=["heard", "lost"])
@pytest.mark.parametrize(
    "call", [lambda ctx: ctx.heartbeat(), lambda ctx: ctx.checkpoint(1)], ids=["heartbeat", "checkpoint"]
)
def test_a_timeout_during_a_call_to_the_database_comes_right_after_it(
    harness: Harness, queue: type[RunQueue], call: Callable[[Any], None]
) -> None:
    went_on: list[str] = []

    def part(ctx: Any) -> None:
        call(ctx)
        went_on.append("went on")

    bench = Bench(harness, queue)

    failure = failure_of(bench.run(part, LONG), "timed_out")

    assert went_on == []
    assert failure["error_class"] == "remand.errors.StepTimeout"


def test_a_heartbeat_with_an_alarm_in_it_reaches_the_database(harness: Harness) -> None:
    bench = Bench(harness, AlarmInHeartbeat)

    def part(ctx: Any) -> None:
        harness.clock.advance(100)
        ctx.heartbeat()

    failure_of(bench.run(part, LONG), "timed_out")

    [(lease,)] = harness.database.call("select lease_until from remand.run_queue")
    assert (lease - harness.clock.now).total_seconds() == LONG + lease_slack(harness.settings)


def test_a_deferred_timeout_is_raised_once(harness: Harness) -> None:
    bench = Bench(harness, AlarmInHeartbeat)

    def part(ctx: Any) -> str:
        with suppress(StepTimeout):
            ctx.heartbeat()
        ctx.heartbeat()
        return "cleaned up"

    assert result_of(bench.run(part, LONG)) == "cleaned up"


def test_async_handlers_are_interrupted_wherever_they_are(bench: Bench) -> None:
    async def waiting(ctx: Any) -> None:
        await asyncio.sleep(LONG)

    async def busy(ctx: Any) -> None:
        asleep(ctx)

    async def fine(ctx: Any) -> str:
        await asyncio.sleep(0)
        return "well"

    for part in (waiting, busy, waiting):
        failure_of(bench.run(part), "timed_out")
        assert result_of(bench.run(fine, LONG)) == "well"


def test_an_async_handler_cleans_up_after_its_timeout(bench: Bench) -> None:
    cleaned: list[str] = []

    async def part(ctx: Any) -> None:
        try:
            await asyncio.sleep(LONG)
        finally:
            await asyncio.sleep(0)
            cleaned.append("clean")

    failure_of(bench.run(part), "timed_out")

    assert cleaned == ["clean"]


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()], ids=repr)
def test_an_async_handler_that_tries_to_leave_takes_nothing_along(bench: Bench, error: BaseException) -> None:
    async def leaves(ctx: Any) -> None:
        await asyncio.sleep(0)
        raise error

    async def fine(ctx: Any) -> str:
        await asyncio.sleep(0)
        return "well"

    failure = failure_of(bench.run(leaves, LONG), "failed")

    assert failure["error_class"].endswith(type(error).__name__)
    assert result_of(bench.run(fine, LONG)) == "well"


def test_async_handlers_of_a_process_share_their_loop(bench: Bench) -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    async def part(ctx: Any) -> None:
        loops.append(asyncio.get_running_loop())

    bench.run(part, LONG)
    bench.run(part, LONG)

    assert loops[0] is loops[1]


def test_what_awaits_otherwise_is_awaited_too(bench: Bench) -> None:
    class Late:
        async def __call__(self, ctx: Any) -> int:
            await asyncio.sleep(0)
            return int(ctx.input["n"])

    assert result_of(bench.run(Late(), LONG)) == 1


def test_a_thread_cannot_be_interrupted_and_is_told_no_deadline(bench: Bench) -> None:
    told: list[Any] = []
    ends: list[object] = []

    def part(ctx: Any) -> str:
        told.append(ctx.deadline)
        return "well"

    thread = threading.Thread(target=lambda: ends.append(bench.run(part, 1e-6)))
    thread.start()
    thread.join(10)

    assert result_of(ends[0]) == "well"
    assert told == [None]


def test_a_deadline_is_when_the_timeout_comes(bench: Bench) -> None:
    told: list[float] = []

    def part(ctx: Any) -> None:
        told.append(ctx.deadline.timestamp() - time.time())

    bench.run(part, LONG)

    assert LONG - 5 < told[0] <= LONG


def test_an_alarm_that_comes_after_the_handler_returned_takes_no_result_away(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    disarm = SoftTimeout.disarm

    def too_late(alarm: SoftTimeout) -> None:
        signal.raise_signal(signal.SIGALRM)
        disarm(alarm)

    monkeypatch.setattr(SoftTimeout, "disarm", too_late)

    assert result_of(bench.run(lambda ctx: "done", LONG)) == "done"


def test_a_failure_is_kept_though_the_rules_of_its_template_cannot_be_read(bench: Bench) -> None:
    def broken(_claim: Claim) -> Any:
        raise ValueError("no such template")

    bench.runner._book = broken

    end = bench.run(lambda ctx: 1 / 0)

    assert isinstance(end, EndedBadly)
    assert end.failure.error_class == "builtins.ZeroDivisionError"


@pytest.mark.parametrize("part", [lambda ctx: 1, asleep, lambda ctx: 1 / 0], ids=["good", "late", "bad"])
def test_the_main_process_sees_what_runs_while_it_runs(harness: Harness, part: Any) -> None:
    processes = ProcessTable()
    bench = Bench(harness, processes=processes)
    seen: list[Any] = []

    def looked_at(ctx: Any) -> Any:
        [seat] = processes.slots()
        seen.append(seat.running)
        return part(ctx)

    end = bench.run(looked_at)

    grace = harness.settings.hard_timeout_grace_seconds
    assert (seen[0].step, seen[0].attempt) == ("a", 1)
    assert grace < seen[0].kill_at - time.monotonic() + SHORT + 5 < grace + SHORT + 10
    [seat] = processes.slots()
    assert (seat.running, [one.step for one in seat.ran]) == (None, ["a"]), "nobody has recorded it yet"
    assert isinstance(end, Completed | EndedBadly)
