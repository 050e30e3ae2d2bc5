"""`/breakers`: which dependencies are down; hold their work back, or let it go."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from fastapi import Body as InBody
from pydantic import Field
from starlette.responses import Response

from app.api.dependencies import Body, BreakerReader, BreakerWriter, EngineOf, Line, Reason
from app.api.openapi import CHANGES, Page, errors
from app.api.responses import answer, whole
from app.resources import breakers
from app.resources.breakers import Breaker, BreakerChanged, BreakerShown

router = APIRouter(tags=["breakers"])
Name = Annotated[Line, Path(description="Name of a dependency.", examples=["payments-api"])]
_ONE = "/breakers/{name:path}"


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


@router.get("/breakers", response_model=Page[Breaker], summary="List the circuit breakers")
def list_breakers(
    engine: EngineOf,
    caller: BreakerReader,
    all_: Annotated[bool, Query(alias="all", description="Those that never moved, too.")] = False,
) -> Response:
    """List the breakers that ever moved: where each stands, what it counted and what it holds."""
    return whole(breakers.breakers(engine, unmoved=all_))


@router.get(_ONE, response_model=BreakerShown, summary="Show a breaker", responses=errors(404))
def show_breaker(engine: EngineOf, caller: BreakerReader, name: Name) -> Response:
    """Show a breaker: its rules, what it counted, what it holds, its last moves with who and why."""
    return answer(breakers.show_breaker(engine, name))


@router.patch(
    _ONE,
    response_model=BreakerChanged,
    summary="Open, close or reset a breaker",
    responses={**CHANGES, **errors(404)},
)
def change_breaker(engine: EngineOf, caller: BreakerWriter, name: Name, body: BreakerAction) -> Response:
    """Open a breaker by hand, close it, or reset it."""
    who = caller.who(body.reason)
    if isinstance(body, OpenBreaker):
        return answer(breakers.open_breaker(engine, name, who, seconds=body.seconds))
    return answer(breakers.VERBS[body.action](engine, name, who))
