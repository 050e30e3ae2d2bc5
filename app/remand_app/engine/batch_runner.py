"""Run the claims of a process one after the other, until a result must be recorded."""

from __future__ import annotations

import time
from dataclasses import replace

from remand_app.engine import attempt_ends
from remand_app.engine.audience import Audience
from remand_app.engine.batch_sizer import BatchSizer
from remand_app.engine.drain_state import DrainState
from remand_app.engine.run import Abandoned, End, Interrupted, Runner
from remand_app.store.claims import Claim, Completed, EndedBadly
from remand_app.store.database import NOT_NOW
from remand_app.telemetry import metrics_buffer
from remand_app.telemetry.metrics import BATCH_STEPS, STEP_SECONDS


class BatchRunner:
    """Runs the claims of the batch and notes there how they ended."""

    def __init__(
        self, state: DrainState, runner: Runner, sizer: BatchSizer, audience: Audience | None = None
    ) -> None:
        """`audience`: notified of every attempt."""
        self._state = state
        self._runner = runner
        self._sizer = sizer
        self.audience = audience

    def run(self, queue: str) -> None:
        """Run the claims; stop early when a result must be committed at once or the worker stops."""
        state = self._state
        ran = 0
        spent = 0.0
        while not state.is_stopping() and (claim := state.batch.start()) is not None:
            spent += self._run_one(claim)
            ran += 1
            is_full = state.slot is not None and state.slot.is_full
            if claim.commit_each or spent > state.settings.flush_after_seconds or is_full:
                break
        self._sizer.note(queue, spent, ran)
        if ran:
            state.report.batches += 1
            metrics_buffer.observe(BATCH_STEPS, ran)

    def _run_one(self, claim: Claim) -> float:
        """Run a claim and note how it ended; return its duration in seconds."""
        begun = time.monotonic()
        end = self._end_of(claim)
        # First of all, so that the end is in the shared batch and not in one thread only.
        self._state.batch.end(end if isinstance(end, Completed | EndedBadly) else None)
        if isinstance(end, Interrupted):
            self._interrupt(claim)
        took = time.monotonic() - begun
        metrics_buffer.observe(STEP_SECONDS, took, claim.handler, _outcome(end))
        self._state.counter.count(claim)
        return took

    def _end_of(self, claim: Claim) -> End:
        if isinstance(claim.parents, str):
            # Done here, where waiting for an absent database costs the step nothing.
            try:
                claim = replace(claim, parents=self._state.call(lambda: self._state.queue.parents(claim)))
            except NOT_NOW:
                raise
            except Exception as error:  # noqa: BLE001 - as in a claim: the other steps must be run
                return attempt_ends.unreadable(claim, self._state.queue.worker, error)
        if self.audience is not None:
            self.audience.begin(claim)
        end = self._runner.run(claim)
        if self.audience is not None:
            self.audience.end(end.failure.error_class if isinstance(end, EndedBadly) else None)
        return end

    def _interrupt(self, claim: Claim) -> None:
        state, attempt = self._state, (claim.workflow_id, claim.step, claim.attempt)
        state.ring(state.call(lambda: state.queue.interrupt([attempt])))
        if state.slot is not None:
            state.slot.recorded([attempt])
        state.note(given_back=1)


def _outcome(end: End) -> str:
    match end:
        case Completed():
            return "complete"
        case EndedBadly():
            return end.outcome
        case Abandoned():
            return "abandoned"
        case Interrupted():
            return "interrupted"
