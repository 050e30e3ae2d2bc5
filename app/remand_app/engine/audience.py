"""Observers of the attempts that a process runs, such as traces. No step depends on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from remand_app.store.claims import Claim


class Audience(Protocol):
    """Is notified of every attempt of a process, in the thread that runs it. Must neither raise nor block."""

    def begin(self, claim: Claim) -> None:
        """Note that an attempt starts."""

    def end(self, error_class: str | None) -> None:
        """Note that the attempt has ended; `error_class`: of the error it raised, None: it succeeded."""


class Audiences:
    """Several audiences, notified of a start in order and of an end in reverse order."""

    def __init__(self, audiences: Sequence[Audience]) -> None:
        self._each = audiences

    def begin(self, claim: Claim) -> None:
        """Tell every audience."""
        for audience in self._each:
            audience.begin(claim)

    def end(self, error_class: str | None) -> None:
        """Tell every audience."""
        for audience in reversed(self._each):
            audience.end(error_class)
