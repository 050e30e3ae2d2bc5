"""Answer a bell: claim, run and settle until the queue is dry or the time slice is over.

Success path: one `claim`, then one `settle` a batch, which also returns the next claims. The process may die
between any two lines: the rescue sweep takes back what it holds.

The parts: `claimer` claims and gives back, `batch_runner` runs, `recorder` records, and `drain_state` is what
they share.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from remand.handler import Handlers
from remand_app.config import Settings
from remand_app.domain.errors import DatabaseUnreachable
from remand_app.engine import attempt_ends
from remand_app.engine.attempt_counter import AttemptCounter
from remand_app.engine.audience import Audience
from remand_app.engine.batch import Batch
from remand_app.engine.batch_runner import BatchRunner
from remand_app.engine.batch_sizer import BatchSizer
from remand_app.engine.bell import Bell
from remand_app.engine.breakers import Breakers
from remand_app.engine.claimer import Claimer
from remand_app.engine.drain_state import Drained, DrainState, pause_seconds
from remand_app.engine.long_step_monitor import LongStepMonitor
from remand_app.engine.process_table import ProcessTable
from remand_app.engine.recorder import Recorder
from remand_app.engine.routing import Routing
from remand_app.engine.run import Runner
from remand_app.store.run_queue import RunQueue
from remand_app.telemetry import log

FOLLOW_SECONDS = 1.0
"""How long a drain continues with the children of its own steps before they queue up with all others."""


class Executor:
    """Drains queues in one process, one drain at a time; keeps batch sizes and connections in between."""

    def __init__(
        self,
        *,
        queue: RunQueue,
        handlers: Handlers,
        routing: Routing,
        bell: Bell,
        settings: Settings,
        breakers: Breakers,
        counter: AttemptCounter,
        processes: ProcessTable | None = None,
        audience: Audience | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """Take a free slot in `processes`; None: no main process watches this one.

        `audience`: notified of every attempt.
        """
        self._state = DrainState(
            queue=queue, bell=bell, settings=settings, counter=counter, processes=processes, pause=pause
        )
        self._sizer = BatchSizer(settings.batch_size, settings.batch_budget_seconds)
        self._runner = Runner(handlers, queue, settings, routing.book, self._state.slot)
        self._batch_runner = BatchRunner(self._state, self._runner, self._sizer, audience)
        self._monitor = LongStepMonitor(settings.flush_after_seconds, self._flush_early)
        self._recorder = Recorder(self._state, routing, breakers, self._runner.refused)
        self._claimer = Claimer(self._state, self._recorder, self._sizer, self._monitor)

    def run(self, queue: str) -> Drained:
        """Drain a queue. Transaction: many, each its own. Never raises for a handler's failure.

        Raises:
            DatabaseUnreachable: the database is away while the worker stops; the rescue sweep takes back.
        """
        state = self._state
        state.report = report = Drained(queue)
        started = time.monotonic()
        self._monitor.watch(state.batch)
        try:
            with self._runner.ready():
                self._drain(queue, started + state.settings.drain_slice_seconds)
        except BaseException as error:
            # The boundary of the drain: whatever failed, results must not wait for their lease to end.
            state.doubtful = True
            self._abandon(error)
            raise
        finally:
            self._monitor.watch(None)
            self._claimer.give_back(state.batch.take_todo())
        report.seconds = time.monotonic() - started
        log("drain.ended", **report.fields())
        return report

    def _drain(self, queue: str, until: float) -> None:
        self._claimer.reconcile()
        self._record_kept(queue)
        self._rounds(queue, until)
        self._retry_forbidden(queue, until)

    def _rounds(self, queue: str, until: float) -> None:
        """Claim, run and record until the queue is dry, the time is over or nothing can be recorded."""
        state, batch, claimer, recorder = self._state, self._state.batch, self._claimer, self._recorder
        if state.is_stuck():
            return
        claimer.claim(queue)
        while batch.waiting():
            self._batch_runner.run(queue)
            self._monitor.raise_error()
            last = self._is_over(until)
            queues_up = claimer.seconds_since() >= FOLLOW_SECONDS
            k = 0 if last or queues_up else max(0, self._sizer.size(queue) - batch.waiting())
            claimer.take(recorder.record(batch.take_ended(), queue, k).claims)
            claimer.reconcile()
            if last or state.is_stuck():
                self._pass_on(queue)
                break
            if not batch.waiting() and (claimer.maybe_more or queues_up):
                claimer.claim(queue)
            if not batch.waiting() and recorder.settle_contended():
                claimer.claim(queue)
        recorder.settle_contended()

    def _record_kept(self, queue: str) -> None:
        self._recorder.awaits_grant = False
        self._recorder.record(self._state.batch.take_kept(), queue, 0)

    def _retry_forbidden(self, queue: str, until: float) -> None:
        """Settle the results that a missing right holds back, and do what else becomes due meanwhile."""
        tries = 0
        while self._recorder.awaits_grant and not self._is_over(until):
            self._state.pause(pause_seconds(tries))
            tries += 1
            self._record_kept(queue)
            self._rounds(queue, until)
        if self._recorder.awaits_grant:
            self._pass_on(queue)

    def _abandon(self, error: BaseException) -> None:
        """Record what ended. A run that we broke off has no known end; it is never a failure of its step."""
        if isinstance(error, DatabaseUnreachable):
            return
        self._monitor.watch(None)
        state = self._state
        ended = state.batch.take_ended()
        if isinstance(error, Exception):
            why = f"it was broken off: {attempt_ends.told(error)}"
            for claim in state.batch.take_current():
                ended.bad.append(attempt_ends.lost(claim, state.queue.worker, why))
        if ended:
            self._recorder.record(ended, state.report.queue, 0)

    def _flush_early(self, batch: Batch) -> None:
        todo = batch.take_todo()
        try:
            self._recorder.record(batch.take_ended(), self._state.report.queue, 0)
            self._claimer.give_back(todo)
        except Exception:
            batch.add(todo)
            raise

    def _pass_on(self, queue: str) -> None:
        state = self._state
        self._claimer.give_back(state.batch.take_todo())
        others_go_on = state.processes is None or not state.processes.stopping
        if others_go_on and not state.is_stuck():
            state.bell.ring([queue])

    def _is_over(self, until: float) -> bool:
        return self._state.is_stopping() or time.monotonic() >= until
