"""What each process of a worker is doing, in memory that the worker's main process shares with its children.

The main process reads the table to find the step that a dead child ran and the child that overran its hard
limit. The children read from it that the worker is shutting down. The table is made before the first fork. It
needs no locks: each slot has one writer, and a reader takes a slot only when two reads agree.
"""

from __future__ import annotations

import mmap
import os
import struct
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from uuid import UUID

_SLOTS = 1024
_ATTEMPT = struct.Struct(
    "<ii d i 16s 64s"
)  # pid, running, kill at (monotonic seconds), attempt, workflow, step
_LEAVING = struct.Struct("<d")  # monotonic seconds since which the process is to end; 0: it is not
_SLOT = struct.Struct(_ATTEMPT.format + "d")
_RUNNING_AT = 4
_HEADER = 64
_FREE = bytes(_SLOT.size)
_ENTRY = struct.Struct("<ii 16s 64s")  # set, attempt, workflow, step
_ENTRIES = 256
_ROOM = _ENTRIES * _ENTRY.size
_BESIDE = _HEADER + _SLOTS * _SLOT.size
_NONE = bytes(_ROOM)


@dataclass(frozen=True, slots=True)
class Running:
    """The attempt a process is running."""

    workflow_id: UUID
    step: str
    attempt: int
    kill_at: float
    """Monotonic seconds after which the process is to be killed."""

    @property
    def key(self) -> tuple[UUID, str]:
        """The key of the step."""
        return (self.workflow_id, self.step)


@dataclass(frozen=True, slots=True)
class Ran:
    """An attempt that ran, and whose end only its process knows."""

    workflow_id: UUID
    step: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Slot:
    """One process, or thread of a pool without processes, as the main process sees it."""

    index: int
    pid: int
    running: Running | None
    leaving_since: float | None = None
    """Monotonic seconds since which the process was asked to end by itself; None: it was not."""
    ran: tuple[Ran, ...] = ()


class ProcessTable:
    """The shared memory of one worker."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _BESIDE + _SLOTS * _ROOM)
        self._lock = threading.Lock()
        self._taken: dict[tuple[int, int], int] = {}

    @property
    def stopping(self) -> bool:
        """True once the worker was asked to stop: claim nothing more."""
        return self._memory[0] == 1

    def stop(self) -> None:
        """Tell all processes that the worker is stopping."""
        self._memory[0] = 1

    def acquire(self) -> SlotWriter:
        """Take a free slot for this thread, or return the slot it has already.

        Raises:
            RuntimeError: more processes and threads than slots.
        """
        pid, thread = os.getpid(), threading.get_ident()
        with self._lock:
            index = self._taken.get((pid, thread))
            if index is None:
                index = self._taken[pid, thread] = self._free_slot(pid)
        self._forget(index)
        return SlotWriter(self._memory, _HEADER + index * _SLOT.size, pid)

    def slots(self) -> Iterator[Slot]:
        """Yield every process that took a slot, with what it runs now."""
        for index in range(_SLOTS):
            raw = self._raw(index)
            if raw == _FREE:
                continue
            pid, running, kill_at, attempt, workflow, step, leaving = _SLOT.unpack(raw)
            ran = tuple(self._ran(index))
            if not running:
                yield Slot(index, pid, None, leaving or None, ran)
            elif raw == self._raw(index):
                now = Running(UUID(bytes=workflow), _name(step), attempt, kill_at)
                # A process may die between two writes: an end is noted before the flag is cleared.
                before = tuple(attempt for attempt in ran if (attempt.workflow_id, attempt.step) != now.key)
                yield Slot(index, pid, now, leaving or None, before)

    def free(self, index: int) -> None:
        """Free the slot of a process that is dead."""
        self._forget(index)
        start = _HEADER + index * _SLOT.size
        self._memory[start : start + _SLOT.size] = _FREE

    def _free_slot(self, pid: int) -> int:
        """Return the index of a free slot, or of one left by an earlier process with our pid."""
        ours = {index for (owner, _), index in self._taken.items() if owner == pid}
        for step in range(_SLOTS):
            index = (pid + step) % _SLOTS
            owner = _SLOT.unpack(self._raw(index))[0]
            if owner == 0 or (owner == pid and index not in ours):
                self._memory[_HEADER + index * _SLOT.size : _HEADER + (index + 1) * _SLOT.size] = _FREE
                return index
        raise RuntimeError(f"a worker has at most {_SLOTS} processes")

    def _ran(self, index: int) -> Iterator[Ran]:
        """Yield the ended attempts that the memory holds now; reliable only for a dead process."""
        start = _BESIDE + index * _ROOM
        for is_set, attempt, workflow, step in _ENTRY.iter_unpack(self._memory[start : start + _ROOM]):
            if is_set:
                yield Ran(UUID(bytes=workflow), _name(step), attempt)

    def _forget(self, index: int) -> None:
        start = _BESIDE + index * _ROOM
        if self._memory[start : start + _ROOM] != _NONE:
            self._memory[start : start + _ROOM] = _NONE

    def _raw(self, index: int) -> bytes:
        start = _HEADER + index * _SLOT.size
        return self._memory[start : start + _SLOT.size]


class SlotWriter:
    """The slot of one process or thread; nobody else writes there.

    The writer may be stopped between any two writes, for longer than two reads take. So `running` is 0 while
    the other fields are written: a half-written attempt is never read as a running one, and its process is
    never killed for it.
    """

    def __init__(self, memory: mmap.mmap, start: int, pid: int) -> None:
        self._memory = memory
        self._start = start
        self._pid = pid
        self._flag = start + _RUNNING_AT
        self._entries = _BESIDE + (start - _HEADER) // _SLOT.size * _ROOM
        # The place freed last is taken first: a process touches as few pages as it can.
        self._free = list(range(_ENTRIES))
        self._places: dict[tuple[int, str, int], int] = {}
        self._leaving = start + _ATTEMPT.size
        self.clear()
        _ATTEMPT.pack_into(memory, start, pid, 0, 0.0, 0, bytes(16), b"")

    @property
    def leaving(self) -> bool:
        """True once this process was asked to end: claim nothing more."""
        return bool(_LEAVING.unpack_from(self._memory, self._leaving)[0])

    def leave(self, now: float) -> None:
        """Note that this process was asked to end at `now` (monotonic seconds). The first call counts."""
        if not self.leaving:
            _LEAVING.pack_into(self._memory, self._leaving, now)

    def show(self, running: Running) -> None:
        """Say which attempt runs from now on."""
        self._memory[self._flag] = 0
        _ATTEMPT.pack_into(
            self._memory,
            self._start,
            self._pid,
            0,
            running.kill_at,
            running.attempt,
            running.workflow_id.bytes,
            running.step.encode(),
        )
        self._memory[self._flag] = 1

    @property
    def is_full(self) -> bool:
        """Whether there is no room for another ended attempt: record some first."""
        return not self._free

    def ended(self, workflow_id: UUID, step: str, attempt: int) -> None:
        """Say that the attempt ran and is not recorded yet, and that nothing runs."""
        if self._free:
            number = self._free.pop()
            at = self._entries + number * _ENTRY.size
            _ENTRY.pack_into(self._memory, at, 0, attempt, workflow_id.bytes, step.encode())
            self._memory[at] = 1
            # By the integer of the id: Python code hashes a UUID, and that would be several times a step.
            self._places[workflow_id.int, step, attempt] = number
        self.clear()

    def recorded(self, attempts: Iterable[tuple[UUID, str, int]]) -> None:
        """Say that these are recorded; the monitor's thread may say so, too."""
        for workflow_id, step, attempt in attempts:
            number = self._places.pop((workflow_id.int, step, attempt), None)
            if number is not None:
                self._memory[self._entries + number * _ENTRY.size] = 0
                self._free.append(number)

    def clear(self) -> None:
        """Say that nothing runs."""
        self._memory[self._flag] = 0


def _name(step: bytes) -> str:
    return step.rstrip(b"\0").decode()
