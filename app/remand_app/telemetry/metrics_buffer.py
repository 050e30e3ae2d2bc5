"""What a process counts in memory until somebody reads it, or the process hands it to another.

Nothing is counted until `start`; until then a call costs one comparison.
"""

from __future__ import annotations

import os
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from remand_app.telemetry.metrics import METRICS, Metric

Key = tuple[str, tuple[str, ...]]
"""Name of a metric, values of its labels."""
Series = dict[Key, list[float]]
"""A counter is one number; a histogram one for each bucket, that beyond the last, and the sum."""

MAX_SERIES: Final = 500
"""The most series of one metric; further ones count under `OTHER`."""
OTHER: Final = "other"
MAX_LABEL: Final = 200
FLUSH_SECONDS: Final = 1.0


class MetricsBuffer:
    """Counts in memory. Every method is safe to call from several threads."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._series: Series = {}
        self._many: dict[str, int] = {}

    def count(self, metric: Metric, labels: tuple[str, ...], by: float) -> None:
        """Add to a counter."""
        with self._lock:
            self._of(metric, labels)[0] += by

    def observe(self, metric: Metric, labels: tuple[str, ...], value: float) -> None:
        """Add a value to a histogram."""
        place = bisect_left(metric.buckets, value)
        with self._lock:
            numbers = self._of(metric, labels)
            numbers[place] += 1
            numbers[-1] += value

    def add(self, series: Mapping[Key, Sequence[float]]) -> None:
        """Add what was counted elsewhere; a metric of another version of the code is left out."""
        with self._lock:
            for (name, labels), numbers in series.items():
                metric = METRICS.get(name)
                if metric is not None:
                    mine = self._of(metric, labels)
                    mine[:] = [a + b for a, b in zip(mine, numbers, strict=True)]

    def take(self) -> Series:
        """Take everything out."""
        with self._lock:
            series, self._series, self._many = self._series, {}, {}
            return series

    def seen(self) -> Series:
        """Return a copy of everything."""
        with self._lock:
            return {key: list(numbers) for key, numbers in self._series.items()}

    def _of(self, metric: Metric, labels: tuple[str, ...]) -> list[float]:
        numbers = self._series.get((metric.name, labels))
        return numbers if numbers is not None else self._new(metric, labels)

    def _new(self, metric: Metric, labels: tuple[str, ...]) -> list[float]:
        assert len(labels) == len(metric.labels)
        many = self._many.get(metric.name, 0)
        kept = tuple(label[:MAX_LABEL] for label in labels) if many < MAX_SERIES else (OTHER,) * len(labels)
        key = (metric.name, kept)
        if key not in self._series:
            self._many[metric.name] = many + 1
            self._series[key] = [0.0] * metric.width
        return self._series[key]


class _Process:
    """The buffer of this process, and the function that takes its counts."""

    buffer: MetricsBuffer | None = None
    tell: Callable[[Series], Series] | None = None
    due = 0.0


def start(tell: Callable[[Series], Series] | None = None) -> MetricsBuffer:
    """Count from now on; return where.

    `tell`: takes over the counts and returns those it could not take; None: they stay here.
    """
    _Process.buffer = MetricsBuffer()
    _Process.tell = tell
    for metric in METRICS.values():
        if metric.source == "process" and not metric.labels:
            # Begins at 0: a counter that appears only with its first event shows no increase.
            _Process.buffer.add({(metric.name, ()): [0.0] * metric.width})
    return _Process.buffer


def stop() -> None:
    """Count no more."""
    _Process.buffer = _Process.tell = None


def counted() -> Series:
    """Return what this process has counted and not handed over."""
    return {} if _Process.buffer is None else _Process.buffer.seen()


def count(metric: Metric, *labels: str, by: float = 1) -> None:
    """Add to a counter of this process."""
    if _Process.buffer is not None:
        _Process.buffer.count(metric, labels, by)


def observe(metric: Metric, value: float, *labels: str) -> None:
    """Add a value, in the unit of the name, to a histogram of this process."""
    if _Process.buffer is not None:
        _Process.buffer.observe(metric, labels, value)


def flush(*, now: bool = False) -> None:
    """Hand over the counts, if it is time or at once; keeps what could not be handed over. Never raises."""
    buffer, tell = _Process.buffer, _Process.tell
    if buffer is None or tell is None:
        return
    at = time.monotonic()
    if not now and at < _Process.due:
        return
    _Process.due = at + FLUSH_SECONDS
    series = buffer.take()
    if series:
        buffer.add(tell(series))


def _afresh() -> None:
    # Another thread of the parent may have held the lock; the parent hands over its own counts.
    if _Process.buffer is not None:
        _Process.buffer = MetricsBuffer()


os.register_at_fork(after_in_child=_afresh)
