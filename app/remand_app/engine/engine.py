"""The parts that every verb of the engine works with; `remand_app.runtime` makes them once a process."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from remand_app.store.database import clock_timestamp

if TYPE_CHECKING:
    # Only for types: a program that only reads the database need not load these parts.
    from remand_app.clock import Clock
    from remand_app.config import Settings
    from remand_app.engine.bell import Bell
    from remand_app.store.database import Connection, Database
    from remand_app.store.templates import Templates


def _even_jitter() -> float:
    return random.uniform(-1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Engine:
    """The parts a verb needs, such as database, bell, clock and settings."""

    database: Database
    templates: Templates
    bell: Bell
    clock: Clock
    settings: Settings
    jitter: Callable[[], float] = field(default=_even_jitter)
    """Returns a number from -1 to 1 that spreads retries."""

    def instant(self) -> datetime:
        """Return the approximate time outside a transaction, for display only."""
        return self.clock.fixed() or datetime.now(UTC)

    def now(self, connection: Connection) -> datetime:
        """Return the time of this transaction: Postgres' own, or the test's."""
        fixed = self.clock.fixed()
        return fixed if fixed is not None else clock_timestamp(connection)
