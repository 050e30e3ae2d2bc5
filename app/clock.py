"""The clock: Postgres' own in production, one that a test sets in tests.

Times are decided by the database alone, so that hosts which disagree about the time cannot do harm.
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
