"""The clock: in production the clock of Postgres, in tests one that the test sets.

The database alone decides times, so that hosts whose clocks disagree cannot do harm.
"""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Where "now" comes from."""

    def fixed(self) -> datetime | None:
        """Return the instant that SQL functions must use, None to let the database look at its clock."""


class DatabaseClock:
    """Let Postgres look at its clock."""

    def fixed(self) -> datetime | None:
        """Return None: the database decides."""
        return None
