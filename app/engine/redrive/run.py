"""Move one redrive on by one transaction: look at outcomes, decide, act.

The process that holds the redrive's row runs it. A crash anywhere rolls the transaction back: the letters and
their record are one commit.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, assert_never
from uuid import UUID

from app.domain.notifications import Notice, NotificationKind
from app.domain.redrive import (
    ACTIVE,
    Finish,
    Follow,
    NextStage,
    RateAllowance,
    RedriveState,
    RedriveVerb,
    Send,
    Stop,
    next_move,
    pace,
)
from app.engine.context import Engine
from app.engine.enqueue_notifications import enqueue
from app.engine.redrive.act import SINGLE_BATCH, Done, act
from app.engine.redrive.verbs import next_stage, stage_state
from app.store import audit, redrive_items, redrives
from app.store.audit import Entry
from app.store.redrives import Redrive
from app.store.session import Connection
from app.telemetry import log
from app.telemetry.events import EventName

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
        one = redrives.lock_redrive(connection, redrive_id, wait=False)
        if one is None or one.state not in ACTIVE:
            return Advanced()
        now = engine.now(connection)
        turned = _pending(engine, connection, one, now)
        if turned is None:
            one = _follow(connection, one, now)
            turned = _decide(engine, connection, one, now)
    engine.bell.ring(turned.queues)
    _tell(redrive_id, turned)
    return turned


def _pending(engine: Engine, connection: Connection, one: Redrive, now: datetime) -> Advanced | None:
    if one.state is not RedriveState.PENDING:
        return None
    if one.not_before is not None and now < one.not_before:
        return Advanced()
    if one.code_version is not None:
        since = now - timedelta(seconds=engine.settings.worker_gone_after_seconds)
        live, others = redrives.workers_running(connection, one.code_version, since)
        if live == 0 or others > 0:
            return Advanced()
    return _moved(connection, one, stage_state(one, one.stage), now)


def _follow(connection: Connection, one: Redrive, now: datetime) -> Redrive:
    if one.sent == 0:
        return one
    seen = redrive_items.follow(connection, one.id, one.followed, FOLLOWED, now)
    redrives.change_redrive(
        connection,
        one.id,
        followed=seen.last if seen.looked == FOLLOWED else 0,
        sent=one.sent - seen.succeeded - seen.failed,
        succeeded=one.succeeded + seen.succeeded,
        failed=one.failed + seen.failed,
        stage_succeeded=one.stage_succeeded + seen.succeeded,
        stage_failed=one.stage_failed + seen.failed,
    )
    return redrives.read_locked(connection, one.id)


def _decide(engine: Engine, connection: Connection, one: Redrive, now: datetime) -> Advanced:
    move = next_move(one.standing, now, engine.settings.redrive_wait_seconds)
    match move:
        case Send(at_most):
            return _send(engine, connection, one, at_most, now)
        case Follow():
            return Advanced()
        case NextStage():
            return _moved(connection, one, stage_state(one, one.stage + 1), now, **next_stage(one))
        case Stop(why):
            return _stop(engine, connection, one, why, now)
        case Finish(unknown):
            return _finish(connection, one, unknown, now)
        case _:
            assert_never(move)


def _send(
    engine: Engine, connection: Connection, one: Redrive, at_most: int | None, now: datetime
) -> Advanced:
    limit = engine.settings.redrive_batch_size if one.verb is RedriveVerb.REQUEUE else SINGLE_BATCH
    if at_most is not None:
        limit = min(limit, at_most)
    paced = None if one.rate_per_second is None else pace(one.rate_per_second, one.paced_at, now)
    if paced is not None:
        limit = min(limit, paced.allowed)
    ids = redrive_items.next_waiting(connection, one.id, limit) if limit else []
    if not ids:
        return Advanced()
    done = act(engine, connection, one, ids)
    _count(connection, one, done, paced)
    fields = {"verb": one.verb, "sent": done.acted, "skipped": done.skipped}
    dealt_with = done.acted + done.skipped
    if not dealt_with:
        return Advanced()  # Others hold all of them: the next sweep tries again.
    return Advanced(dealt_with, again=True, queues=tuple(done.queues), event=("redrive.sent", fields))


def _count(connection: Connection, one: Redrive, done: Done, paced: RateAllowance | None) -> None:
    dealt_with = done.acted + done.skipped
    values: dict[str, Any] = {
        "waiting": one.waiting - dealt_with,
        "sent": one.sent + done.sent,
        "succeeded": one.succeeded + done.succeeded,
        "skipped": one.skipped + done.skipped,
        "stage_sent": one.stage_sent + done.acted,
        "stage_succeeded": one.stage_succeeded + done.succeeded,
    }
    if done.acted:
        values["sent_at"] = done.at
        if paced is not None:
            values["paced_at"] = paced.after(done.acted)
    redrives.change_redrive(connection, one.id, **values)


def _stop(engine: Engine, connection: Connection, one: Redrive, why: str, now: datetime) -> Advanced:
    errors = redrive_items.new_errors(connection, one.id)
    told = "; ".join(f"{new.error} ({new.count}×)" for new in errors)
    reason = f"{why}: {told}" if told else why
    turned = _moved(connection, one, RedriveState.STOPPED, now, stop_reason=reason)
    # The new error may contain text from users' code: it is not sent outside.
    facts = {"verb": one.verb, "total": one.total, "succeeded": one.succeeded, "failed": one.failed}
    title = f"redrive of {one.total} letters stopped: {why}"
    notice = Notice(NotificationKind.REDRIVE_STOPPED, one.id, title, facts, occurrence=now.isoformat())
    enqueue(connection, engine.settings, notice, now)
    return Advanced(event=("redrive.stopped", {"reason": reason}), queues=turned.queues)


def _finish(connection: Connection, one: Redrive, unknown: int, now: datetime) -> Advanced:
    why = f"the outcome of {unknown} letters is not known" if unknown else None
    return _moved(connection, one, RedriveState.FINISHED, now, ended_at=now, stop_reason=why)


def _moved(
    connection: Connection, one: Redrive, state: RedriveState, now: datetime, **values: Any
) -> Advanced:
    """Move the redrive; a change of state goes into the audit log, in the name of the product."""
    changed = {"state": state, "state_since": now, **values}
    redrives.change_redrive(connection, one.id, **changed)
    reason = values.get("stop_reason")
    if state is one.state:
        return Advanced(again=True)
    after = {"state": state, "succeeded": one.succeeded, "failed": one.failed, "skipped": one.skipped}
    verb = "redrive.stop" if state is RedriveState.STOPPED else "redrive.move"
    entry = Entry(verb, "redrive", str(one.id), before={"state": one.state}, after=after)
    audit.record(connection, entry, by=SYSTEM, via="sweep", reason=reason, now=now)
    fields = {"state": state, "by": SYSTEM, "reason": reason}
    return Advanced(again=state in ACTIVE, event=("redrive.moved", fields))


def _tell(redrive_id: UUID, turned: Advanced) -> None:
    named = str(redrive_id)
    match turned.event:
        case ("redrive.sent", told):
            log(
                "redrive.sent",
                redrive_id=named,
                verb=told["verb"],
                sent=told["sent"],
                skipped=told["skipped"],
            )
        case ("redrive.stopped", told):
            log("redrive.stopped", redrive_id=named, reason=told["reason"])
        case ("redrive.moved", told):
            log("redrive.moved", redrive_id=named, state=told["state"], by=SYSTEM, reason=told["reason"])
        case _:
            pass
