"""A clock that a test sets: SQL functions use its instant instead of looking at Postgres' clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


class FakeClock:
    """Stands still until told to move. Satisfies `remand_app.clock.Clock`."""

    def __init__(self, now: datetime = NOON) -> None:
        self.now = now

    def fixed(self) -> datetime:
        return self.now

    def advance(self, seconds: float = 0, **more: float) -> datetime:
        """Move on by seconds and whatever else `timedelta` takes; return the new instant."""
        self.now += timedelta(seconds=seconds, **more)
        return self.now
