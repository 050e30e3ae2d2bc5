"""Watch the processes of a worker: report the attempt of a dead one, kill one that overran its limit.

Runs in the worker's main process. Only the attempt that was running is reported; claims that the dead process
had not started go back uncounted. A process is dead when the kernel says so, not when it is silent.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from uuid import UUID

from remand.errors import StepTimeout, WorkerLost
from remand.failure import Failure, capture
from remand_app.domain.queues import queue_of
from remand_app.engine import attempt_ends
from remand_app.engine.bell import Bell
from remand_app.engine.process_table import ProcessTable, Ran, Running, Slot
from remand_app.store.claims import EndedBadly
from remand_app.store.database import NOT_NOW
from remand_app.store.run_queue import RunQueue
from remand_app.telemetry import log
from remand_app.telemetry.metrics import LOST_ATTEMPTS
from remand_app.telemetry.metrics_buffer import count

GONE = "it is gone"
_RAN = "the step had run, and its process died before it was recorded how it ended"


class ChildSupervisor:
    """The main process's view of its children."""

    def __init__(
        self,
        processes: ProcessTable,
        queue: RunQueue,
        bell: Bell,
        route: Callable[[EndedBadly], EndedBadly],
        how_ended: Callable[[int], str | None] | None = None,
        *,
        grace_seconds: float = 0.0,
    ) -> None:
        """`route`: gives a bad end its retry queue; `how_ended`: as `end_of_process`; tests replace it.

        `grace_seconds`: how long a process that was asked to end by itself may still run its step.
        """
        self._processes = processes
        self._queue = queue
        self._bell = bell
        self._route = route
        self._how_ended = how_ended or end_of_process
        self._grace = grace_seconds
        self._killed: dict[int, Running] = {}
        self._interrupted: dict[int, Running] = {}

    def look(self) -> int:
        """Check all processes once; return how many dead ones were dealt with. Idempotent.

        Raises:
            DatabaseUnreachable: the dead stay in their slots; look again.
            Busy: as that.
        """
        dealt = 0
        now = time.monotonic()
        for slot in list(self._processes.slots()):
            ended = self._how_ended(slot.pid)
            if ended is not None:
                self._bury(slot, ended)
                dealt += 1
            elif slot.running is not None and now >= slot.running.kill_at:
                self._kill(slot, slot.running)
            elif slot.leaving_since is not None and now >= slot.leaving_since + self._grace:
                self._interrupt(slot)
        return dealt

    def interrupt_all(self) -> None:
        """Kill the processes that still run a step when a shutdown can wait no longer; count no attempt."""
        for slot in self._processes.slots():
            self._interrupt(slot)

    def runs_here(self) -> bool:
        """Return whether a step runs in this process itself, where only the process's end interrupts it."""
        return any(slot.running is not None and slot.pid == os.getpid() for slot in self._processes.slots())

    def close(self) -> None:
        """End running attempts as interrupted and give all claims back; the children must be dead or idle."""
        slots = list(self._processes.slots())
        cut = [
            _key(attempt) for slot in slots for attempt in (*slot.ran, slot.running) if attempt is not None
        ]
        rung = self._queue.interrupt(cut) if cut else []
        rung += self._queue.give_back_of(None)
        self._bell.ring(rung)
        if rung:
            log("claims.given_back", queue=",".join(sorted(set(rung))), count=len(cut), reason="shutdown")

    def _kill(self, slot: Slot, running: Running) -> None:
        if slot.pid == os.getpid() or self._killed.get(slot.pid) == running:
            # A pool without processes of its own cannot be interrupted: the lease ends the attempt.
            return
        self._killed[slot.pid] = running
        os.kill(slot.pid, signal.SIGKILL)
        log(
            "step.killed",
            workflow_id=str(running.workflow_id),
            step=running.step,
            attempt=running.attempt,
            pid=slot.pid,
        )

    def _interrupt(self, slot: Slot) -> None:
        if slot.running is not None and slot.pid != os.getpid() and slot.pid not in self._interrupted:
            self._interrupted[slot.pid] = slot.running
            os.kill(slot.pid, signal.SIGKILL)

    def _bury(self, slot: Slot, ended: str) -> None:
        running = () if slot.running is None else (slot.running,)
        cut: tuple[Ran | Running, ...] = ()
        if slot.pid in self._interrupted:
            # The process may have started another step before it was killed; then we killed that step.
            cut = (*slot.ran, *running)
        elif slot.leaving_since is not None:
            cut = slot.ran
        rung = self._queue.interrupt([_key(attempt) for attempt in cut]) if cut else []
        rung += self._fail(slot, [attempt for attempt in (*slot.ran, *running) if attempt not in cut], ended)
        but = [(attempt.workflow_id, attempt.step) for attempt in (*slot.ran, *running)]
        rung += self._queue.give_back_of(slot.pid, but=but)
        self._processes.free(slot.index)
        self._killed.pop(slot.pid, None)
        self._interrupted.pop(slot.pid, None)
        self._bell.ring(rung)

    def _fail(self, slot: Slot, attempts: Sequence[Ran | Running], ended: str) -> list[str]:
        """Record the running and unrecorded attempts of the dead process; return the queues that got work."""
        ends = []
        for attempt in attempts:
            if attempt != slot.running:
                ends.append(self._lost(attempt, f"{_RAN}: {ended}"))
                continue
            end = self._end(slot.pid, slot.running, ended)
            # A lost process says nothing about the step: as in the rescue sweep, no template decides on it.
            ends.append(self._route(end) if end.outcome == "timed_out" else end)
        if not ends:
            return []
        # An attempt that cannot be recorded keeps its lease: the rescue sweep finds it then.
        counted, _ = attempt_ends.fail(lambda some: self._queue.fail(some, by="guard"), ends, away=NOT_NOW)
        for end in counted.values():
            count(LOST_ATTEMPTS, "process" if end.outcome == "lost" else "timeout")
            log(
                "worker.child_lost",
                workflow_id=str(end.workflow_id),
                step=end.step,
                attempt=end.attempt,
                pid=slot.pid,
                reason=ended,
            )
        return sorted({queue_of(end.policy) for end in counted.values()})

    def _end(self, pid: int, running: Running, ended: str) -> EndedBadly:
        if self._killed.get(pid) != running:
            return self._lost(running, f"the process that ran the step died: {ended}")
        failure = capture(StepTimeout("the step ran past its timeout and its grace; its process was killed"))
        return self._ended_badly(running, "timed_out", failure, failure.classification.policy)

    def _lost(self, ran: Ran | Running, why: str) -> EndedBadly:
        return self._ended_badly(ran, "lost", capture(WorkerLost(why)), "immediate")

    def _ended_badly(self, ran: Ran | Running, outcome: str, failure: Failure, policy: str) -> EndedBadly:
        return EndedBadly(
            ran.workflow_id,
            ran.step,
            ran.attempt,
            self._queue.worker,
            outcome,
            failure,
            policy,
        )


def _key(attempt: Ran | Running) -> tuple[UUID, str, int]:
    return (attempt.workflow_id, attempt.step, attempt.attempt)


def end_of_process(pid: int) -> str | None:
    """Return how a child of this process ended ("SIGKILL", "exit status 3"), None while it lives.

    Does not reap the child: Celery's pool does. Once a child is reaped, nobody can tell how it ended.
    """
    try:
        seen = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None if _is_alive(pid) else GONE
    if seen is None:
        return None
    if seen.si_code == os.CLD_EXITED:
        return f"exit status {seen.si_status}"
    return signal.Signals(seen.si_status).name


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
