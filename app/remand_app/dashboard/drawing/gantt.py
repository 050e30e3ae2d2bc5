"""Lay out attempts along time for SVG. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from remand_app.resources.steps import Attempt

MOST_ROWS = 60
WIDTH, LABEL, ROW = 900, 180, 24
_ROOM, _LEAST = WIDTH - LABEL, 3.0


@dataclass(frozen=True, slots=True)
class Bar:
    """One attempt, in pixels from the left of the timeline."""

    attempt: int
    outcome: str
    x: float
    width: float
    title: str


@dataclass(frozen=True, slots=True)
class Line:
    """The attempts of one step."""

    step: str
    bars: list[Bar]


@dataclass(frozen=True, slots=True)
class Gantt:
    """The attempts of a workflow along time."""

    lines: list[Line]
    begins: datetime
    ends: datetime
    left_out: int
    """Steps for which there was no room."""


def lay_out(attempts: Sequence[Attempt], now: datetime) -> Gantt | None:
    """Return the layout, steps in the order of their first attempt; None if nothing has started."""
    started = [attempt for attempt in attempts if attempt.started_at is not None]
    if not started:
        return None
    begins = min(attempt.started_at for attempt in started if attempt.started_at is not None)
    ends = max(begins, *(attempt.ended_at or now for attempt in started))
    seconds = max(0.001, (ends - begins).total_seconds())
    by_step: dict[str, list[Bar]] = {}
    for attempt in sorted(started, key=lambda attempt: (attempt.started_at, attempt.step)):
        assert attempt.started_at is not None
        until = attempt.ended_at or now
        width = max(_LEAST, (until - attempt.started_at).total_seconds() / seconds * _ROOM)
        x = min((attempt.started_at - begins).total_seconds() / seconds * _ROOM, _ROOM - width)
        took = (until - attempt.started_at).total_seconds()
        title = f"{attempt.step}, attempt {attempt.attempt}: {attempt.outcome}, {took:.3f} s"
        by_step.setdefault(attempt.step, []).append(
            Bar(attempt.attempt, attempt.outcome, round(x, 1), round(width, 1), title)
        )
    lines = [Line(step, bars) for step, bars in by_step.items()]
    return Gantt(lines[:MOST_ROWS], begins, ends, max(0, len(lines) - MOST_ROWS))
