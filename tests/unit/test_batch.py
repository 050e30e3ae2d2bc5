from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from uuid import UUID

import pytest

from remand.failure import capture
from remand_app.engine.batch import Batch, Ended
from remand_app.engine.long_step_monitor import LongStepMonitor
from remand_app.store.claims import Claim, Completed, EndedBadly
from tests.support.waiting import eventually

LATE = 0.0
NEVER = 3600.0


def claim(step: str) -> Claim:
    return Claim(
        UUID(int=1), step, 1, "h", 60, False, None, None, None, datetime(2026, 1, 1, tzinfo=UTC), 1
    )  # fmt: skip


A, B, C = claim("a"), claim("b"), claim("c")
BAD = EndedBadly(UUID(int=1), "b", 1, UUID(int=2), "failed", capture(ValueError("no")), "never")


def batch_of(*claims: Claim) -> Batch:
    batch = Batch()
    batch.add(claims)
    return batch


def test_claims_run_in_the_order_they_came() -> None:
    batch = batch_of(A, B)
    batch.add([C])

    assert [batch.start() for _ in range(4)] == [A, B, C, None]


def test_ends_are_taken_once_and_apart() -> None:
    batch = batch_of(A, B, C)
    for end in (Completed(A, "1"), BAD, None):
        batch.start()
        batch.end(end)

    ended = batch.take_ended()

    assert ended == Ended([Completed(A, "1")], [BAD])
    assert not batch.take_ended()


def test_what_is_not_started_is_taken_once() -> None:
    batch = batch_of(A, B, C)
    batch.start()

    assert (batch.waiting(), batch.take_todo(), batch.waiting(), batch.take_todo()) == (2, [B, C], 0, [])


def test_what_is_held_is_what_runs_waits_or_is_not_recorded() -> None:
    batch = batch_of(A, B, C)
    batch.start()
    batch.end(Completed(A, "1"))
    batch.start()

    assert sorted(one.step for one in batch.held()) == ["a", "b", "c"]
    batch.take_ended()
    assert [one.step for one in batch.held()] == ["b", "c"]


def test_a_batch_is_held_up_only_by_a_handler_that_is_late_with_something_behind_it() -> None:
    batch = batch_of(A, B)
    idle = batch.held_up(LATE)
    batch.start()
    in_time, late = batch.held_up(NEVER), batch.held_up(LATE)
    batch.take_todo()
    alone = batch.held_up(LATE)
    batch.end(Completed(A, "1"))
    over = batch.held_up(LATE)
    batch.add([C])
    batch.start()

    assert (idle, in_time, late, alone, over) == (False, False, True, False, False)
    assert batch.held_up(LATE), "a result waits"


class Looked(Batch):
    """A batch that counts how often the monitor looks, and is held up when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = 0
        self.late = False

    def held_up(self, seconds: float) -> bool:
        self.looks += 1
        return self.late


def looked_again(batch: Looked) -> None:
    before = batch.looks
    eventually(lambda: batch.looks >= before + 3)


def test_the_monitor_flushes_only_when_something_is_held_up() -> None:
    calls: list[Batch] = []
    monitor, batch = LongStepMonitor(0.0, calls.append), Looked()
    monitor.watch(batch)

    looked_again(batch)
    assert calls == []
    batch.late = True
    eventually(lambda: calls)

    monitor.watch(None)
    assert set(map(id, calls)) == {id(batch)}


def test_nobody_looks_at_a_batch_that_is_not_watched_any_more() -> None:
    first, second = Looked(), Looked()
    calls: list[Batch] = []
    monitor = LongStepMonitor(0.0, calls.append)
    monitor.watch(first)
    looked_again(first)
    monitor.watch(None)
    first.late = True
    looks = first.looks

    monitor.watch(second)
    looked_again(second)

    monitor.watch(None)
    assert (first.looks, calls) == (looks, [])


def test_what_broke_a_step_in_is_raised_once_where_it_is_asked_for() -> None:
    batch = Looked()
    batch.late = True

    def flush_early(_: Batch) -> None:
        batch.late = False
        raise ValueError("broken")

    monitor = LongStepMonitor(0.0, flush_early)
    monitor.raise_error()
    monitor.watch(batch)
    eventually(lambda: not batch.late)
    looked_again(batch)  # it lives on
    monitor.watch(None)

    with pytest.raises(ValueError, match="broken"):
        monitor.raise_error()
    monitor.raise_error()


def test_whoever_stops_the_monitor_waits_for_a_flush_under_way() -> None:
    said: list[str] = []
    inside, go_on = threading.Event(), threading.Event()

    def flush_early(_: Batch) -> None:
        inside.set()
        go_on.wait(10)
        said.append("stepped in")

    batch = Looked()
    batch.late = True
    monitor = LongStepMonitor(0.0, flush_early)
    monitor.watch(batch)
    assert inside.wait(10)
    stopping = threading.Thread(target=then(lambda: monitor.watch(None), lambda: said.append("stopped")))
    stopping.start()
    stopping.join(0.05)
    go_on.set()
    stopping.join(10)

    assert said == ["stepped in", "stopped"]


def then(*calls: Callable[[], object]) -> Callable[[], None]:
    def one_after_the_other() -> None:
        for call in calls:
            call()

    return one_after_the_other
