"""Decide how many attempts to claim at once: as many as fit the handler time budget, one if unknown."""

from __future__ import annotations


class BatchSizer:
    """Handler time measured per queue. A process keeps these measurements over all its drains."""

    def __init__(self, batch_size: int, budget_seconds: float) -> None:
        self._size = batch_size
        self._budget = budget_seconds
        self._mean: dict[str, float] = {}

    def size(self, queue: str) -> int:
        """Return how many attempts of a queue to claim; 1 until a step of the queue was measured."""
        mean = self._mean.get(queue)
        if mean is None:
            return 1
        return max(1, min(self._size, int(self._budget / max(mean, 1e-6))))

    def note(self, queue: str, seconds: float, steps: int) -> None:
        """Learn from `steps` attempts that took `seconds` of handler time together.

        One long step raises the mean at once; short steps lower it again by a third a batch.
        """
        if steps == 0:
            return
        now = seconds / steps
        mean = self._mean.get(queue, now)
        self._mean[queue] = now if now > mean else mean + (now - mean) / 3
