"""`/breakers`: which dependencies are down; hold their work back, or let it go."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from fastapi import Body as InBody
from pydantic import Field
from starlette.responses import Response

from app.api.answers import answer, whole
from app.api.contract import CHANGES, Page, errors
from app.api.parts import Body, BreakerReader, BreakerWriter, EngineOf, Line, Reason
from app.domain.states import BreakerState
from app.engine import breakers as engine_breakers
from app.engine import overview
from app.store.breakers import PastMove

router = APIRouter(tags=["breakers"])
LAST_MOVES = 10
Name = Annotated[Line, Path(description="Name of a dependency.", examples=["payments-api"])]
_ONE = "/breakers/{name:path}"


@dataclass(frozen=True, slots=True)
class BreakerLine:
    """The breaker of a dependency."""

    name: str
    state: BreakerState
    is_gating: bool
    state_since: datetime | None
    probe_at: datetime | None
    openings: int
    attempts: int
    failures: int
    held: int
    passed: int
    release_per_second: float | None
    by: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class BreakerShown(BreakerLine):
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


class OpenBreaker(Body):
    """Hold the dependency's work back: no attempt starts, none is used up; what runs goes on."""

    action: Literal["open"]
    seconds: float | None = Field(
        None, gt=0, le=31_536_000, description="Try again by itself after so long; null: never."
    )
    reason: Reason = None


class CloseBreaker(Body):
    """`close`: what it held goes out at its limited rate; `reset`: at once, and its counts are forgotten."""

    action: Literal["close", "reset"]
    reason: Reason = None


BreakerAction = Annotated[OpenBreaker | CloseBreaker, InBody(discriminator="action")]


@router.get("/breakers", response_model=Page[BreakerLine], summary="List the circuit breakers")
def list_breakers(
    engine: EngineOf,
    caller: BreakerReader,
    all_: Annotated[bool, Query(alias="all", description="Those that never moved, too.")] = False,
) -> Response:
    """List the breakers that ever moved: where each stands, what it counted and what it holds."""
    return whole(one.to_dict() for one in overview.breakers(engine, unmoved=all_))


@router.get(_ONE, response_model=BreakerShown, summary="Show a breaker", responses=errors(404))
def show_breaker(engine: EngineOf, caller: BreakerReader, name: Name) -> Response:
    """Show a breaker: its rules, what it counted, what it holds, its last moves with who and why."""
    one = overview.find_breaker(engine, name)
    settings = {**asdict(one.spec), "categories": sorted(one.spec.categories)}
    moves = overview.moves(engine, name, LAST_MOVES)
    return answer({**one.to_dict(), "settings": settings, "moves": moves})


@router.patch(
    _ONE,
    response_model=BreakerChanged,
    summary="Open, close or reset a breaker",
    responses={**CHANGES, **errors(404)},
)
def change_breaker(engine: EngineOf, caller: BreakerWriter, name: Name, body: BreakerAction) -> Response:
    """Open a breaker by hand, close it, or reset it."""
    overview.find_breaker(engine, name)
    who = caller.who(body.reason)
    by, reason, via = who.by, who.reason, who.via
    if isinstance(body, OpenBreaker):
        move = engine_breakers.open_breaker(engine, name, by=by, reason=reason, seconds=body.seconds, via=via)
    elif body.action == "close":
        move = engine_breakers.close_breaker(engine, name, by=by, reason=reason, via=via)
    else:
        move = engine_breakers.reset_breaker(engine, name, by=by, reason=reason, via=via)
    held = overview.find_breaker(engine, name).held
    return answer(BreakerChanged(name, move.from_state, move.to_state, move.reason, move.probe_at, held))
