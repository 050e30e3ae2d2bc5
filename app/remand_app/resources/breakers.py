"""Circuit breakers, as every door shows them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

from remand_app.domain.breaker import Move
from remand_app.domain.states import BreakerState
from remand_app.engine import overview
from remand_app.engine.engine import Engine
from remand_app.engine.operate import Who
from remand_app.engine.operate import breakers as verbs
from remand_app.engine.overview import BreakerStanding
from remand_app.resources.values import fields_of
from remand_app.store.breakers import PastMove

__all__ = ["Breaker", "BreakerChanged", "BreakerShown", "PastMove"]
LAST_MOVES: Final = 10


@dataclass(frozen=True, slots=True)
class Breaker:
    """The breaker of a dependency."""

    name: str
    state: BreakerState
    is_gating: bool
    """True while nothing of the dependency is claimed but what is let through."""
    state_since: datetime | None
    """None: it never moved."""
    probe_at: datetime | None
    openings: int
    attempts: int
    failures: int
    held: int
    passed: int
    """Let through and not ended."""
    release_per_second: float | None
    by: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class BreakerShown(Breaker):
    """A breaker with its rules and its last moves."""

    settings: dict[str, Any]
    moves: list[PastMove]


@dataclass(frozen=True, slots=True)
class BreakerChanged:
    """What a verb did to a breaker."""

    name: str
    before: BreakerState
    after: BreakerState
    reason: str | None
    probe_at: datetime | None
    held: int


def breakers(engine: Engine, *, unmoved: bool = False) -> list[Breaker]:
    """Return the breakers that ever changed state, by name; `unmoved`: every other dependency's, too.

    Transaction: two or three short ones.
    """
    return [_breaker(standing) for standing in overview.breakers(engine, unmoved=unmoved)]


def find_breaker(engine: Engine, name: str) -> Breaker:
    """Return the breaker of a dependency, whether it ever moved or not. Transaction: some short ones.

    Raises:
        BreakerNotFound: nobody names the dependency, and no breaker of it ever moved.
    """
    return _breaker(overview.find_breaker(engine, name))


def show_breaker(engine: Engine, name: str) -> BreakerShown:
    """Return a breaker with its rules and its last moves. As `find_breaker`."""
    stored = overview.find_breaker(engine, name)
    settings = {**asdict(stored.spec), "categories": sorted(stored.spec.categories)}
    moves = overview.moves(engine, name, LAST_MOVES)
    return BreakerShown(**fields_of(_breaker(stored)), settings=settings, moves=moves)


def open_breaker(engine: Engine, name: str, who: Who, *, seconds: float | None = None) -> BreakerChanged:
    """Hold the work of a dependency back. Transaction: own, beside those of `find_breaker`.

    `seconds`: after this time the breaker tries by itself; None: never.

    Raises:
        BreakerNotFound: nobody names the dependency, and no breaker of it ever moved.
    """
    overview.find_breaker(engine, name)
    by, reason, via = who.by, who.reason, who.via
    return _changed(
        engine, name, verbs.open_breaker(engine, name, by=by, reason=reason, seconds=seconds, via=via)
    )


def close_breaker(engine: Engine, name: str, who: Who) -> BreakerChanged:
    """Release, at the breaker's limited rate, the work that it held. As `open_breaker`."""
    overview.find_breaker(engine, name)
    return _changed(
        engine, name, verbs.close_breaker(engine, name, by=who.by, reason=who.reason, via=who.via)
    )


def reset_breaker(engine: Engine, name: str, who: Who) -> BreakerChanged:
    """Release at once the work that a breaker held, and reset its counts. As `open_breaker`."""
    overview.find_breaker(engine, name)
    return _changed(
        engine, name, verbs.reset_breaker(engine, name, by=who.by, reason=who.reason, via=who.via)
    )


def _changed(engine: Engine, name: str, move: Move) -> BreakerChanged:
    held = overview.find_breaker(engine, name).held
    return BreakerChanged(name, move.from_state, move.to_state, move.reason, move.probe_at, held)


def _breaker(standing: BreakerStanding) -> Breaker:
    known = standing.breaker
    derived = {"state_since", "openings", "by", "reason"}
    return Breaker(
        **{name: getattr(standing, name) for name in Breaker.__slots__ if name not in derived},
        state_since=known.state_since if known else None,
        openings=known.openings if known else 0,
        by=known.by if known else None,
        reason=known.reason if known else None,
    )
