"""Observers of the attempts that a process runs, such as traces. No step depends on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from app.store.run_queue import Claim


class Audience(Protocol):
    """Is told of every attempt of a process, in the thread that runs it. Must neither raise nor block."""

    def begin(self, claim: Claim) -> None:
        """Note that an attempt starts."""

    def end(self, error_class: str | None) -> None:
        """Note that the attempt has ended; `error_class`: of the error it raised, None: it succeeded."""


class Audiences:
    """Several audiences: told of a start in order, of an end in reverse order."""

    def __init__(self, each: Sequence[Audience]) -> None:
        self._each = each

    def begin(self, claim: Claim) -> None:
        """Tell every audience."""
        for one in self._each:
            one.begin(claim)

    def end(self, error_class: str | None) -> None:
        """Tell every audience."""
        for one in reversed(self._each):
            one.end(error_class)
