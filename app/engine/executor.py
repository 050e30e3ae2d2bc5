"""Answer a bell: claim, run, settle, and go on until the queue is dry or the time slice is over.

Success path: one `claim`, then one `settle` a batch, which brings the next claims with it. Everything is
written so that the process may die between any two lines: what it holds is taken back by the rescue sweep.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar
from uuid import UUID

from app.config import Settings
from app.domain.errors import Busy, DatabaseUnreachable
from app.domain.queues import queue_of
from app.engine import recording
from app.engine.attempt_counter import AttemptCounter
from app.engine.audience import Audience
from app.engine.batch import Batch, Ended, LongStepMonitor
from app.engine.batch_sizer import BatchSizer
from app.engine.bell import Bell
from app.engine.breakers import Breakers
from app.engine.process_table import ProcessTable
from app.engine.recording import Key
from app.engine.routing import Routing
from app.engine.run import Abandoned, End, Interrupted, Runner
from app.engine.unknown import list_unknown
from app.store.run_queue import Claim, Completed, EndedBadly, RunQueue, Settled
from app.store.session import NOT_NOW
from app.telemetry import log, metrics_buffer
from app.telemetry.metrics import (
    BATCH_STEPS,
    CLAIM_SECONDS,
    CLAIM_WAIT_SECONDS,
    FAILED_ATTEMPTS,
    SETTLE_SECONDS,
    STEP_SECONDS,
)
from remand.handler import Handlers

T = TypeVar("T")
FOLLOW_SECONDS = 1.0
"""How long a drain goes on with the children of its own steps before they queue up with all others."""
_PAUSES_SECONDS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
PARKED_AT_ONCE = 1_000
"""Parked results that one call applies, of its own workflows or of others."""
_BUSY_TRIES = len(_PAUSES_SECONDS)
"""How often ends that are recorded together are tried when others are in the way, before they are divided."""
_MOST_KEPT = 100
"""How many ends a process holds at most that it cannot record."""
_LAST_TRIES = 3
"""How often a worker that stops tries what the database does not do at once."""


@dataclass(slots=True)
class Drained:
    """What one drain did."""

    queue: str
    claimed: int = 0
    completed: int = 0
    failed: int = 0
    given_back: int = 0
    batches: int = 0
    seconds: float = 0.0
    rung: set[str] = field(default_factory=set)


class Executor:
    """The executor of one process. One drain at a time; state that lasts is the sizer and the connections."""

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
        """Take a free slot in `processes`; None: no main process looks after this one.

        `audience`: told of every attempt.
        """
        self._queue = queue
        self._routing = routing
        self._bell = bell
        self._settings = settings
        self._breakers = breakers
        self._counter = counter
        self._processes = processes
        self._audience = audience
        self._pause = pause
        self._sizer = BatchSizer(settings.batch_size, settings.batch_budget_seconds)
        self._slot = processes.acquire() if processes is not None else None
        self._runner = Runner(handlers, queue, settings, routing.book, self._slot)
        self._monitor = LongStepMonitor(settings.flush_after_seconds, self._flush_early)
        self._report = Drained("")
        self._noting = threading.Lock()
        self._batch = Batch()
        self._maybe_more = False
        self._contended: frozenset[UUID] = frozenset()
        self._claimed_at = 0.0
        # An answer was lost: this process may hold claims that it does not know of.
        self._doubtful = False
        # Results are kept that a missing right does not let us settle.
        self._awaits_grant = False

    def run(self, queue: str) -> Drained:
        """Drain a queue. Transaction: many, each its own. Never raises for a handler's failure.

        Raises:
            DatabaseUnreachable: the database is away while the worker stops; the rescue sweep takes back.
        """
        self._report = Drained(queue)
        started = time.monotonic()
        until = started + self._settings.drain_slice_seconds
        self._monitor.watch(self._batch)
        try:
            with self._runner.ready():
                self._reconcile()
                self._awaits_grant = False
                self._record(self._batch.take_kept(), queue, 0)
                self._rounds(queue, until)
                self._retry_forbidden(queue, until)
        except BaseException as error:
            # The door of the drain: whatever broke it, what it ran must not wait for the end of its lease.
            self._doubtful = True
            self._abandon(error)
            raise
        finally:
            self._monitor.watch(None)
            self._give_back(self._batch.take_todo())
        self._report.seconds = time.monotonic() - started
        log("drain.ended", **_fields(self._report))
        return self._report

    def _rounds(self, queue: str, until: float) -> None:
        if self._is_stuck():
            return
        self._claim(queue)
        while self._batch.waiting():
            self._run_batch(queue)
            self._monitor.raise_error()
            last = self._is_over(until)
            waiting = self._batch.waiting()
            queues_up = time.monotonic() - self._claimed_at >= FOLLOW_SECONDS
            k = 0 if last or queues_up else max(0, self._sizer.size(queue) - waiting)
            self._take(self._record(self._batch.take_ended(), queue, k).claims)
            self._reconcile()
            if last or self._is_stuck():
                self._pass_on(queue)
                break
            if not self._batch.waiting() and (self._maybe_more or queues_up):
                self._claim(queue)
            if not self._batch.waiting() and self._settle_contended():
                self._claim(queue)
        self._settle_contended()

    def _settle_contended(self) -> bool:
        """Apply what this drain had to park, now that it has nothing else to do; False: there was nothing.

        Whoever held the workflow may have looked before it was parked, and there may be no rescue sweep.
        """
        contended, self._contended = self._contended, frozenset()
        if not contended:
            return False
        try:
            late = self._apply_parked(lambda: self._queue.settle_contended(contended, PARKED_AT_ONCE), 1)
        except Busy:
            # Somebody holds a workflow for long, a bulk verb perhaps: the rescue sweep applies what is left.
            return False
        self._ring(late.ring)
        self._count_probes(late)
        return True

    def _apply_parked(self, call: Callable[[], Settled], busy_tries: int | None = None) -> Settled:
        try:
            return self._patiently(call, busy_tries)
        except NOT_NOW:
            raise
        except Exception as error:  # noqa: BLE001 - others' results may be among them; the rescue sweep finds out
            log("parked.left", error=recording.told(error))
            return Settled()

    def _run_batch(self, queue: str) -> None:
        """Run what is claimed; stop early when a result must be committed at once or the worker stops."""
        ran = 0
        spent = 0.0
        while not self._is_stopping() and (claim := self._batch.start()) is not None:
            begun = time.monotonic()
            end = self._run(claim)
            # First of all: what it ended as must not be in one thread's hands only.
            self._batch.end(end if isinstance(end, Completed | EndedBadly) else None)
            if isinstance(end, Interrupted):
                self._interrupt(claim)
            took = time.monotonic() - begun
            metrics_buffer.observe(STEP_SECONDS, took, claim.handler, _outcome(end))
            spent += took
            ran += 1
            self._counter.count(claim)
            is_full = self._slot is not None and self._slot.is_full
            if claim.commit_each or spent > self._settings.flush_after_seconds or is_full:
                break
        self._sizer.note(queue, spent, ran)
        if ran:
            self._report.batches += 1
            metrics_buffer.observe(BATCH_STEPS, ran)

    def _run(self, claim: Claim) -> End:
        if isinstance(claim.parents, str):
            # Here, where a database that is away is waited for and costs the step nothing.
            try:
                parents = self._patiently(lambda: self._queue.parents(claim))
            except NOT_NOW:
                raise
            except Exception as error:  # noqa: BLE001 - as in a claim: the other steps must be run
                return recording.unreadable(claim, self._queue.worker, error)
            claim = replace(claim, parents=parents)
        if self._audience is not None:
            self._audience.begin(claim)
        end = self._runner.run(claim)
        if self._audience is not None:
            self._audience.end(end.failure.error_class if isinstance(end, EndedBadly) else None)
        return end

    def _interrupt(self, claim: Claim) -> None:
        key = (claim.workflow_id, claim.step, claim.attempt)
        self._ring(self._patiently(lambda: self._queue.interrupt([key])))
        if self._slot is not None:
            self._slot.recorded([key])
        self._note(given_back=1)

    def _claim(self, queue: str) -> None:
        """Claim what is due. Fewer than asked for means dry: what comes later brings a bell of its own."""
        if self._is_stopping():
            # The bell of what this worker gave back may reach it, too: nobody would end such a step.
            return
        k = self._sizer.size(queue)
        self._claimed_at = time.monotonic()
        claims = self._claim_up_to(queue, k)
        metrics_buffer.observe(CLAIM_SECONDS, time.monotonic() - self._claimed_at)
        for claim in claims:
            metrics_buffer.observe(CLAIM_WAIT_SECONDS, claim.waited_seconds, queue)
        # A suspect, which has been attempted before, is claimed alone however many wait behind it.
        self._maybe_more = len(claims) == k or any(claim.attempt > 1 for claim in claims)
        self._note(claimed=len(claims))
        self._take(claims)
        self._reconcile()
        if len(claims) == k and not self._report.rung:
            # A full claim hints at more work than one process should do: wake one more, which does the same.
            self._ring([queue])

    def _claim_up_to(self, queue: str, k: int) -> list[Claim]:
        try:
            return self._patiently(lambda: self._queue.claim(queue, k))
        except NOT_NOW:
            raise
        except Exception as error:  # noqa: BLE001 - whatever one step breaks in a claim: the others must be run
            # It may have been done, and only its answer could not be read.
            self._doubtful = True
            self._reconcile()
            log("claim.divided", queue=queue, error=recording.told(error))
            return self._claim_first(queue)

    def _claim_first(self, queue: str) -> list[Claim]:
        """Claim the first step alone; what cannot be read becomes a failure, what cannot be claimed waits."""
        try:
            head = self._patiently(lambda: self._queue.claim_head(queue))
        except NOT_NOW:
            raise
        except Exception as error:
            put_off = self._patiently(lambda: self._queue.claim_head(queue, postpone=True))
            if put_off is None:
                raise
            log(
                "step.put_off",
                workflow_id=str(put_off.workflow_id),
                step=put_off.step,
                error=recording.told(error),
            )
            self._ring([queue])
            return []
        if head is None:
            return []
        try:
            return [self._patiently(lambda: self._queue.read(head))]
        except NOT_NOW:
            raise
        except Exception as error:  # noqa: BLE001 - as above
            self._note(claimed=1)
            self._record(Ended(bad=[recording.unreadable(head, self._queue.worker, error)]), queue, 0)
            self._ring([queue])
            return []

    def _take(self, claims: list[Claim]) -> None:
        self._batch.add(claims)
        self._patiently(lambda: self._counter.learn(claims))

    def _record(self, ended: Ended, queue: str, k: int) -> Settled:
        try:
            return self._record_all(ended, queue, k)
        except Exception:
            self._batch.put_back(ended)
            raise

    def _record_all(self, ended: Ended, queue: str, k: int) -> Settled:
        came = recording.Settling()
        # What fails is judged by how much was tried: that must be known before.
        self._counter.flush(now=bool(ended.bad))
        if ended.good:
            came = self._settle(ended, queue, k)
            settled = came.settled
            self._note(completed=settled.counted, claimed=len(settled.claims))
            self._ring(settled.ring)
            self._count_probes(settled)
            if settled.parked:
                # Whoever held the workflow is likely done by now; if not, this drain looks again at its end.
                late = self._apply_parked(lambda: self._queue.settle_parked(settled.parked))
                self._ring(late.ring)
                self._count_probes(late)
                if late.counted < settled.parked:
                    self._contended |= settled.contended
        unknown = [end for _, end in came.unknown.values()]
        left: list[Key] = []
        if bad := [*ended.bad, *came.refused, *unknown]:
            left = self._record_failures(bad, came.unknown)
        left += self._keep_forbidden(came)
        self._mark_recorded(ended, left)
        metrics_buffer.flush()
        return came.settled

    def _keep_forbidden(self, came: recording.Settling) -> list[Key]:
        """Keep results until a right is granted, at most until their lease ends; return their steps."""
        for done, missing in came.forbidden:
            log(
                "attempt.unrecorded",
                workflow_id=str(done.claim.workflow_id),
                step=done.claim.step,
                attempt=done.claim.attempt,
                error=str(missing),
            )
        self._batch.keep(Ended(good=[done for done, _ in came.forbidden]))
        self._awaits_grant |= bool(came.forbidden)
        return [(done.claim.workflow_id, done.claim.step) for done, _ in came.forbidden]

    def _retry_forbidden(self, queue: str, until: float) -> None:
        """Settle what a missing right keeps back, and whatever else there is to do meanwhile."""
        tries = 0
        while self._awaits_grant and not self._is_over(until):
            self._pause(_PAUSES_SECONDS[min(tries, len(_PAUSES_SECONDS) - 1)])
            tries += 1
            self._awaits_grant = False
            self._record(self._batch.take_kept(), queue, 0)
            self._rounds(queue, until)
        if self._awaits_grant:
            self._pass_on(queue)

    def _mark_recorded(self, ended: Ended, left: list[Key]) -> None:
        if self._slot is not None:
            ran: list[Claim | EndedBadly] = [*(done.claim for done in ended.good), *ended.bad]
            self._slot.recorded(
                (one.workflow_id, one.step, one.attempt)
                for one in ran
                if (one.workflow_id, one.step) not in left
            )

    def _count_probes(self, settled: Settled) -> None:
        if settled.passed:
            self._patiently(lambda: self._breakers.succeeded(settled.passed))

    def _settle(self, ended: Ended, queue: str, k: int) -> recording.Settling:
        begun = time.monotonic()

        def settle(some: Sequence[Completed], k: int) -> Settled:
            try:
                return self._patiently(lambda: self._queue.settle(some, queue, k), _BUSY_TRIES)
            except Exception:
                # It may have been done, with claims whose answer could not be read.
                self._doubtful = True
                raise

        came = recording.settle(self._queue, ended.good, settle, k, self._runner.refused)
        metrics_buffer.observe(SETTLE_SECONDS, time.monotonic() - begun)
        return came

    def _record_failures(
        self, ended: list[EndedBadly], unknown: Mapping[Key, tuple[Completed, EndedBadly]]
    ) -> list[Key]:
        """Record bad ends; return the steps of those that could not be.

        `unknown`: those that are results, kept as such when not even that can be done.
        """
        routed = recording.in_halves(
            ended, lambda some: self._patiently(lambda: self._routing.route(some)), lambda end, _: [end]
        )
        counted, left = recording.fail(
            lambda some: self._patiently(lambda: self._queue.fail(some, by="drain"), _BUSY_TRIES),
            [end for some in routed for end in some],
        )
        keys = [(end.workflow_id, end.step) for end in left]
        self._batch.keep(
            Ended(
                good=[unknown[key][0] for key in keys if key in unknown],
                bad=[end for end, key in zip(left, keys, strict=True) if key not in unknown],
            )
        )
        self._note(failed=len(counted))
        self._ring({queue_of(end.policy) for end in counted.values()})
        for end in counted.values():
            said = Routing.fields(end)
            log("attempt.failed", **said)
            metrics_buffer.count(FAILED_ATTEMPTS, said["policy"], said["category"])
        list_unknown(self._queue, list(counted.values()))
        return keys

    def _abandon(self, error: BaseException) -> None:
        """Record what ended; a run that was broken off by us is not known, never a failure of its step."""
        if isinstance(error, DatabaseUnreachable):
            return
        self._monitor.watch(None)
        ended = self._batch.take_ended()
        if isinstance(error, Exception):
            why = f"it was broken off: {recording.told(error)}"
            for claim in self._batch.take_current():
                ended.bad.append(recording.lost(claim, self._queue.worker, why))
        if ended:
            self._record(ended, self._report.queue, 0)

    def _flush_early(self, batch: Batch) -> None:
        todo = batch.take_todo()
        try:
            self._record(batch.take_ended(), self._report.queue, 0)
            self._give_back(todo)
        except Exception:
            batch.add(todo)
            raise

    def _give_back(self, claims: list[Claim]) -> None:
        if not claims:
            return
        self._ring(self._patiently(lambda: self._queue.give_back(claims)))
        self._note(given_back=len(claims))
        log("claims.given_back", queue=self._report.queue, count=len(claims))

    def _pass_on(self, queue: str) -> None:
        self._give_back(self._batch.take_todo())
        others_go_on = self._processes is None or not self._processes.stopping
        if others_go_on and not self._is_stuck():
            self._bell.ring([queue])

    def _ring(self, queues: Iterable[str]) -> None:
        ringing = set(queues)
        if ringing:
            self._report.rung |= ringing
            self._bell.ring(ringing)

    def _is_stopping(self) -> bool:
        """Return whether this process is to end: with its worker, or alone."""
        if self._processes is None or self._slot is None:
            return False
        return self._processes.stopping or self._slot.leaving

    def _is_stuck(self) -> bool:
        """Whether nothing can be recorded here: to run more would only lose more."""
        return self._batch.kept() >= min(self._settings.batch_size, _MOST_KEPT)

    def _is_over(self, until: float) -> bool:
        return self._is_stopping() or time.monotonic() >= until

    def _note(self, **numbers: int) -> None:
        """Add to the report; the monitor has its part in it."""
        with self._noting:
            for name, number in numbers.items():
                setattr(self._report, name, getattr(self._report, name) + number)

    def _patiently(self, call: Callable[[], T], busy_tries: int | None = None) -> T:
        """Call the database until it answers: without it this process can do nothing else.

        Raises:
            DatabaseUnreachable: the worker stops; the rescue sweep takes back what is held.
            Busy: so does this; or others were in the way `busy_tries` times.
        """
        tries = 0
        while True:
            try:
                return call()
            except NOT_NOW as error:
                self._doubtful = True
                most = busy_tries if isinstance(error, Busy) else None
                if self._is_stopping():
                    most = _LAST_TRIES
                pause = _PAUSES_SECONDS[min(tries, len(_PAUSES_SECONDS) - 1)]
                tries += 1
                if most is not None and tries >= most:
                    raise
                log("settle.retried", error=error.message, tries=tries, delay_seconds=pause)
                self._pause(pause)

    def _reconcile(self) -> None:
        """Give back what a lost answer had claimed; in the main thread, between batches.

        The monitor must rest meanwhile: what it is recording is in nobody's batch.
        """
        if not self._doubtful:
            return
        self._monitor.watch(None)
        self._doubtful = False
        known = self._batch.held()
        self._ring(self._patiently(lambda: self._queue.give_back_unknown(known)))
        self._monitor.watch(self._batch)


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


def _fields(report: Drained) -> dict[str, object]:
    return {
        "queue": report.queue,
        "claimed": report.claimed,
        "completed": report.completed,
        "failed": report.failed,
        "given_back": report.given_back,
        "batches": report.batches,
        "duration_seconds": round(report.seconds, 4),
    }
