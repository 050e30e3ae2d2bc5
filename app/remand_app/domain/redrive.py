"""Own the rules of redrives: their states, how fast they may send, when a canary is good enough.

Pure: rows and an instant go in, a decision comes out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

BURST_SECONDS = 1.0
"""How much unused time a rate may make up for, beside that of one letter, so that a pause causes no burst."""


class RedriveState(StrEnum):
    """The state of a redrive."""

    PLANNED = "planned"
    """Its set is fixed; nobody has started it. Forgotten after a day."""
    PENDING = "pending"
    """Started; waits for its instant, or for a version of the code to be live."""
    CANARY = "canary"
    """A few letters are sent; the rest waits for how they end."""
    RUNNING = "running"
    """The rest is sent, outcomes are followed."""
    PAUSED = "paused"
    """A person holds it."""
    STOPPED = "stopped"
    """A canary was not good enough; a person may resume it all the same, or cancel it."""
    CANCELLED = "cancelled"
    """A person ended it; what was sent stays sent."""
    FINISHED = "finished"
    """Every letter was dealt with."""


class RedriveVerb(StrEnum):
    """What is done with each letter."""

    REQUEUE = "requeue"
    RESOLVE = "resolve"
    CANCEL = "cancel"
    GIVE_UP = "give_up"


class ItemState(StrEnum):
    """What became of one letter."""

    WAITING = "waiting"
    SENT = "sent"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SKIPPED = "skipped"
    NOT_FOUND = "not_found"


ACTIVE = (RedriveState.PENDING, RedriveState.CANARY, RedriveState.RUNNING)
"""States in which a sweep moves it on."""
OVER = (RedriveState.CANCELLED, RedriveState.FINISHED)


@dataclass(frozen=True, slots=True)
class RateAllowance:
    """How many may be sent now, and up to when the rate is used up once they are."""

    allowed: int
    rate: float
    since: datetime

    def after(self, sent: int) -> datetime:
        """Return up to when the rate is used up after so many."""
        return self.since + timedelta(seconds=sent / self.rate)


def pace(rate: float, paced_at: datetime | None, now: datetime) -> RateAllowance:
    """Return what a rate (per second) allows now.

    In any T seconds that is at most rate × (T + 1 second) plus one letter. The extra second lets sweeps
    that are a little late keep the rate.
    """
    if paced_at is None:
        since = now - timedelta(seconds=max(BURST_SECONDS, 1 / rate))
    else:
        since = max(paced_at, now - timedelta(seconds=BURST_SECONDS + 1 / rate))
    # Slightly more, so that a tenth of a second at 10 a second gives one and not 0.9999.
    return RateAllowance(max(0, math.floor((now - since).total_seconds() * rate + 1e-6)), rate, since)


@dataclass(frozen=True, slots=True)
class RedriveStatus:
    """What the next move of a redrive depends on."""

    canary: tuple[int, ...]
    success_share: float
    stage: int
    stage_sent: int
    stage_succeeded: int
    stage_failed: int
    waiting: int
    sent: int
    sent_at: datetime | None
    """When letters were sent last; that it was resumed since counts like it."""

    @property
    def in_canary(self) -> bool:
        """True until every canary was good enough."""
        return self.stage < len(self.canary)


@dataclass(frozen=True, slots=True)
class Send:
    """Send so many letters at most; None: as many as a batch holds."""

    at_most: int | None


@dataclass(frozen=True, slots=True)
class Follow:
    """Nothing to send: wait for outcomes."""


@dataclass(frozen=True, slots=True)
class NextStage:
    """The canary was good enough."""


@dataclass(frozen=True, slots=True)
class Stop:
    """The canary was not good enough."""

    why: str


@dataclass(frozen=True, slots=True)
class Finish:
    """Every letter was dealt with; `unknown`: letters whose outcome nobody waits for any longer."""

    unknown: int = 0


Next = Send | Follow | NextStage | Stop | Finish


def next_move(status: RedriveStatus, now: datetime, wait_seconds: float) -> Next:
    """Return what a redrive does next.

    `wait_seconds`: how long the outcome of what was sent last is waited for.
    """
    late = status.sent_at is not None and now - status.sent_at > timedelta(seconds=wait_seconds)
    if status.in_canary:
        return _canary(status, late, wait_seconds)
    if status.waiting:
        return Send(None)
    if status.sent and not late:
        return Follow()
    return Finish(status.sent)


def _canary(status: RedriveStatus, late: bool, wait_seconds: float) -> Next:
    size = status.canary[status.stage]
    will_be = min(size, status.stage_sent + status.waiting)
    name = f"canary {status.stage + 1} of {len(status.canary)}"
    if will_be == 0:
        return Finish(status.sent)
    best = (will_be - status.stage_failed) / will_be
    if best < status.success_share:
        return Stop(
            f"{name}: {status.stage_failed} of {will_be} failed, {status.success_share:.0%} must succeed"
        )
    if status.stage_sent < will_be:
        return Send(will_be - status.stage_sent)
    if status.stage_succeeded + status.stage_failed == status.stage_sent:
        return NextStage()
    if late:
        unfinished = status.stage_sent - status.stage_succeeded - status.stage_failed
        return Stop(f"{name}: {unfinished} of {status.stage_sent} have not ended within {wait_seconds:g} s")
    return Follow()


# Public JSON: users see each field.
@dataclass(frozen=True, slots=True)
class Redrive:
    """An order and where it stands."""

    id: UUID
    state: RedriveState
    state_since: datetime
    verb: RedriveVerb
    selection: dict[str, Any]
    described: str
    planned_at: datetime
    planned_by: str
    started_at: datetime | None
    started_by: str | None
    via: str | None
    reason: str | None
    ended_at: datetime | None
    stop_reason: str | None
    include_claimed: bool
    queue: str | None
    priority: int | None
    rate_per_second: float | None
    paced_at: datetime | None
    not_before: datetime | None
    code_version: str | None
    canary: list[int]
    success_share: float
    stage: int
    stage_sent: int
    stage_succeeded: int
    stage_failed: int
    sent_at: datetime | None
    followed: int
    total: int
    waiting: int
    sent: int
    succeeded: int
    failed: int
    skipped: int
    not_found: int

    @property
    def standing(self) -> RedriveStatus:
        """What its next move depends on."""
        return RedriveStatus(
            tuple(self.canary),
            self.success_share,
            self.stage,
            self.stage_sent,
            self.stage_succeeded,
            self.stage_failed,
            self.waiting,
            self.sent,
            None if self.sent_at is None else max(self.sent_at, self.state_since),
        )


# Public JSON: users see each field.
@dataclass(frozen=True, slots=True)
class Item:
    """One letter of a redrive."""

    position: int
    letter_id: UUID
    workflow_id: UUID | None
    state: ItemState
    reason: str | None
    at: datetime
    sent_at: datetime | None
    steps: list[str] | None
    new_letter_id: UUID | None


# Public JSON: users see each field.
@dataclass(frozen=True, slots=True)
class NewError:
    """An error that letters of a redrive failed with again."""

    error: str
    count: int
    letter_id: UUID
    """One of the new letters."""
    group_id: UUID
