"""What the engine asks of a bell. A bell may be lost, doubled or late: nothing but time depends on it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol


class Bell(Protocol):
    """Tells the workers of a queue that there is work."""

    def ring(self, queues: Iterable[str]) -> None:
        """Ring for each queue, after the commit. Never raises: the ring sweep rings again."""

    def pending(self, queue: str) -> int:
        """Return how many bells lie unheard in the broker for this queue."""

    def check(self) -> None:
        """Make sure that bells are taken.

        Raises:
            BrokerUnreachable: they are not.
        """


class SilentBell:
    """A bell that nobody hears; for programs that have no broker: the ring sweep announces for them."""

    def ring(self, queues: Iterable[str]) -> None:
        """Do nothing."""

    def pending(self, queue: str) -> int:  # noqa: ARG002 - as the protocol has it
        """Return 0."""
        return 0

    def check(self) -> None:
        """Do nothing."""
