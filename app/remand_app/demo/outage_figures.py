"""What an outage cost, counted from the figures of the service and of Postgres; and the goals for it.

Nothing here starts, changes or waits for anything.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from remand_app.domain.dead_letter_filter import LetterFilter
from remand_app.domain.states import WorkflowState
from remand_app.store.breakers import PastMove, moves_of
from remand_app.store.database import Database
from remand_app.store.dead_letter_search import list_page
from remand_app.store.steps import Attempt, attempts_of
from remand_app.store.workflows import states_of

DEPENDENCY = "ledger-api"
FEWER_CALLS = 10
"""How many times fewer calls the dead service must get with breakers and budgets on."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What the service saw; instants are seconds since 1970."""

    down_at: float
    up_at: float
    calls: Sequence[float]
    """When it was called, in order."""
    entries: int
    """Bookings; a repeated call is the same one."""

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Seen:
        """Read the service's own record."""
        switches = {state: at for at, state in record["switches"]}
        calls = sorted(at for at, _ in record["calls"])
        return cls(switches["down"], switches["up"], calls, record["entries"])

    @property
    def calls_while_down(self) -> int:
        """Calls between the two switches."""
        return bisect_left(self.calls, self.up_at) - bisect_left(self.calls, self.down_at)

    def peak_after(self, seconds: float = 1.0) -> int:
        """Return the most calls within any `seconds` after it came back."""
        after = self.calls[bisect_left(self.calls, self.up_at) :]
        return max((bisect_left(after, at + seconds) - n for n, at in enumerate(after)), default=0)


@dataclass(frozen=True, slots=True)
class Figures:
    """One run: what it cost, and what came of its workflows."""

    workflows: int
    complete: int
    dead_letters: int
    """Workflows that wait for a person."""
    lost: int
    """Workflows that are neither complete nor in the dead letter queue."""
    booked: int
    """Distinct bookings of the service."""
    calls: int
    calls_while_down: int
    failed_attempts: int
    most_attempts: int
    """The most attempts that one step took."""
    peak_per_second: int
    """The most calls in any one second after the service was back."""
    drained_seconds: float
    """From the instant the service was back to the last end of an attempt."""
    moves: Sequence[PastMove]
    """What the breaker did, in order."""

    def to_dict(self) -> dict[str, Any]:
        """Return it for programs; a move is its event and its seconds since the first one."""
        first = self.moves[0].at if self.moves else None
        return {
            **{name: getattr(self, name) for name in self.__slots__ if name != "moves"},
            "moves": [
                [move.event, round((move.at - first).total_seconds(), 2)] for move in self.moves if first
            ],
        }


def collect(database: Database, ids: Sequence[UUID], seen: Seen) -> Figures:
    """Count. Transaction: several reads, when nothing moves any more."""
    states = states_of(database, ids)
    held = {letter.workflow_id for letter in list_page(database, LetterFilter(), limit=len(ids) + 1).items}
    complete = [workflow_id for workflow_id in ids if states.get(workflow_id) is WorkflowState.COMPLETE]
    attempts = [attempt for workflow_id in ids for attempt in attempts_of(database, workflow_id)]
    return Figures(
        workflows=len(ids),
        complete=len(complete),
        dead_letters=sum(workflow_id in held for workflow_id in ids),
        lost=len(set(ids) - set(complete) - held),
        booked=seen.entries,
        calls=len(seen.calls),
        calls_while_down=seen.calls_while_down,
        failed_attempts=sum(attempt.outcome not in ("complete", "running") for attempt in attempts),
        most_attempts=max(attempt.attempt for attempt in attempts),
        peak_per_second=seen.peak_after(),
        drained_seconds=round(_last_end(attempts).timestamp() - seen.up_at, 2),
        moves=moves_of(database, DEPENDENCY, 1000)[::-1],
    )


def missed_goals(bare: Figures, guarded: Figures, most_per_second: float) -> list[str]:
    """Return which goals were missed; `most_per_second`: calls that the service may get once it is back."""
    reasons = []
    for name, figures in (("off", bare), ("on", guarded)):
        if figures.lost:
            reasons.append(f"{figures.lost} of {figures.workflows} workflows were lost with breakers {name}")
        if figures.booked < figures.complete:
            reasons.append(
                f"{figures.complete} workflows are complete with breakers {name},"
                f" but {figures.booked} amounts booked"
            )
    if guarded.calls_while_down * FEWER_CALLS > bare.calls_while_down:
        reasons.append(
            f"{guarded.calls_while_down} calls to the dead service with breakers on, {bare.calls_while_down}"
            f" with them off: not {FEWER_CALLS} times fewer"
        )
    if guarded.peak_per_second > most_per_second:
        reasons.append(
            f"{guarded.peak_per_second} calls in one second after the service was back,"
            f" {most_per_second:g} are allowed"
        )
    return reasons


def _last_end(attempts: Sequence[Attempt]) -> datetime:
    return max(attempt.ended_at for attempt in attempts if attempt.ended_at is not None)
