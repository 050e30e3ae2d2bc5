"""Requeue sweep: send due dead letters back to work; close letters that went back too often.

Two at once share the work: each letter is locked by one of them. A letter that a person has claimed is never
touched. Source: C10.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from remand_app.domain.dead_letters import AutoRequeue
from remand_app.domain.states import DeadLetterStatus, WorkflowState
from remand_app.engine.dead_letters import SYSTEM, policy_of
from remand_app.engine.engine import Engine
from remand_app.engine.operate.context import Operation, Who, close
from remand_app.engine.sweeps.batches import in_batches
from remand_app.store import dead_letters, operator_moves, redrive_items
from remand_app.store.database import Connection
from remand_app.store.dead_letters import Due
from remand_app.store.workflows import lock_workflow
from remand_app.telemetry import log

BATCH = 200
_LATER = timedelta(minutes=1)


@dataclass(slots=True)
class RequeueResult:
    """What one sweep did."""

    requeued: int = 0
    exhausted: int = 0
    put_off: int = 0
    """Letters not yet given up: other steps of the workflow are still under way."""
    rung: set[str] = field(default_factory=set)

    @property
    def moved(self) -> int:
        """How much was moved."""
        return self.requeued + self.exhausted

    def add(self, other: RequeueResult) -> None:
        """Add what a batch did, once it is committed."""
        self.requeued += other.requeued
        self.exhausted += other.exhausted
        self.put_off += other.put_off


def requeue(engine: Engine, batch: int = BATCH) -> RequeueResult:
    """Sweep once, in batches until nothing is due. Transaction: one a batch.

    Idempotent: a letter that went back is closed.
    """
    swept = RequeueResult()

    def act(limit: int, but: Collection[UUID], chosen: list[UUID]) -> int:
        now_swept = RequeueResult()
        with engine.database.begin() as connection:
            now = engine.now(connection)
            due = dead_letters.take_due(connection, now, limit, but)
            chosen += [letter.workflow_id for letter in due]
            over = _act(engine, connection, due, now, now_swept)
        engine.bell.ring(sorted(now_swept.rung))
        swept.add(now_swept)
        for letter in over:
            log(
                "dead_letter.exhausted",
                workflow_id=str(letter.workflow_id),
                step=letter.step,
                dead_letter_id=str(letter.id),
                requeues=letter.requeues,
            )
        return len(due)

    in_batches("requeue", batch, act)
    if swept.requeued or swept.exhausted:
        log("sweep.ended", sweep="requeue", moved=swept.requeued + swept.exhausted)
    return swept


def _act(
    engine: Engine, connection: Connection, due: Sequence[Due], now: datetime, swept: RequeueResult
) -> list[Due]:
    """Requeue or close each; return those that were closed."""
    auto = {letter.id: _auto(engine, connection, letter) for letter in due}
    over = [letter for letter in due if letter.requeues >= auto[letter.id].max_requeues]
    closed = [letter for letter in over if _give_up(connection, letter, now)]
    swept.exhausted += len(closed)
    swept.put_off += len(over) - len(closed)
    sent = [letter for letter in due if letter not in over]
    operator_moves.boost_failed_steps(
        connection,
        {letter.workflow_id: boost for letter in sent if (boost := auto[letter.id].priority_boost)},
    )
    for turn in sorted({(letter.requeues + 1, auto[letter.id].max_requeues) for letter in sent}):
        ids = [letter.id for letter in sent if (letter.requeues + 1, auto[letter.id].max_requeues) == turn]
        _send(connection, ids, f"automatic requeue {turn[0]} of {turn[1]}", now, swept)
    return closed


def _auto(engine: Engine, connection: Connection, letter: Due) -> AutoRequeue:
    return policy_of(engine.templates.get(letter.template_id, connection).template, engine.settings).auto


def _send(connection: Connection, ids: list[UUID], reason: str, now: datetime, swept: RequeueResult) -> None:
    done = redrive_items.requeue_letters(
        connection, ids, by=SYSTEM, reason=reason, via="sweep", include_claimed=False, now=now
    )
    swept.requeued += len(done.sent)
    swept.rung |= set(done.queues)
    for letter_id, why in done.skipped.items():
        # Otherwise it would be taken again and again: from here on it waits for a person.
        dead_letters.change_letter(connection, letter_id, requeue_at=None)
        dead_letters.add_note(connection, letter_id, author=SYSTEM, text=f"not requeued: {why}", now=now)


def _give_up(connection: Connection, letter: Due, now: datetime) -> bool:
    """Close a letter that went back too often; False (try later) while its workflow is under way."""
    who = Who(
        SYSTEM, f"failed again after {letter.requeues} automatic requeues, the most that are set", "sweep"
    )
    before = lock_workflow(connection, letter.workflow_id)
    if not operator_moves.give_up(connection, letter.workflow_id, by=who.by, reason=who.reason, now=now):
        dead_letters.change_letter(connection, letter.id, requeue_at=now + _LATER)
        return False
    turn = Operation(connection, before, who, now)
    close(turn, dead_letters.lock_dead_letter(connection, letter.id), DeadLetterStatus.PERMANENTLY_FAILED)
    turn.record(
        "dead_letter.give_up",
        kind="dead_letter",
        subject=letter.id,
        before={"status": DeadLetterStatus.PENDING, "workflow": before.state},
        after={"status": DeadLetterStatus.PERMANENTLY_FAILED, "workflow": WorkflowState.ERROR},
    )
    return True
