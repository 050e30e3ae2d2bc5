from __future__ import annotations

import os
import signal
import threading
from uuid import UUID

import pytest

from remand_app.engine import process_table
from remand_app.engine.process_table import ProcessTable, Ran, Running, Slot, SlotWriter
from tests.support.children import forked
from tests.support.waiting import eventually

FIRST = Running(UUID(int=2**127 + 5), "charge", 3, 12.5)
OTHER = Running(UUID(int=7), "x" * 63, 2**31 - 1, 1e9)


def acquire_as(processes: ProcessTable, pid: int, monkeypatch: pytest.MonkeyPatch) -> SlotWriter:
    """Take a slot as another process would."""
    with monkeypatch.context() as patch:
        patch.setattr(process_table.os, "getpid", lambda: pid)
        return processes.acquire()


def test_nobody_sits_at_first() -> None:
    processes = ProcessTable()

    assert (list(processes.slots()), processes.stopping) == ([], False)


@pytest.mark.parametrize("running", [FIRST, OTHER], ids=["ascii", "longest"])
def test_what_a_forked_process_runs_is_seen(running: Running) -> None:
    processes = ProcessTable()

    with forked(lambda: processes.acquire().show(running)) as pid:
        [slot] = processes.slots()

    assert (slot.pid, slot.running) == (pid, running)
    assert running.key == (running.workflow_id, running.step)


def test_a_forked_process_sees_that_the_worker_stops() -> None:
    processes = ProcessTable()

    def leave_when_told(_signum: int, _frame: object) -> None:
        if processes.stopping:
            slot.clear()

    def work() -> None:
        nonlocal slot
        slot = processes.acquire()
        slot.show(FIRST)
        signal.signal(signal.SIGUSR1, leave_when_told)

    slot = SlotWriter(processes._memory, 64, 0)
    with forked(work) as pid:
        processes.stop()
        os.kill(pid, signal.SIGUSR1)
        eventually(lambda: [slot.running for slot in processes.slots()] == [None])


def test_a_process_between_steps_keeps_its_seat() -> None:
    processes = ProcessTable()
    slot = processes.acquire()

    slot.show(FIRST)
    slot.clear()

    [slot] = processes.slots()
    assert (slot.pid, slot.running) == (os.getpid(), None)


def test_a_process_that_sits_again_gets_its_own_seat_cleared() -> None:
    processes = ProcessTable()
    processes.acquire().show(FIRST)
    before = list(processes.slots())

    processes.acquire()

    assert [(slot.index, slot.pid, slot.running) for slot in processes.slots()] == [
        (before[0].index, os.getpid(), None)
    ]


def test_a_shorter_name_leaves_nothing_of_a_longer_one() -> None:
    processes = ProcessTable()
    slot = processes.acquire()

    slot.show(OTHER)
    slot.show(FIRST)

    assert [slot.running for slot in processes.slots()] == [FIRST]


def test_pids_that_share_a_slot_sit_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    processes = ProcessTable()
    pids = (100, 100 + process_table._SLOTS, 100 + 2 * process_table._SLOTS)
    for pid in pids:
        acquire_as(processes, pid, monkeypatch).show(Running(UUID(int=pid), "s", 1, 1.0))

    seen = {slot.pid: slot.running for slot in processes.slots()}

    assert {pid: running.workflow_id.int for pid, running in seen.items() if running} == {p: p for p in pids}


def test_a_freed_seat_is_nobodys_and_taken_again(monkeypatch: pytest.MonkeyPatch) -> None:
    processes = ProcessTable()
    acquire_as(processes, 100, monkeypatch).show(FIRST)
    [slot] = processes.slots()

    processes.free(slot.index)
    gone = list(processes.slots())
    acquire_as(processes, 100 + process_table._SLOTS, monkeypatch)

    assert gone == []
    assert list(processes.slots()) == [Slot(slot.index, 100 + process_table._SLOTS, None)]


def test_more_processes_than_seats_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    processes = ProcessTable()
    for pid in range(1, process_table._SLOTS + 1):
        acquire_as(processes, pid, monkeypatch)

    with pytest.raises(RuntimeError, match="at most 1024 processes"):
        acquire_as(processes, process_table._SLOTS + 1, monkeypatch)


def test_a_seat_that_changes_while_it_is_read_is_left_for_the_next_look() -> None:
    processes = ProcessTable()
    slot = processes.acquire()
    slot.show(FIRST)
    read = processes._raw
    reads = 0

    def raw(index: int) -> bytes:
        nonlocal reads
        seen = read(index)
        if seen != process_table._FREE:
            reads += 1
            slot.show(OTHER if reads == 1 else FIRST)
        return seen

    processes._raw = raw  # type: ignore[method-assign]
    torn = list(processes.slots())
    processes._raw = read  # type: ignore[method-assign]

    assert torn == []
    assert [slot.running for slot in processes.slots()] == [FIRST]


class Watched(bytearray):
    """Memory that looks, after each write, at what a reader would take for running."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.seen: list[tuple[int, int, float, int]] = []

    def __setitem__(self, key: object, value: object) -> None:
        super().__setitem__(key, value)  # type: ignore[call-overload]
        self.seen.append(process_table._SLOT.unpack(bytes(self))[:4])


def test_a_process_stopped_between_two_writes_shows_a_whole_attempt_or_none() -> None:
    memory = Watched(process_table._SLOT.size)
    slot = SlotWriter(memory, 0, 100)  # type: ignore[arg-type]
    for running in (FIRST, OTHER):
        slot.show(running)
    slot.clear()

    assert {pid for pid, *_ in memory.seen[1:]} == {100}
    assert [(kill_at, attempt) for _, flag, kill_at, attempt in memory.seen if flag] == [
        (FIRST.kill_at, FIRST.attempt),
        (OTHER.kill_at, OTHER.attempt),
    ]


def test_a_process_that_was_asked_to_end_says_since_when_whatever_it_runs() -> None:
    processes = ProcessTable()
    slot = processes.acquire()

    slot.leave(5.0)
    slot.leave(9.0)
    slot.show(FIRST)
    seen = list(processes.slots())
    slot.clear()

    assert [(slot.running, slot.leaving_since) for slot in [*seen, *processes.slots()]] == [
        (FIRST, 5.0),
        (None, 5.0),
    ]
    assert (slot.leaving, processes.stopping) == (True, False)


def test_threads_of_one_process_sit_side_by_side() -> None:
    processes = ProcessTable()
    processes.acquire().show(FIRST)
    other = threading.Thread(target=lambda: processes.acquire().show(OTHER))
    other.start()
    other.join()

    assert {slot.pid for slot in processes.slots()} == {os.getpid()}
    assert sorted(slot.running.attempt for slot in processes.slots() if slot.running) == [3, 2**31 - 1]


def test_the_slot_of_a_process_that_had_our_pid_is_ours_and_forgets_that_it_was_leaving() -> None:
    processes = ProcessTable()
    before = ProcessTable()
    before._memory = processes._memory
    before.acquire().leave(1.0)

    assert processes.acquire().leaving is False
    assert [(slot.pid, slot.leaving_since) for slot in processes.slots()] == [(os.getpid(), None)]


def test_what_ran_is_seen_until_it_is_recorded() -> None:
    processes = ProcessTable()
    slot = processes.acquire()
    slot.show(FIRST)
    slot.ended(FIRST.workflow_id, FIRST.step, FIRST.attempt)
    slot.show(OTHER)
    slot.ended(OTHER.workflow_id, OTHER.step, OTHER.attempt)
    slot.show(FIRST)

    [both] = processes.slots()
    slot.recorded([(OTHER.workflow_id, OTHER.step, OTHER.attempt)])
    slot.clear()
    [one] = processes.slots()

    # What runs is told as that, even while it is noted already as what ran.
    assert (both.running, both.ran) == (FIRST, (Ran(OTHER.workflow_id, OTHER.step, OTHER.attempt),))
    assert (one.running, one.ran) == (None, (Ran(FIRST.workflow_id, FIRST.step, FIRST.attempt),))


def test_a_place_that_is_full_says_so_and_has_room_again() -> None:
    slot = ProcessTable().acquire()
    keys = [(UUID(int=number), "s", 1) for number in range(process_table._ENTRIES)]
    for key in keys:
        assert not slot.is_full
        slot.ended(*key)
    was_full = slot.is_full

    slot.recorded([*keys[:1], *keys[:1]])

    assert (was_full, slot.is_full) == (True, False)


@pytest.mark.parametrize("by", ["free", "acquire"])
def test_nothing_that_ran_is_left_to_the_next_process(by: str) -> None:
    processes = ProcessTable()
    processes.acquire().ended(UUID(int=1), "s", 1)
    [slot] = processes.slots()

    if by == "free":
        processes.free(slot.index)
    processes.acquire()

    assert [slot.ran for slot in processes.slots()] == [()]
