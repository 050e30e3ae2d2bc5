"""What every verb of the engine works with; made once a process by `app.runtime`."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from app.store import session

if TYPE_CHECKING:
    # Whoever makes an engine has loaded its parts; whoever only asks the database need not.
    from app.clock import Clock
    from app.config import Settings
    from app.engine.bell import Bell
    from app.store.session import Database
    from app.store.templates import Templates


def _even_jitter() -> float:
    return random.uniform(-1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Engine:
    """The parts a verb needs: where the truth is, how to announce, what time it is, what is set."""

    database: Database
    templates: Templates
    bell: Bell
    clock: Clock
    settings: Settings
    jitter: Callable[[], float] = field(default=_even_jitter)
    """Returns a number from -1 to 1 that spreads retries."""

    def instant(self) -> datetime:
        """Return about the same outside a transaction: for what is only shown."""
        return self.clock.fixed() or datetime.now(UTC)

    def now(self, connection: session.Connection) -> datetime:
        """Return the instant that counts for this transaction: Postgres' own, or the test's."""
        fixed = self.clock.fixed()
        return fixed if fixed is not None else session.clock_timestamp(connection)
