"""A bell that writes down who rang for what, and says it has as many bells lying about as a test wants."""

from __future__ import annotations

from collections.abc import Iterable


class RecordingBell:
    """Satisfies `remand_app.engine.bell.Bell`."""

    def __init__(self) -> None:
        self.rings: list[str] = []
        self.lying: dict[str, int] = {}

    def ring(self, queues: Iterable[str]) -> None:
        self.rings += sorted(set(queues))

    def pending(self, queue: str) -> int:
        return self.lying.get(queue, 0)

    def check(self) -> None:
        """It always answers."""

    def take(self) -> list[str]:
        """Return what was rung since the last take."""
        rings, self.rings = self.rings, []
        return rings
