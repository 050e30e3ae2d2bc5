"""Apply the verb of a redrive to a batch of its letters, and record what became of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from remand_app.domain.errors import Busy, Conflict, NotFound
from remand_app.domain.redrive import ItemState, Redrive, RedriveVerb
from remand_app.domain.states import DeadLetterStatus
from remand_app.engine import operate
from remand_app.engine.engine import Engine
from remand_app.engine.operate import Decided, Who
from remand_app.store import dead_letters, redrive_items
from remand_app.store.database import Connection
from remand_app.store.redrive_items import mark

SINGLE_BATCH = 50
"""Letters a transaction where each letter needs a verb, and a transaction, of its own."""


@dataclass(frozen=True, slots=True)
class Done:
    """What became of a batch."""

    at: datetime
    sent: int = 0
    """Letters that were sent back, outcome not known yet."""
    succeeded: int = 0
    failed: int = 0
    skipped: int = 0
    not_found: int = 0
    queues: Sequence[str] = ()

    @property
    def acted(self) -> int:
        """Letters to which the verb was applied."""
        return self.sent + self.succeeded


def act(engine: Engine, connection: Connection, redrive: Redrive, ids: Sequence[UUID]) -> Done:
    """Apply the verb to waiting letters. Transaction: joins the one that holds the redrive."""
    if redrive.verb is RedriveVerb.REQUEUE:
        return _requeue(engine, connection, redrive, ids)
    return _one_by_one(engine, connection, redrive, ids)


def who_of(redrive: Redrive) -> Who:
    """Return in whose name a redrive acts."""
    assert redrive.started_by is not None
    return Who(redrive.started_by, redrive.reason, redrive.via or "sweep")


def _requeue(engine: Engine, connection: Connection, redrive: Redrive, ids: Sequence[UUID]) -> Done:
    who = who_of(redrive)
    answer = redrive_items.requeue_letters(
        connection,
        ids,
        by=who.by,
        reason=who.reason,
        via=who.via,
        redrive_id=redrive.id,
        include_claimed=redrive.include_claimed,
        queue=redrive.queue,
        priority=redrive.priority,
        now=engine.clock.fixed(),
    )
    at = answer.at or engine.now(connection)
    gone = _gone(ids, {*answer.sent, *answer.skipped})
    mark(connection, redrive.id, ItemState.SENT, answer.sent, now=at)
    mark(connection, redrive.id, ItemState.SKIPPED, {**answer.skipped, **gone}, reasons=True, now=at)
    skipped = len(answer.skipped) + len(gone)
    return Done(at, sent=len(answer.sent), skipped=skipped, queues=answer.queues)


def _gone(ids: Sequence[UUID], answered: set[UUID]) -> dict[UUID, str]:
    return dict.fromkeys(
        (letter_id for letter_id in ids if letter_id not in answered), "the letter is no longer there"
    )


_Single = Callable[[Engine, UUID, Who], Decided]
_SINGLE: dict[RedriveVerb, tuple[_Single, DeadLetterStatus]] = {
    RedriveVerb.RESOLVE: (operate.resolve_letter, DeadLetterStatus.MANUALLY_RESOLVED),
    RedriveVerb.CANCEL: (operate.cancel_letter, DeadLetterStatus.CANCELLED),
    RedriveVerb.GIVE_UP: (operate.give_up_letter, DeadLetterStatus.PERMANENTLY_FAILED),
}


def _one_by_one(engine: Engine, connection: Connection, redrive: Redrive, ids: Sequence[UUID]) -> Done:
    done: list[UUID] = []
    skipped: dict[UUID, str] = {}
    for letter_id in ids:
        try:
            why = _single(engine, redrive, letter_id)
        except Busy:
            continue  # Others hold it just now: it still waits, and the next sweep takes it up.
        if why is None:
            done.append(letter_id)
        else:
            skipped[letter_id] = why
    at = engine.now(connection)
    mark(connection, redrive.id, ItemState.SUCCEEDED, {key: [] for key in done}, now=at)
    mark(connection, redrive.id, ItemState.SKIPPED, skipped, reasons=True, now=at)
    return Done(at, succeeded=len(done), skipped=len(skipped))


def _single(engine: Engine, redrive: Redrive, letter_id: UUID) -> str | None:
    """Apply the verb to one letter; return why not, None if it was applied. Raises Busy."""
    verb, closes_as = _SINGLE[redrive.verb]
    try:
        letter = dead_letters.get_dead_letter(engine.database, letter_id)
        if not letter.status.is_open:
            return (
                None
                if _by_us(letter, redrive, closes_as)
                else f"closed as {letter.status} by {letter.closed_by}"
            )
        if letter.claimed_by not in (None, redrive.started_by) and not redrive.include_claimed:
            return f"claimed by {letter.claimed_by}"
        verb(engine, letter_id, who_of(redrive))
    except NotFound:
        return "the letter is no longer there"
    except Busy:
        raise
    except Conflict as refusal:
        return refusal.message
    return None


def _by_us(letter: dead_letters.DeadLetter, redrive: Redrive, closes_as: DeadLetterStatus) -> bool:
    """Return whether this redrive closed the letter, and its sweep died before recording that."""
    assert letter.closed_at is not None
    assert redrive.started_at is not None
    ours = (letter.status, letter.closed_by) == (closes_as, redrive.started_by)
    return ours and letter.closed_at >= redrive.started_at
