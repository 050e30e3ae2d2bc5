"""Run one attempt: call its handler under its time limit and return the outcome as a value.

The soft limit raises `StepTimeout` in the handler through an interval timer. That timer needs the main thread
of a separate process (prefork, solo). In other pools the lease is the only limit.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import copy_context
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from remand import rules
from remand.errors import StepCancelled, StepTimeout
from remand.failure import Failure, capture
from remand.handler import Handlers, StepContext
from remand.redact import redact_text
from remand.rules import RuleBook
from remand_app.config import Settings
from remand_app.domain.errors import HandlerNotFound, JsonInvalid, ResultInvalid, ValueRefused
from remand_app.domain.jsonvalue import encode
from remand_app.domain.stopping import is_echo_of_stop
from remand_app.engine.attempt_ends import told
from remand_app.engine.heartbeat import Heartbeat
from remand_app.engine.process_table import Running, SlotWriter
from remand_app.engine.soft_timeout import SoftTimeout
from remand_app.store.claims import Claim, Completed, EndedBadly
from remand_app.store.database import NOT_NOW
from remand_app.store.run_queue import RunQueue
from remand_app.telemetry import lines_belong_to, lines_belong_to_nothing, log


@dataclass(frozen=True, slots=True)
class Abandoned:
    """The attempt no longer belongs to this worker: nothing to record."""

    claim: Claim


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The stop of this process ended the attempt, not the step itself: the claim is given back."""

    claim: Claim


End = Completed | EndedBadly | Abandoned | Interrupted


class Runner:
    """Runs attempts in this process, one at a time."""

    def __init__(
        self,
        handlers: Handlers,
        queue: RunQueue,
        settings: Settings,
        book: Callable[[Claim], RuleBook],
        slot: SlotWriter | None = None,
    ) -> None:
        """`book`: gives the rules that judge a failure of a claim.

        `slot`: this process's slot in the worker's shared memory; None where there is no main process.
        """
        self._handlers = handlers
        self._queue = queue
        self._settings = settings
        self._book = book
        self._slot = slot
        self._loop: asyncio.Runner | None = None
        self._alarm = SoftTimeout()
        self._lost: Claim | None = None
        self._got: list[Any] = []

    def run(self, claim: Claim) -> End:
        """Run the attempt; the end comes back as a value, never as an exception of the handler."""
        started = time.monotonic()
        if self._slot is not None:
            kill_at = started + claim.timeout_seconds + self._settings.hard_timeout_grace_seconds
            self._slot.show(Running(claim.workflow_id, claim.step, claim.attempt, kill_at))
        lines_belong_to(claim.workflow_id, claim.step, claim.attempt)
        try:
            value = self._returned(claim)
            return Completed(claim, encode(value, what="result", max_bytes=self._settings.result_max_bytes))
        except StepCancelled as cancelled:
            # A handler may raise it itself; unless the claim is lost, its end must be recorded.
            return Abandoned(claim) if self._lost is claim else self._bad(claim, cancelled, "failed")
        except StepTimeout as timeout:
            return self._bad(claim, timeout, "timed_out")
        except JsonInvalid as problem:
            return self._bad(claim, _not_json(claim, problem), "failed")
        except BaseException as error:  # noqa: BLE001 - around users' code: all it raises becomes a value
            if self._slot is not None and self._slot.leaving and is_echo_of_stop(error):
                return Interrupted(claim)
            return self._bad(claim, error, "failed")
        finally:
            lines_belong_to_nothing()
            if self._slot is not None and self._lost is claim:
                self._slot.clear()
            elif self._slot is not None:
                self._slot.ended(claim.workflow_id, claim.step, claim.attempt)

    def refused(self, claim: Claim, error: ValueRefused) -> EndedBadly:
        """Return the record of an attempt whose result Postgres cannot store."""
        problem = ResultInvalid(
            f"the result of step {claim.step!r} could not be stored: {error}", details={"step": claim.step}
        )
        return self._bad(claim, problem, "failed")

    def ready(self) -> AbstractContextManager[None]:
        """Return the context in which attempts can be interrupted."""
        return self._alarm.installed()

    def _returned(self, claim: Claim) -> Any:
        """Return the handler's result, even if its time ran out before we received the result."""
        self._got.clear()
        try:
            return self._timed(claim)
        except StepTimeout:
            if not self._got:
                raise
            return self._got[0]

    def _timed(self, claim: Claim) -> Any:
        self._alarm.arm(claim.timeout_seconds)
        try:
            return self._call(claim)
        finally:
            self._alarm.disarm()

    def _call(self, claim: Claim) -> Any:
        function = self._handlers.find(claim.handler)
        if function is None:
            raise HandlerNotFound(
                f"no handler {claim.handler!r} is registered in this worker",
                hint="add the module that defines it to the setting `handlers` and restart the worker",
                details={"handler": claim.handler, "step": claim.step},
            )
        value = function(self._context(claim))
        if inspect.isawaitable(value):
            value = self._await(value)
        self._got.append(value)
        return value

    def _await(self, awaitable: Any) -> Any:
        async def finish() -> Any:
            return await awaitable

        if self._loop is None:
            self._loop = asyncio.Runner()
        try:
            # A loop keeps the context in which it was made: that of another step.
            return self._loop.run(finish(), context=copy_context())
        except (StepTimeout, KeyboardInterrupt, SystemExit):
            # These errors leave the loop's tasks behind: closing the loop lets the tasks clean up.
            loop, self._loop = self._loop, None
            loop.close()
            raise

    def _context(self, claim: Claim) -> StepContext:
        return StepContext(
            workflow_id=str(claim.workflow_id),
            step=claim.step,
            attempt=claim.attempt,
            input=claim.input,
            parents=self._parents(claim),
            last_checkpoint=claim.checkpoint,
            deadline=self._deadline(claim),
            read_workflow_input=lambda: self._read(self._queue.workflow_input, claim),
            read_failures=lambda: self._read(self._queue.parents_failures, claim),
            on_heartbeat=Heartbeat(self._settings.heartbeat_interval_seconds, lambda: self._renew(claim)),
            on_checkpoint=lambda value: self._save(claim, value),
        )

    def _parents(self, claim: Claim) -> dict[str, Any]:
        if isinstance(claim.parents, str):
            with self._alarm.deferred():
                return self._queue.parents(claim)
        return claim.parents or {}

    def _read(self, question: Callable[[Claim], Any], claim: Claim) -> Any:
        with self._alarm.deferred():
            return question(claim)

    def _deadline(self, claim: Claim) -> datetime | None:
        if not self._alarm.can_interrupt:
            return None
        return datetime.now(UTC) + timedelta(seconds=claim.timeout_seconds)

    def _save(self, claim: Claim, value: Any) -> None:
        text = encode(value, what="checkpoint", max_bytes=self._settings.result_max_bytes)
        with self._alarm.deferred():
            kept = self._queue.checkpoint(claim, text)
        self._go_on(claim, kept=kept)

    def _renew(self, claim: Claim) -> None:
        try:
            with self._alarm.deferred():
                kept = self._queue.renew(claim)
        except NOT_NOW:
            # The step can go on: its lease has slack, and the next heartbeat tries again.
            return
        self._go_on(claim, kept=kept)

    def _go_on(self, claim: Claim, *, kept: bool) -> None:
        if not kept:
            self._lost = claim
            raise StepCancelled("the step is no longer this attempt's")

    def _bad(self, claim: Claim, error: BaseException, outcome: str) -> EndedBadly:
        keys = self._settings.redact_keys
        failure = capture(
            error,
            now=datetime.now(UTC),
            redact=lambda text: redact_text(text, keys),
            book=self._rules(claim),
        )
        return ended_badly(claim, self._queue, failure, outcome)

    def _rules(self, claim: Claim) -> RuleBook:
        try:
            return self._book(claim)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with its template: the step failed for another reason
            log("rules.unread", workflow_id=str(claim.workflow_id), step=claim.step, error=told(error))
            return rules.BOOK


def ended_badly(claim: Claim, queue: RunQueue, failure: Failure, outcome: str) -> EndedBadly:
    """Make the record of an attempt of this worker that ended badly."""
    return EndedBadly(
        claim.workflow_id,
        claim.step,
        claim.attempt,
        queue.worker,
        outcome,
        failure,
        failure.classification.policy,
    )


def _not_json(claim: Claim, problem: JsonInvalid) -> ResultInvalid:
    return ResultInvalid(
        f"step {claim.step!r} returned what JSON cannot say: {problem.message}",
        hint=problem.hint,
        details={"path": problem.path, "step": claim.step, "pid": os.getpid()},
    )
