"""Own the circuit breaker: when it opens, when it tries again, how fast it releases held steps.

Pure: rows and an instant in, a move or a number out. `engine.breakers` counts and moves.
Source: B7; M. Nygard, Release It!, "Circuit Breaker"; slow start of TCP (RFC 5681) for the release.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from remand.classify import UNCLASSIFIED
from remand_app.domain.retry import Category, Seconds
from remand_app.domain.states import BreakerState

_LARGEST_GROWTH: Final = 30
_MOST_AT_A_TIME: Final = 100_000

Many = Annotated[int, Field(ge=1, le=1_000_000)]
Positive = Annotated[Seconds, Field(gt=0)]


@dataclass(frozen=True, slots=True)
class BreakerSpec:
    """Hold the resolved rules of one breaker: every number known."""

    enabled: bool
    """False: failures never open it; what an operator does still holds."""
    failures: int
    """How many counted failures within the window open it."""
    failure_ratio: float
    """Share 0..1 of the attempts in the window that must have failed, too."""
    window_seconds: float
    cool_down_seconds: float
    """From opening to the first probe; doubles with every probe that fails."""
    cool_down_cap_seconds: float
    probes: int
    """How many attempts are let through at a time while half-open, and how many must succeed to close."""
    release_per_second: float
    """What was held is let out at this rate; it doubles after each window without a new opening."""
    categories: frozenset[str]
    """Failures of these categories count; unclassified ones never do."""


DEFAULT_BREAKER: Final = BreakerSpec(
    enabled=True,
    failures=10,
    failure_ratio=0.5,
    window_seconds=20,
    cool_down_seconds=30,
    cool_down_cap_seconds=600,
    probes=1,
    release_per_second=10,
    categories=frozenset({"transient", "network", "resource"}),
)


def _split(value: object) -> object:
    """Split the value of an environment variable at its commas."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


Categories = Annotated[frozenset[Category], BeforeValidator(_split)]


class BreakerOverrides(BaseModel):
    """Hold what settings say about breakers, or about one; what is None is left as it was."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    enabled: bool | None = Field(None, description="Whether failures open it; an operator always can.")
    failures: Many | None = Field(None, description="Failures within the window that open it.")
    failure_ratio: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = Field(
        None, description="Share of the attempts in the window that must have failed, too."
    )
    window_seconds: Annotated[float, Field(ge=1, le=3600, allow_inf_nan=False)] | None = Field(
        None, description="Seconds back that attempts and failures are counted."
    )
    cool_down_seconds: Positive | None = Field(
        None, description="Seconds from opening to the first probe; doubled by each probe that fails."
    )
    cool_down_cap_seconds: Positive | None = Field(None, description="Longest such wait, in seconds.")
    probes: Many | None = Field(
        None, description="Attempts let through at a time while half-open; as many must succeed to close it."
    )
    release_per_second: Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)] | None = Field(
        None, description="Held attempts let out a second after it closed; doubled after each window."
    )
    categories: Categories | None = Field(
        None, description="Categories of failures that count; unclassified ones never do."
    )


def resolve_breaker(*overrides: BreakerOverrides) -> BreakerSpec:
    """Lay the overrides over `DEFAULT_BREAKER`, value by value; the later wins."""
    spec = DEFAULT_BREAKER
    for override in overrides:
        values: dict[str, Any] = {name: getattr(override, name) for name in type(override).model_fields}
        spec = replace(spec, **{name: value for name, value in values.items() if value is not None})
    return spec


@dataclass(frozen=True, slots=True)
class Breaker:
    """A breaker as stored."""

    name: str
    state: BreakerState
    state_since: datetime
    openings: int
    """Openings without closing in between."""
    probe_at: datetime | None
    """Open: the instant of the first probe; None: only an operator can close it."""
    probes_succeeded: int
    releasing_since: datetime | None
    """Closed, but what it held is still let out at a limited rate."""
    release_all: bool
    released_at: datetime | None
    by: str
    reason: str | None

    @property
    def is_gating(self) -> bool:
        """True while only the attempts that the breaker lets through are claimed."""
        return self.state is not BreakerState.CLOSED or self.releasing_since is not None


@dataclass(frozen=True, slots=True)
class Move:
    """A move of a breaker, with everything that becomes true with it."""

    from_state: BreakerState
    event: str
    to_state: BreakerState
    openings: int
    reason: str | None
    probe_at: datetime | None = None
    releasing_since: datetime | None = None
    release_all: bool = False


def counts(category: str, rule: str, outcome: str, spec: BreakerSpec) -> bool:
    """Return whether an attempt that ended so speaks against the dependency.

    A lost worker does not, nor does an unclassified failure: that is more likely a bug in our own code.
    """
    return outcome != "lost" and rule != UNCLASSIFIED and category in spec.categories


def after_failures(
    breaker: Breaker | None, name: str, spec: BreakerSpec, *, attempts: int, failures: int, now: datetime
) -> Move | None:
    """Return the opening of a closed breaker, if what was counted in the window demands it.

    `breaker` None: it has never moved. Both counts are of the window, but not from before it last closed.
    """
    if not spec.enabled or (breaker is not None and breaker.state is not BreakerState.CLOSED):
        return None
    seen = max(attempts, failures)
    if failures < spec.failures or failures < spec.failure_ratio * seen:
        return None
    reason = f"{failures} of {seen} attempts on {name} failed within {spec.window_seconds:g} s"
    return _opening(breaker, "trip", spec, now, reason)


def after_probe(breaker: Breaker, spec: BreakerSpec, *, failed: int, now: datetime) -> Move | None:
    """Return what the ended probes of a half-open breaker demand; `probes_succeeded` counts the good ones.

    A breaker that was disabled while it was open is closed by any answer: failures never open it.
    """
    if breaker.state is not BreakerState.HALF_OPEN:
        return None
    if failed and spec.enabled:
        return _opening(breaker, "probe_failed", spec, now, "a probe failed")
    if breaker.probes_succeeded < spec.probes and not failed:
        return None
    # The count of openings stays until all held steps are released: a relapse before that waits longer.
    why = "it is turned off" if failed else f"{breaker.probes_succeeded} probes succeeded"
    closing = _closing(BreakerState.HALF_OPEN, "probes_succeeded", now, why)
    return replace(closing, openings=breaker.openings)


def when_due(breaker: Breaker, now: datetime) -> Move | None:
    """Return the move of an open breaker that has cooled down."""
    if breaker.state is not BreakerState.OPEN or breaker.probe_at is None or now < breaker.probe_at:
        return None
    return Move(breaker.state, "cool_down", BreakerState.HALF_OPEN, breaker.openings, "cooled down")


def by_hand_open(
    breaker: Breaker | None, *, seconds: float | None, reason: str | None, now: datetime
) -> Move:
    """Return an operator's opening: for `seconds` until the first probe, or until closed by hand."""
    probe_at = None if seconds is None else now + timedelta(seconds=seconds)
    state, openings = _stand(breaker)
    return Move(state, "open_manually", BreakerState.OPEN, openings, reason, probe_at=probe_at)


def by_hand_close(breaker: Breaker | None, *, reason: str | None, now: datetime) -> Move:
    """Return an operator's closing: what was held goes out at the limited rate."""
    return _closing(_stand(breaker)[0], "close_manually", now, reason)


def by_hand_reset(breaker: Breaker | None, *, reason: str | None, now: datetime) -> Move:
    """Return an operator's reset: closed, counts forgotten, what was held goes out at once."""
    return replace(_closing(_stand(breaker)[0], "reset", now, reason), release_all=True)


def allowance(
    breaker: Breaker, spec: BreakerSpec, *, outstanding: int, now: datetime, sweep_seconds: float = 1.0
) -> int | None:
    """Return how many more attempts may be let through now; None: all.

    `outstanding`: let through and not ended. Half-open: `probes` at a time. Closed: by the rate, at most what
    the time between two sweeps (of a second at most, or the time of one attempt) allows: a late sweep does
    not catch up, and neither does one whose clock was set back.
    """
    if breaker.state is BreakerState.OPEN:
        return 0
    if breaker.state is BreakerState.HALF_OPEN:
        return max(0, spec.probes - breaker.probes_succeeded - outstanding)
    if breaker.release_all or breaker.releasing_since is None:
        return None
    rate = release_rate(breaker, spec, now)
    since = breaker.released_at or breaker.releasing_since - timedelta(seconds=1)
    longest = max(min(1.0, sweep_seconds), 1.0 / rate)
    elapsed = min((now - since).total_seconds(), longest) if since <= now else longest
    return min(int(rate * elapsed + 1e-6), _MOST_AT_A_TIME)


def release_rate(breaker: Breaker, spec: BreakerSpec, now: datetime) -> float:
    """Return how many held attempts a second are let out now."""
    if breaker.releasing_since is None:
        return spec.release_per_second
    windows = (now - breaker.releasing_since).total_seconds() // spec.window_seconds
    growth: float = 2.0 ** max(0.0, min(windows, _LARGEST_GROWTH))
    return spec.release_per_second * growth


def cool_down(spec: BreakerSpec, openings: int) -> timedelta:
    """Return the wait before the next probe after the `openings`-th opening in a row, from 1."""
    doublings = min(max(openings - 1, 0), _LARGEST_GROWTH)
    cap = max(spec.cool_down_seconds, spec.cool_down_cap_seconds)
    return timedelta(seconds=min(spec.cool_down_seconds * 2.0**doublings, cap))


def longest_window(specs: Iterable[BreakerSpec]) -> float:
    """Return the longest window of all, in seconds: how long counts must be kept."""
    return max((spec.window_seconds for spec in specs), default=DEFAULT_BREAKER.window_seconds)


def _stand(breaker: Breaker | None) -> tuple[BreakerState, int]:
    return (BreakerState.CLOSED, 0) if breaker is None else (breaker.state, breaker.openings)


def _opening(breaker: Breaker | None, event: str, spec: BreakerSpec, now: datetime, reason: str) -> Move:
    # A breaker that opens again while it still releases held steps has not recovered: it waits longer.
    openings = breaker.openings + 1 if breaker is not None and breaker.is_gating else 1
    wait = cool_down(spec, openings)
    why = f"{reason}; the next probe in {wait.total_seconds():g} s"
    return Move(_stand(breaker)[0], event, BreakerState.OPEN, openings, why, probe_at=now + wait)


def _closing(from_state: BreakerState, event: str, now: datetime, reason: str | None) -> Move:
    return Move(from_state, event, BreakerState.CLOSED, 0, reason, releasing_since=now)
