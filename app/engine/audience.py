"""Who is told, for show, what a process runs."""

from __future__ import annotations

from typing import Protocol

from app.store.run_queue import Claim


class Audience(Protocol):
    """Told of every attempt of a process, by the thread that runs it. Must neither raise nor block."""

    def begin(self, claim: Claim) -> None:
        """Hear that an attempt starts."""

    def end(self, error_class: str | None) -> None:
        """Hear that it has ended; `error_class`: of what it raised, None: it went well."""
