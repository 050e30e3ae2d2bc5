"""Claim steps for a process, and give back the steps it does not start."""

from __future__ import annotations

import time

from remand_app.engine import attempt_ends
from remand_app.engine.batch import Ended
from remand_app.engine.batch_sizer import BatchSizer
from remand_app.engine.drain_state import DrainState
from remand_app.engine.long_step_monitor import LongStepMonitor
from remand_app.engine.recorder import Recorder
from remand_app.store.claims import Claim
from remand_app.store.database import NOT_NOW
from remand_app.telemetry import log, metrics_buffer
from remand_app.telemetry.metrics import CLAIM_SECONDS, CLAIM_WAIT_SECONDS


class Claimer:
    """Fills the batch of a process with claims, and gives back those that others should run."""

    def __init__(
        self, state: DrainState, recorder: Recorder, sizer: BatchSizer, monitor: LongStepMonitor
    ) -> None:
        self._state = state
        self._recorder = recorder
        self._sizer = sizer
        self._monitor = monitor
        self._claimed_at = 0.0
        self.maybe_more = False
        """Whether the queue may hold more than the last claim brought."""

    def claim(self, queue: str) -> None:
        """Claim what is due. Fewer claims than asked for: the queue is dry; later work brings a bell."""
        state = self._state
        if state.is_stopping():
            # This worker may hear the bell for steps that it gave back: a step claimed now would never end.
            return
        k = self._sizer.size(queue)
        self._claimed_at = time.monotonic()
        claims = self._claim_up_to(queue, k)
        metrics_buffer.observe(CLAIM_SECONDS, self.seconds_since())
        for claim in claims:
            metrics_buffer.observe(CLAIM_WAIT_SECONDS, claim.waited_seconds, queue)
        # A suspect (a step attempted before) is claimed alone, however many steps wait behind it.
        self.maybe_more = len(claims) == k or any(claim.attempt > 1 for claim in claims)
        state.note(claimed=len(claims))
        self.take(claims)
        self.reconcile()
        if len(claims) == k and not state.report.rung:
            # A full claim suggests more work than one process should do: wake one more, which does the same.
            state.ring([queue])

    def seconds_since(self) -> float:
        """Return how long ago the last claim began."""
        return time.monotonic() - self._claimed_at

    def take(self, claims: list[Claim]) -> None:
        """Put claims into the batch."""
        self._state.batch.add(claims)
        self._state.call(lambda: self._state.counter.learn(claims))

    def give_back(self, claims: list[Claim]) -> None:
        """Give back claims that were not started."""
        state = self._state
        if not claims:
            return
        state.ring(state.call(lambda: state.queue.give_back(claims)))
        state.note(given_back=len(claims))
        log("claims.given_back", queue=state.report.queue, count=len(claims))

    def reconcile(self) -> None:
        """Give back claims whose answer was lost; in the main thread, between batches.

        The monitor must be idle meanwhile: ends that it is recording are in no batch.
        """
        state = self._state
        if not state.doubtful:
            return
        self._monitor.watch(None)
        state.doubtful = False
        known = state.batch.held()
        state.ring(state.call(lambda: state.queue.give_back_unknown(known)))
        self._monitor.watch(state.batch)

    def _claim_up_to(self, queue: str, k: int) -> list[Claim]:
        state = self._state
        try:
            return state.call(lambda: state.queue.claim(queue, k))
        except NOT_NOW:
            raise
        except Exception as error:  # noqa: BLE001 - whatever one step breaks in a claim: the others must be run
            # The claim may have been made, and only its answer could not be read.
            state.doubtful = True
            self.reconcile()
            log("claim.divided", queue=queue, error=attempt_ends.told(error))
            return self._claim_first(queue)

    def _claim_first(self, queue: str) -> list[Claim]:
        """Claim the first step alone: an unreadable one becomes a failure, an unclaimable one waits."""
        state = self._state
        try:
            head = state.call(lambda: state.queue.claim_head(queue))
        except NOT_NOW:
            raise
        except Exception as error:
            if not self._put_off_first(queue, error):
                raise
            return []
        if head is None:
            return []
        try:
            return [state.call(lambda: state.queue.read(head))]
        except NOT_NOW:
            raise
        except Exception as error:  # noqa: BLE001 - as above
            state.note(claimed=1)
            unreadable = attempt_ends.unreadable(head, state.queue.worker, error)
            self._recorder.record(Ended(bad=[unreadable]), queue, 0)
            state.ring([queue])
            return []

    def _put_off_first(self, queue: str, error: Exception) -> bool:
        state = self._state
        put_off = state.call(lambda: state.queue.claim_head(queue, postpone=True))
        if put_off is None:
            return False
        log(
            "step.put_off",
            workflow_id=str(put_off.workflow_id),
            step=put_off.step,
            error=attempt_ends.told(error),
        )
        state.ring([queue])
        return True
