"""`/breakers`: which dependencies are down; hold their work back, or let it go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from remand_app.api.dependencies import BreakerReader, BreakerWriter, EngineOf, Line
from remand_app.api.openapi import CHANGES, Page, errors
from remand_app.api.responses import answer, whole
from remand_app.api.verbs import Action, body_of, carry_out, one_body, told_apart
from remand_app.resources import breakers
from remand_app.resources.breakers import Breaker, BreakerChanged, BreakerShown
from remand_app.resources.verbs import verb_of

router = APIRouter(tags=["breakers"])
Name = Annotated[Line, Path(description="Name of a dependency.", examples=["payments-api"])]
_ONE = "/breakers/{name:path}"


if TYPE_CHECKING:
    BreakerAction = Action
else:
    BreakerAction = told_apart(
        [
            body_of(verb_of("breaker", "open")),
            one_body("CloseBreaker", "breaker", "Let the dependency's work go out: slowly, or at once."),
        ]
    )


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
    return answer(carry_out(engine, "breaker", (name,), body, caller))
