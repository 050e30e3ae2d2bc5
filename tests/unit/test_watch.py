from __future__ import annotations

import os
import signal
import threading
from uuid import UUID

import pytest

from app.engine import watch as watching
from app.engine.watch import Place, Ran, Running, Seat, Watch
from tests.support.children import forked
from tests.support.waiting import eventually

FIRST = Running(UUID(int=2**127 + 5), "charge", 3, 12.5)
OTHER = Running(UUID(int=7), "x" * 63, 2**31 - 1, 1e9)


def sit_as(watch: Watch, pid: int, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Take a slot as another process would."""
    with monkeypatch.context() as patch:
        patch.setattr(watching.os, "getpid", lambda: pid)
        return watch.sit()


def test_nobody_sits_at_first() -> None:
    watch = Watch()

    assert (list(watch.seats()), watch.stopping) == ([], False)


@pytest.mark.parametrize("running", [FIRST, OTHER], ids=["ascii", "longest"])
def test_what_a_forked_process_runs_is_seen(running: Running) -> None:
    watch = Watch()

    with forked(lambda: watch.sit().show(running)) as pid:
        [seat] = watch.seats()

    assert (seat.pid, seat.running) == (pid, running)
    assert running.key == (running.workflow_id, running.step)


def test_a_forked_process_sees_that_the_worker_stops() -> None:
    watch = Watch()

    def leave_when_told(_signum: int, _frame: object) -> None:
        if watch.stopping:
            place.clear()

    def work() -> None:
        nonlocal place
        place = watch.sit()
        place.show(FIRST)
        signal.signal(signal.SIGUSR1, leave_when_told)

    place = Place(watch._memory, 64, 0)
    with forked(work) as pid:
        watch.stop()
        os.kill(pid, signal.SIGUSR1)
        eventually(lambda: [seat.running for seat in watch.seats()] == [None])


def test_a_process_between_steps_keeps_its_seat() -> None:
    watch = Watch()
    place = watch.sit()

    place.show(FIRST)
    place.clear()

    [seat] = watch.seats()
    assert (seat.pid, seat.running) == (os.getpid(), None)


def test_a_process_that_sits_again_gets_its_own_seat_cleared() -> None:
    watch = Watch()
    watch.sit().show(FIRST)
    before = list(watch.seats())

    watch.sit()

    assert [(seat.index, seat.pid, seat.running) for seat in watch.seats()] == [
        (before[0].index, os.getpid(), None)
    ]


def test_a_shorter_name_leaves_nothing_of_a_longer_one() -> None:
    watch = Watch()
    place = watch.sit()

    place.show(OTHER)
    place.show(FIRST)

    assert [seat.running for seat in watch.seats()] == [FIRST]


def test_pids_that_share_a_slot_sit_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Watch()
    pids = (100, 100 + watching._SLOTS, 100 + 2 * watching._SLOTS)
    for pid in pids:
        sit_as(watch, pid, monkeypatch).show(Running(UUID(int=pid), "s", 1, 1.0))

    seen = {seat.pid: seat.running for seat in watch.seats()}

    assert {pid: running.workflow_id.int for pid, running in seen.items() if running} == {p: p for p in pids}


def test_a_freed_seat_is_nobodys_and_taken_again(monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Watch()
    sit_as(watch, 100, monkeypatch).show(FIRST)
    [seat] = watch.seats()

    watch.free(seat.index)
    gone = list(watch.seats())
    sit_as(watch, 100 + watching._SLOTS, monkeypatch)

    assert gone == []
    assert list(watch.seats()) == [Seat(seat.index, 100 + watching._SLOTS, None)]


def test_more_processes_than_seats_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Watch()
    for pid in range(1, watching._SLOTS + 1):
        sit_as(watch, pid, monkeypatch)

    with pytest.raises(RuntimeError, match="at most 1024 processes"):
        sit_as(watch, watching._SLOTS + 1, monkeypatch)


def test_a_seat_that_changes_while_it_is_read_is_left_for_the_next_look() -> None:
    watch = Watch()
    place = watch.sit()
    place.show(FIRST)
    read = watch._raw
    reads = 0

    def raw(index: int) -> bytes:
        nonlocal reads
        seen = read(index)
        if seen != watching._FREE:
            reads += 1
            place.show(OTHER if reads == 1 else FIRST)
        return seen

    watch._raw = raw  # type: ignore[method-assign]
    torn = list(watch.seats())
    watch._raw = read  # type: ignore[method-assign]

    assert torn == []
    assert [seat.running for seat in watch.seats()] == [FIRST]


class Watched(bytearray):
    """Memory that looks, after each write, at what a reader would take for running."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.seen: list[tuple[int, int, float, int]] = []

    def __setitem__(self, key: object, value: object) -> None:
        super().__setitem__(key, value)  # type: ignore[call-overload]
        self.seen.append(watching._SLOT.unpack(bytes(self))[:4])


def test_a_process_stopped_between_two_writes_shows_a_whole_attempt_or_none() -> None:
    memory = Watched(watching._SLOT.size)
    place = Place(memory, 0, 100)  # type: ignore[arg-type]
    for running in (FIRST, OTHER):
        place.show(running)
    place.clear()

    assert {pid for pid, *_ in memory.seen[1:]} == {100}
    assert [(kill_at, attempt) for _, flag, kill_at, attempt in memory.seen if flag] == [
        (FIRST.kill_at, FIRST.attempt),
        (OTHER.kill_at, OTHER.attempt),
    ]


def test_a_process_that_was_asked_to_end_says_since_when_whatever_it_runs() -> None:
    watch = Watch()
    place = watch.sit()

    place.leave(5.0)
    place.leave(9.0)
    place.show(FIRST)
    seen = list(watch.seats())
    place.clear()

    assert [(seat.running, seat.leaving_since) for seat in [*seen, *watch.seats()]] == [
        (FIRST, 5.0),
        (None, 5.0),
    ]
    assert (place.leaving, watch.stopping) == (True, False)


def test_threads_of_one_process_sit_side_by_side() -> None:
    watch = Watch()
    watch.sit().show(FIRST)
    other = threading.Thread(target=lambda: watch.sit().show(OTHER))
    other.start()
    other.join()

    assert {seat.pid for seat in watch.seats()} == {os.getpid()}
    assert sorted(seat.running.attempt for seat in watch.seats() if seat.running) == [3, 2**31 - 1]


def test_the_slot_of_a_process_that_had_our_pid_is_ours_and_forgets_that_it_was_leaving() -> None:
    watch = Watch()
    before = Watch()
    before._memory = watch._memory
    before.sit().leave(1.0)

    assert watch.sit().leaving is False
    assert [(seat.pid, seat.leaving_since) for seat in watch.seats()] == [(os.getpid(), None)]


def test_what_ran_is_seen_until_it_is_recorded() -> None:
    watch = Watch()
    place = watch.sit()
    place.show(FIRST)
    place.ended(FIRST.workflow_id, FIRST.step, FIRST.attempt)
    place.show(OTHER)
    place.ended(OTHER.workflow_id, OTHER.step, OTHER.attempt)
    place.show(FIRST)

    [both] = watch.seats()
    place.recorded([(OTHER.workflow_id, OTHER.step, OTHER.attempt)])
    place.clear()
    [one] = watch.seats()

    # What runs is told as that, even while it is noted already as what ran.
    assert (both.running, both.ran) == (FIRST, (Ran(OTHER.workflow_id, OTHER.step, OTHER.attempt),))
    assert (one.running, one.ran) == (None, (Ran(FIRST.workflow_id, FIRST.step, FIRST.attempt),))


def test_a_place_that_is_full_says_so_and_has_room_again() -> None:
    place = Watch().sit()
    keys = [(UUID(int=number), "s", 1) for number in range(watching._ENTRIES)]
    for key in keys:
        assert not place.is_full
        place.ended(*key)
    was_full = place.is_full

    place.recorded([*keys[:1], *keys[:1]])

    assert (was_full, place.is_full) == (True, False)


@pytest.mark.parametrize("by", ["free", "sit"])
def test_nothing_that_ran_is_left_to_the_next_process(by: str) -> None:
    watch = Watch()
    watch.sit().ended(UUID(int=1), "s", 1)
    [seat] = watch.seats()

    if by == "free":
        watch.free(seat.index)
    watch.sit()

    assert [seat.ran for seat in watch.seats()] == [()]
