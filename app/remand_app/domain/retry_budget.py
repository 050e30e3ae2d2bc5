"""Own the retry budget: how many retries a handler may cause, and when those beyond it take their turn.

Pure: counts, plans and an instant in, due instants out. Who counts and who keeps the turns is in the engine.
A retry within the budget keeps its due instant. One beyond it also waits its turn in a virtual line that
moves at the budget's rate: its wait is that of its policy plus that of its turn. So retries of one policy
come one after another, and a long back-off at the head of the line holds up nobody behind it.
Source: B6; Finagle's RetryBudget; GCRA (ITU-T I.371) for the line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from remand_app.domain.retry import MAX_SECONDS


class BudgetSpec(BaseModel):
    """Say how large the share of retries may be; for each handler of each namespace alone."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    enabled: bool = Field(True, description="Whether retries beyond the budget are spread out.")
    ratio: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = Field(
        0.2, description="Share of the attempts within the window, 0 to 1, that may be retries."
    )
    window_seconds: Annotated[float, Field(ge=1, le=3600, allow_inf_nan=False)] = Field(
        60.0, description="Seconds over which attempts and retries are counted."
    )
    min_per_second: Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)] = Field(
        1.0, description="Retries a second that are always within the budget, however few attempts there are."
    )
    max_delay_seconds: Annotated[float, Field(ge=0, le=MAX_SECONDS, allow_inf_nan=False)] = Field(
        3600.0, description="Longest time, in seconds, by which a retry is put off for want of budget."
    )


@dataclass(frozen=True, slots=True)
class Used:
    """What of a budget is used up at an instant."""

    attempts: int = 0
    """Attempts that ended within the window, as far as counted."""
    retries: int = 0
    """Retries decided within the window."""
    next_at: datetime | None = None
    """The next free turn of the line; None, or past: no retry waits in it."""


@dataclass(frozen=True, slots=True)
class Spread:
    """When retries are due after all."""

    delays: tuple[timedelta, ...]
    """By how much each retry is put off, in the order they were given; never negative."""
    next_at: datetime | None
    """The next free turn from now on; None: no retry had to wait in the line."""
    explanation: str
    """What a person is told about a retry that is put off, without the delay."""


def spread(planned: Sequence[datetime], used: Used, spec: BudgetSpec, *, now: datetime) -> Spread:
    """Return by how much retries that were decided at `now`, and planned for these instants, are put off.

    The retries planned first get what is left of the budget; the others get turns, in the order planned.
    While a retry waits in the line, nothing is left of the budget.
    """
    # Workers count attempts with a delay, but each decided retry stands for one that has ended.
    attempts = max(used.attempts, used.retries + len(planned))
    allowed = max(spec.ratio * attempts, spec.min_per_second * spec.window_seconds)
    longest = timedelta(seconds=spec.max_delay_seconds)
    line = min(used.next_at, now + longest) if used.next_at is not None and used.next_at > now else None
    left = 0 if line is not None else max(0, int(allowed) - used.retries)
    step = timedelta(seconds=spec.window_seconds / allowed)
    delays = [timedelta(0)] * len(planned)
    for place in sorted(range(len(planned)), key=planned.__getitem__)[left:]:
        delays[place] = (line or now) - now
        line = min((line or now) + step, now + longest)
    return Spread(tuple(delays), line, _told(attempts, used.retries, spec))


def _told(attempts: int, retries: int, spec: BudgetSpec) -> str:
    return (
        f"{retries} retries to {attempts} attempts in {spec.window_seconds:g} s, "
        f"at most {spec.ratio * 100:g} % or {spec.min_per_second:g} a second"
    )
