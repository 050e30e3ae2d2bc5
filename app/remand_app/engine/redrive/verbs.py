"""Verbs on a redrive: start, pause, resume, cancel. Each is one guarded, audited move.

The sweep holds the redrive's row while it works on a batch. So a move waits for at most one batch, and
nothing of the next batch is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from typing import Any
from uuid import UUID

from remand_app.domain.errors import IllegalMove
from remand_app.domain.queues import MAINTENANCE
from remand_app.domain.redrive import ACTIVE, OVER, Redrive, RedriveState
from remand_app.engine.engine import Engine
from remand_app.engine.operate import Who
from remand_app.store import audit, redrives
from remand_app.store.audit import Entry
from remand_app.telemetry import log

_Change = Callable[[Redrive, datetime], dict[str, Any]]
_AT_REST = (RedriveState.PAUSED, RedriveState.STOPPED)
_STARTED = (*ACTIVE, *_AT_REST)


def start(engine: Engine, redrive_id: UUID, who: Who) -> Redrive:
    """Start a planned redrive: it acts on exactly the set that was planned, in the name of `who`.

    Idempotent: one that was started stays as it is.

    Raises:
        RedriveNotFound: none has that id; a plan is forgotten after a day.
        IllegalMove: it was cancelled.
    """

    def change(redrive: Redrive, now: datetime) -> dict[str, Any]:
        reason = who.reason or redrive.reason
        return {
            "state": _begins_in(redrive),
            "started_at": now,
            "started_by": who.by,
            "via": who.via,
            "reason": reason,
        }

    already = (*_STARTED, RedriveState.FINISHED)
    return _move(
        engine, redrive_id, who, "start", from_states=(RedriveState.PLANNED,), already=already, change=change
    )


def pause(engine: Engine, redrive_id: UUID, who: Who) -> Redrive:
    """Pause a redrive: nothing more is sent until it is resumed; sent letters go on. Idempotent.

    Raises:
        IllegalMove: it is not under way.
    """

    def change(_: Redrive, __: datetime) -> dict[str, Any]:
        return {
            "state": RedriveState.PAUSED,
            "stop_reason": f"paused by {who.by}: {who.reason or 'no reason'}",
        }

    return _move(
        engine, redrive_id, who, "pause", from_states=ACTIVE, already=(RedriveState.PAUSED,), change=change
    )


def resume(engine: Engine, redrive_id: UUID, who: Who) -> Redrive:
    """Let a paused redrive go on where it was; one that its canary stopped goes on with the next stage.

    Idempotent: one that is under way stays as it is.

    Raises:
        IllegalMove: it is over, or was never started.
    """

    def change(redrive: Redrive, _: datetime) -> dict[str, Any]:
        if redrive.state is RedriveState.STOPPED:
            return {
                "state": stage_state(redrive, redrive.stage + 1),
                "stop_reason": None,
                **next_stage(redrive),
            }
        state = _begins_in(redrive) if redrive.sent_at is None else stage_state(redrive, redrive.stage)
        return {"state": state, "stop_reason": None}

    return _move(engine, redrive_id, who, "resume", from_states=_AT_REST, already=ACTIVE, change=change)


def cancel(engine: Engine, redrive_id: UUID, who: Who) -> Redrive:
    """End a redrive: nothing more is sent; what was sent stays sent. Idempotent.

    Raises:
        IllegalMove: it is finished.
    """

    def change(_: Redrive, now: datetime) -> dict[str, Any]:
        why = f"cancelled by {who.by}: {who.reason or 'no reason'}"
        return {"state": RedriveState.CANCELLED, "ended_at": now, "stop_reason": why}

    from_states = (RedriveState.PLANNED, *_STARTED)
    already = (RedriveState.CANCELLED,)
    return _move(engine, redrive_id, who, "cancel", from_states=from_states, already=already, change=change)


def stage_state(redrive: Redrive, stage: int) -> RedriveState:
    """Return the state in which a redrive sends a stage."""
    return RedriveState.CANARY if stage < len(redrive.canary) else RedriveState.RUNNING


def next_stage(redrive: Redrive) -> dict[str, Any]:
    """Return the columns with which the next stage begins."""
    return {"stage": redrive.stage + 1, "stage_sent": 0, "stage_succeeded": 0, "stage_failed": 0}


def _begins_in(redrive: Redrive) -> RedriveState:
    waits = redrive.not_before is not None or redrive.code_version is not None
    return RedriveState.PENDING if waits else stage_state(redrive, redrive.stage)


def _move(
    engine: Engine,
    redrive_id: UUID,
    who: Who,
    verb: str,
    *,
    from_states: Collection[RedriveState],
    already: Collection[RedriveState],
    change: _Change,
) -> Redrive:
    with engine.database.begin() as connection:
        redrive = redrives.lock_redrive(connection, redrive_id)
        assert redrive is not None
        if redrive.state in already:
            return redrive
        if redrive.state not in from_states:
            raise _illegal(redrive, verb)
        now = engine.now(connection)
        values = {**change(redrive, now), "state_since": now}
        redrives.change_redrive(connection, redrive_id, **values)
        before = {"state": redrive.state, "waiting": redrive.waiting, "sent": redrive.sent}
        after = {"state": values["state"], "selection": redrive.described, "total": redrive.total}
        entry = Entry(f"redrive.{verb}", "redrive", str(redrive_id), before=before, after=after)
        audit.record(connection, entry, by=who.by, via=who.via, reason=who.reason, now=now)
    log("redrive.moved", redrive_id=str(redrive_id), state=values["state"], by=who.by, reason=who.reason)
    if values["state"] in ACTIVE:
        engine.bell.ring([MAINTENANCE])
    return redrives.get_redrive(engine.database, redrive_id)


def _illegal(redrive: Redrive, verb: str) -> IllegalMove:
    why = {
        RedriveState.PLANNED: "nobody has started it",
        RedriveState.CANCELLED: redrive.stop_reason or "it was cancelled",
        RedriveState.FINISHED: "every letter was dealt with",
    }.get(redrive.state, "it is no longer under way" if redrive.state in OVER else "it stands still")
    return IllegalMove(
        f"cannot {verb} redrive {redrive.id}: it is {redrive.state}; {why}",
        details={"redrive_id": str(redrive.id), "state": str(redrive.state)},
    )
