"""Record the results of a process: settle successes, send failures to their queues, keep what is left."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

from remand_app.domain.errors import Busy, ValueRefused
from remand_app.domain.queues import queue_of
from remand_app.engine import attempt_ends
from remand_app.engine.attempt_ends import Key
from remand_app.engine.batch import Ended
from remand_app.engine.breakers import Breakers
from remand_app.engine.drain_state import BUSY_TRIES, DrainState
from remand_app.engine.routing import Routing
from remand_app.engine.unclassified import list_unknown
from remand_app.store.claims import Claim, Completed, EndedBadly, Settled
from remand_app.store.database import NOT_NOW
from remand_app.telemetry import log, metrics_buffer
from remand_app.telemetry.metrics import FAILED_ATTEMPTS, SETTLE_SECONDS

PARKED_AT_ONCE = 1_000
"""Most parked results that one call applies, of its own workflows or of others."""


class Recorder:
    """Records the ends of a process's attempts. Both threads of an executor may call it."""

    def __init__(
        self,
        state: DrainState,
        routing: Routing,
        breakers: Breakers,
        refused: Callable[[Claim, ValueRefused], EndedBadly],
    ) -> None:
        """`refused`: makes a failure of a result that Postgres cannot store."""
        self._state = state
        self._routing = routing
        self._breakers = breakers
        self._refused = refused
        self._contended: frozenset[UUID] = frozenset()
        self.awaits_grant = False
        """Results are kept that a missing right does not let us settle."""

    def record(self, ended: Ended, queue: str, k: int) -> Settled:
        """Record ends and claim up to `k` steps of `queue` that are ready now. Transaction: several.

        Raises the error if nothing can be recorded; the ends are back in the batch then.
        """
        try:
            return self._record(ended, queue, k)
        except Exception:
            self._state.batch.put_back(ended)
            raise

    def settle_contended(self) -> bool:
        """Apply parked results now that there is nothing else to do; False: there were none.

        Whoever held the workflow may have looked before the result was parked, and there may be no rescue
        sweep.
        """
        contended, self._contended = self._contended, frozenset()
        if not contended:
            return False
        queue = self._state.queue
        try:
            late = self._apply_parked(lambda: queue.settle_contended(contended, PARKED_AT_ONCE), 1)
        except Busy:
            # Somebody holds a workflow for long, a bulk verb perhaps: the rescue sweep applies what is left.
            return False
        self._follow_up(late)
        return True

    def _record(self, ended: Ended, queue: str, k: int) -> Settled:
        came = attempt_ends.Settling()
        # Failures are judged by the number of attempts: these counts must be added first.
        self._state.counter.flush(now=bool(ended.bad))
        if ended.good:
            came = self._settle(ended.good, queue, k)
            self._state.note(completed=came.settled.counted, claimed=len(came.settled.claims))
            self._follow_up(came.settled)
            self._apply_own_parked(came.settled)
        unknown = [end for _, end in came.unknown.values()]
        left: list[Key] = []
        if bad := [*ended.bad, *came.refused, *unknown]:
            left = self._record_failures(bad, came.unknown)
        left += self._keep_forbidden(came)
        self._mark_recorded(ended, left)
        metrics_buffer.flush()
        return came.settled

    def _settle(self, results: Sequence[Completed], queue: str, k: int) -> attempt_ends.Settling:
        begun = time.monotonic()
        state = self._state

        def settle(some: Sequence[Completed], k: int) -> Settled:
            try:
                return state.call(lambda: state.queue.settle(some, queue, k), BUSY_TRIES)
            except Exception:
                # The call may have succeeded, with claims whose answer could not be read.
                state.doubtful = True
                raise

        came = attempt_ends.settle(state.queue, results, settle, k, self._refused)
        metrics_buffer.observe(SETTLE_SECONDS, time.monotonic() - begun)
        return came

    def _apply_own_parked(self, settled: Settled) -> None:
        if not settled.parked:
            return
        # The workflow is likely free again by now; if not, this drain looks again at its end.
        late = self._apply_parked(lambda: self._state.queue.settle_parked(settled.parked))
        self._follow_up(late)
        if late.counted < settled.parked:
            self._contended |= settled.contended

    def _apply_parked(self, call: Callable[[], Settled], busy_tries: int | None = None) -> Settled:
        try:
            return self._state.call(call, busy_tries)
        except NOT_NOW:
            raise
        except Exception as error:  # noqa: BLE001 - others' results may be among them; the rescue sweep finds out
            log("parked.left", error=attempt_ends.told(error))
            return Settled()

    def _follow_up(self, settled: Settled) -> None:
        """Ring for what became ready, and count what breakers had let through."""
        self._state.ring(settled.ring)
        if settled.passed:
            self._state.call(lambda: self._breakers.succeeded(settled.passed))

    def _record_failures(
        self, ended: list[EndedBadly], unknown: Mapping[Key, tuple[Completed, EndedBadly]]
    ) -> list[Key]:
        """Record bad ends; return the steps whose ends could not be recorded.

        `unknown`: those of them that are results, kept as results if even that fails.
        """
        state = self._state
        routed = attempt_ends.in_halves(
            ended, lambda some: state.call(lambda: self._routing.route(some)), lambda end, _: [end]
        )
        counted, left = attempt_ends.fail(
            lambda some: state.call(lambda: state.queue.fail(some, by="drain"), BUSY_TRIES),
            [end for some in routed for end in some],
        )
        keys = [(end.workflow_id, end.step) for end in left]
        state.batch.keep(
            Ended(
                good=[unknown[key][0] for key in keys if key in unknown],
                bad=[end for end, key in zip(left, keys, strict=True) if key not in unknown],
            )
        )
        self._tell_failed(list(counted.values()))
        return keys

    def _tell_failed(self, counted: Sequence[EndedBadly]) -> None:
        self._state.note(failed=len(counted))
        self._state.ring({queue_of(end.policy) for end in counted})
        for end in counted:
            said = Routing.fields(end)
            log("attempt.failed", **said)
            metrics_buffer.count(FAILED_ATTEMPTS, said["policy"], said["category"])
        list_unknown(self._state.queue, counted)

    def _keep_forbidden(self, came: attempt_ends.Settling) -> list[Key]:
        """Keep results until a right is granted, at most until their lease ends; return their steps."""
        for done, missing in came.forbidden:
            log(
                "attempt.unrecorded",
                workflow_id=str(done.claim.workflow_id),
                step=done.claim.step,
                attempt=done.claim.attempt,
                error=str(missing),
            )
        self._state.batch.keep(Ended(good=[done for done, _ in came.forbidden]))
        self.awaits_grant |= bool(came.forbidden)
        return [(done.claim.workflow_id, done.claim.step) for done, _ in came.forbidden]

    def _mark_recorded(self, ended: Ended, left: list[Key]) -> None:
        if self._state.slot is None:
            return
        ran: list[Claim | EndedBadly] = [*(done.claim for done in ended.good), *ended.bad]
        self._state.slot.recorded(
            (attempt.workflow_id, attempt.step, attempt.attempt)
            for attempt in ran
            if (attempt.workflow_id, attempt.step) not in left
        )
