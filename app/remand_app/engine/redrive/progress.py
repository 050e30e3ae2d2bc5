"""Progress of a redrive: its counts, its actual rate, the time left, new errors."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from remand_app.domain.redrive import OVER, NewError, Redrive, RedriveState
from remand_app.engine.engine import Engine
from remand_app.engine.redrive.waits import Wait, waits
from remand_app.store import redrive_items, redrives

RATE_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a redrive, in figures."""

    redrive: Redrive
    per_second: float
    """Letters sent a second, over the last minute of sending."""
    eta_seconds: float | None
    """Until the last letter is sent at that rate; None: it does not send now."""
    new_errors: list[NewError]
    """What letters failed with again, the most frequent first."""
    waits: tuple[Wait, ...] = ()
    """What the redrive waits for, if it does not go on."""

    @property
    def success_share(self) -> float | None:
        """Share of the known outcomes that are good; None: none is known."""
        ended = self.redrive.succeeded + self.redrive.failed
        return self.redrive.succeeded / ended if ended else None

    def to_dict(self) -> dict[str, Any]:
        """Return it as CLI and API show it."""
        fields = asdict(self.redrive)
        return {
            **fields,
            "success_share_so_far": self.success_share,
            "per_second": round(self.per_second, 2),
            "eta_seconds": self.eta_seconds,
            "new_errors": self.new_errors,
            "waits": self.waits,
        }


def progress(engine: Engine, redrive_id: UUID) -> Progress:
    """Return how far a redrive is. Transaction: own.

    Raises:
        RedriveNotFound: none has that id.
    """
    redrive = redrives.get_redrive(engine.database, redrive_id)
    with engine.database.begin() as connection:
        now = engine.now(connection)
        sent = redrive_items.sent_lately(connection, redrive_id, now, RATE_SECONDS)
        errors = redrive_items.new_errors(connection, redrive_id) if redrive.failed else []
        held = waits(engine, connection, redrive, now)
    per_second = 0.0
    if redrive.started_at is not None and redrive.state not in OVER:
        seconds = min(RATE_SECONDS, max(1.0, (now - redrive.started_at).total_seconds()))
        per_second = sent / seconds
    moving = redrive.state is RedriveState.RUNNING and redrive.waiting > 0 and per_second > 0
    return Progress(redrive, per_second, redrive.waiting / per_second if moving else None, errors, held)
