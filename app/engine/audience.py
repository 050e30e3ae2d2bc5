"""Who is told, for show, what a process runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from app.store.run_queue import Claim


class Audience(Protocol):
    """Told of every attempt of a process, by the thread that runs it. Must neither raise nor block."""

    def begin(self, claim: Claim) -> None:
        """Hear that an attempt starts."""

    def end(self, error_class: str | None) -> None:
        """Hear that it has ended; `error_class`: of what it raised, None: it went well."""


class Audiences:
    """Several, told in order; of an end in the reverse order."""

    def __init__(self, each: Sequence[Audience]) -> None:
        self._each = each

    def begin(self, claim: Claim) -> None:
        """Tell all."""
        for one in self._each:
            one.begin(claim)

    def end(self, error_class: str | None) -> None:
        """Tell all."""
        for one in reversed(self._each):
            one.end(error_class)
