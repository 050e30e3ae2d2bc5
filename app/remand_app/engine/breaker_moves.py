"""Make known that a circuit breaker moved: to people outside, and in the log."""

from __future__ import annotations

from datetime import datetime

from remand_app.domain.breaker import Move
from remand_app.domain.notifications import Notice, NotificationKind
from remand_app.domain.states import BreakerState
from remand_app.engine.engine import Engine
from remand_app.engine.enqueue_notifications import enqueue
from remand_app.store.database import Connection
from remand_app.telemetry import log


def notify_opened(
    engine: Engine, connection: Connection, name: str, move: Move, *, by: str, now: datetime
) -> None:
    """Notify people outside that a breaker opened, but not each time that its probes fail again.

    Transaction: joins the one that moved it.
    """
    if (move.from_state, move.to_state) != (BreakerState.CLOSED, BreakerState.OPEN):
        return
    facts = {"breaker": name, "by": by, "probe_at": iso(move.probe_at)}
    # A person's reason is not sent outside; the figures of an automatic opening are.
    why = f": {move.reason}" if by == "remand" and move.reason else f" by {by}"
    notice = Notice(
        NotificationKind.BREAKER_OPENED,
        name,
        f"breaker {name} opened{why}",
        facts,
        occurrence=now.isoformat(),
    )
    enqueue(connection, engine.settings, notice, now)


def log_move(name: str, move: Move, by: str) -> None:
    """Log the new state of a breaker."""
    match move.to_state:
        case BreakerState.OPEN:
            log("breaker.opened", breaker=name, by=by, reason=move.reason, probe_at=iso(move.probe_at))
        case BreakerState.HALF_OPEN:
            log("breaker.half_open", breaker=name)
        case BreakerState.CLOSED:
            log("breaker.closed", breaker=name, by=by, reason=move.reason)


def iso(at: datetime | None) -> str | None:
    """Return an instant as JSON holds it."""
    return None if at is None else at.isoformat()
