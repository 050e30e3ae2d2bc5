"""The bell as the engine sees it. A bell may be lost, doubled or late: only timing depends on it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol


class Bell(Protocol):
    """Tells the workers of a queue that there is work."""

    def ring(self, queues: Iterable[str]) -> None:
        """Ring for each queue, after the commit. Never raises: the ring sweep rings again."""

    def pending(self, queue: str) -> int:
        """Return how many bells for this queue wait in the broker."""

    def check(self) -> None:
        """Check that the broker accepts bells.

        Raises:
            BrokerUnreachable: they are not.
        """


class SilentBell:
    """A bell that does nothing, for programs without a broker: the ring sweep rings for them."""

    def ring(self, queues: Iterable[str]) -> None:
        """Do nothing."""

    def pending(self, queue: str) -> int:  # noqa: ARG002 - as the protocol has it
        """Return 0."""
        return 0

    def check(self) -> None:
        """Do nothing."""
