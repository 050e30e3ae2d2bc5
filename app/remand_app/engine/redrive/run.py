"""Move one redrive on by one transaction: look at outcomes, decide, act.

The process that holds the redrive's row runs it. A crash anywhere rolls the transaction back: the letters and
their record are one commit.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, assert_never
from uuid import UUID

from remand_app.domain.notifications import Notice, NotificationKind
from remand_app.domain.redrive import (
    ACTIVE,
    Finish,
    Follow,
    NextStage,
    RateAllowance,
    Redrive,
    RedriveState,
    RedriveVerb,
    Send,
    Stop,
    next_move,
    pace,
)
from remand_app.engine.engine import Engine
from remand_app.engine.enqueue_notifications import enqueue
from remand_app.engine.redrive.act import SINGLE_BATCH, Done, act
from remand_app.engine.redrive.verbs import next_stage, stage_state
from remand_app.store import audit, redrive_items, redrives
from remand_app.store.audit import Entry
from remand_app.store.database import Connection
from remand_app.telemetry import log
from remand_app.telemetry.events import EventName

SYSTEM = "remand"
FOLLOWED = 2000
"""Unfinished letters whose outcome is looked for in one transaction."""


@dataclass(frozen=True, slots=True)
class Advanced:
    """What one transaction did."""

    dealt_with: int = 0
    again: bool = False
    """True: there is more to do at once."""
    queues: tuple[str, ...] = ()
    event: tuple[EventName, dict[str, Any]] | None = None


def advance(engine: Engine, redrive_id: UUID) -> Advanced:
    """Move a redrive on once, then ring. Nothing if another process holds it, or it is not under way.

    Transaction: own. Idempotent: what was sent is no longer waiting.
    """
    with engine.database.begin() as connection:
        redrive = redrives.lock_redrive(connection, redrive_id, wait=False)
        if redrive is None or redrive.state not in ACTIVE:
            return Advanced()
        now = engine.now(connection)
        turned = _pending(engine, connection, redrive, now)
        if turned is None:
            redrive = _follow(connection, redrive, now)
            turned = _decide(engine, connection, redrive, now)
    engine.bell.ring(turned.queues)
    _tell(redrive_id, turned)
    return turned


def _pending(engine: Engine, connection: Connection, redrive: Redrive, now: datetime) -> Advanced | None:
    if redrive.state is not RedriveState.PENDING:
        return None
    if redrive.not_before is not None and now < redrive.not_before:
        return Advanced()
    if redrive.code_version is not None:
        since = now - timedelta(seconds=engine.settings.worker_gone_after_seconds)
        live, others = redrives.workers_running(connection, redrive.code_version, since)
        if live == 0 or others > 0:
            return Advanced()
    return _moved(connection, redrive, stage_state(redrive, redrive.stage), now)


def _follow(connection: Connection, redrive: Redrive, now: datetime) -> Redrive:
    if redrive.sent == 0:
        return redrive
    seen = redrive_items.follow(connection, redrive.id, redrive.followed, FOLLOWED, now)
    redrives.change_redrive(
        connection,
        redrive.id,
        followed=seen.last if seen.looked == FOLLOWED else 0,
        sent=redrive.sent - seen.succeeded - seen.failed,
        succeeded=redrive.succeeded + seen.succeeded,
        failed=redrive.failed + seen.failed,
        stage_succeeded=redrive.stage_succeeded + seen.succeeded,
        stage_failed=redrive.stage_failed + seen.failed,
    )
    return redrives.read_locked(connection, redrive.id)


def _decide(engine: Engine, connection: Connection, redrive: Redrive, now: datetime) -> Advanced:
    move = next_move(redrive.standing, now, engine.settings.redrive_wait_seconds)
    match move:
        case Send(at_most):
            return _send(engine, connection, redrive, at_most, now)
        case Follow():
            return Advanced()
        case NextStage():
            return _moved(
                connection, redrive, stage_state(redrive, redrive.stage + 1), now, **next_stage(redrive)
            )
        case Stop(why):
            return _stop(engine, connection, redrive, why, now)
        case Finish(unknown):
            return _finish(connection, redrive, unknown, now)
        case _:
            assert_never(move)


def _send(
    engine: Engine, connection: Connection, redrive: Redrive, at_most: int | None, now: datetime
) -> Advanced:
    limit = engine.settings.redrive_batch_size if redrive.verb is RedriveVerb.REQUEUE else SINGLE_BATCH
    if at_most is not None:
        limit = min(limit, at_most)
    paced = None if redrive.rate_per_second is None else pace(redrive.rate_per_second, redrive.paced_at, now)
    if paced is not None:
        limit = min(limit, paced.allowed)
    ids = redrive_items.next_waiting(connection, redrive.id, limit) if limit else []
    if not ids:
        return Advanced()
    done = act(engine, connection, redrive, ids)
    _count(connection, redrive, done, paced)
    fields = {"verb": redrive.verb, "sent": done.acted, "skipped": done.skipped}
    dealt_with = done.acted + done.skipped
    if not dealt_with:
        return Advanced()  # Others hold all of them: the next sweep tries again.
    return Advanced(dealt_with, again=True, queues=tuple(done.queues), event=("redrive.sent", fields))


def _count(connection: Connection, redrive: Redrive, done: Done, paced: RateAllowance | None) -> None:
    dealt_with = done.acted + done.skipped
    values: dict[str, Any] = {
        "waiting": redrive.waiting - dealt_with,
        "sent": redrive.sent + done.sent,
        "succeeded": redrive.succeeded + done.succeeded,
        "skipped": redrive.skipped + done.skipped,
        "stage_sent": redrive.stage_sent + done.acted,
        "stage_succeeded": redrive.stage_succeeded + done.succeeded,
    }
    if done.acted:
        values["sent_at"] = done.at
        if paced is not None:
            values["paced_at"] = paced.after(done.acted)
    redrives.change_redrive(connection, redrive.id, **values)


def _stop(engine: Engine, connection: Connection, redrive: Redrive, why: str, now: datetime) -> Advanced:
    errors = redrive_items.new_errors(connection, redrive.id)
    new_errors = "; ".join(f"{new.error} ({new.count}×)" for new in errors)
    reason = f"{why}: {new_errors}" if new_errors else why
    turned = _moved(connection, redrive, RedriveState.STOPPED, now, stop_reason=reason)
    # The new error may contain text from users' code: it is not sent outside.
    facts = {
        "verb": redrive.verb,
        "total": redrive.total,
        "succeeded": redrive.succeeded,
        "failed": redrive.failed,
    }
    title = f"redrive of {redrive.total} letters stopped: {why}"
    notice = Notice(NotificationKind.REDRIVE_STOPPED, redrive.id, title, facts, occurrence=now.isoformat())
    enqueue(connection, engine.settings, notice, now)
    return Advanced(event=("redrive.stopped", {"reason": reason}), queues=turned.queues)


def _finish(connection: Connection, redrive: Redrive, unknown: int, now: datetime) -> Advanced:
    why = f"the outcome of {unknown} letters is not known" if unknown else None
    return _moved(connection, redrive, RedriveState.FINISHED, now, ended_at=now, stop_reason=why)


def _moved(
    connection: Connection, redrive: Redrive, state: RedriveState, now: datetime, **values: Any
) -> Advanced:
    """Move the redrive; a change of state goes into the audit log, in the name of the product."""
    changed = {"state": state, "state_since": now, **values}
    redrives.change_redrive(connection, redrive.id, **changed)
    reason = values.get("stop_reason")
    if state is redrive.state:
        return Advanced(again=True)
    after = {
        "state": state,
        "succeeded": redrive.succeeded,
        "failed": redrive.failed,
        "skipped": redrive.skipped,
    }
    verb = "redrive.stop" if state is RedriveState.STOPPED else "redrive.move"
    entry = Entry(verb, "redrive", str(redrive.id), before={"state": redrive.state}, after=after)
    audit.record(connection, entry, by=SYSTEM, via="sweep", reason=reason, now=now)
    fields = {"state": state, "by": SYSTEM, "reason": reason}
    return Advanced(again=state in ACTIVE, event=("redrive.moved", fields))


def _tell(redrive_id: UUID, turned: Advanced) -> None:
    named = str(redrive_id)
    match turned.event:
        case ("redrive.sent", fields):
            log(
                "redrive.sent",
                redrive_id=named,
                verb=fields["verb"],
                sent=fields["sent"],
                skipped=fields["skipped"],
            )
        case ("redrive.stopped", fields):
            log("redrive.stopped", redrive_id=named, reason=fields["reason"])
        case ("redrive.moved", fields):
            log("redrive.moved", redrive_id=named, state=fields["state"], by=SYSTEM, reason=fields["reason"])
        case _:
            pass
