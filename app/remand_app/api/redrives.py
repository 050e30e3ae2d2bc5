"""`/redrives`: many dead letters at once: fix the exact set, forecast, start, watch, pause, cancel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query
from pydantic import Field
from starlette.responses import Response

from remand_app.api.dependencies import After, Body, EngineOf, LetterReader, LetterWriter, Limit, Line, Reason
from remand_app.api.filters import Selection
from remand_app.api.idempotency import OnceOf
from remand_app.api.openapi import CHANGES, Page, errors
from remand_app.api.responses import answer, page
from remand_app.api.verbs import Action, carry_out, one_body
from remand_app.domain.instants import Instant
from remand_app.domain.redrive import Item, ItemState, Redrive, RedriveState, RedriveVerb
from remand_app.engine import redrive
from remand_app.engine.redrive import Forecast, Options, Plan, Progress

router = APIRouter(tags=["redrives"])
_ONE = "/redrives/{redrive_id}"
RedriveId = Annotated[UUID, Path(description="Id of a redrive.")]


class NewRedrive(Body):
    """What is to be done, to which letters, and how."""

    selection: Selection
    verb: RedriveVerb = Field(RedriveVerb.REQUEUE, description="What is done with each letter.")
    canary: list[Annotated[int, Field(ge=1, le=1_000_000)]] = Field(
        default_factory=list, max_length=20, description="Letters sent before the rest, in stages: [1, 10].",
        examples=[[1, 10]],
    )  # fmt: skip
    success_share: float = Field(1.0, gt=0, le=1, description="Share of a canary that must succeed.")
    rate_per_second: float | None = Field(
        None, ge=0.001, le=100_000, description="Letters a second; null: as fast as it goes."
    )
    include_claimed: bool = Field(False, description="Letters that others have claimed, too.")
    queue: Line | None = Field(None, description="Where the failed steps run; null: their own queue.")
    priority: int | None = Field(None, ge=0, le=9, description="Of the failed steps; null: their own.")
    not_before: Instant | None = Field(None, description="It begins no earlier.")
    code_version: Line | None = Field(
        None, description="It begins once every live worker runs this version of the handlers."
    )
    reason: Reason = None

    def options(self) -> Options:
        """Return how it goes about it."""
        return Options(
            verb=self.verb,
            canary=tuple(self.canary),
            success_share=self.success_share,
            rate_per_second=self.rate_per_second,
            include_claimed=self.include_claimed,
            queue=self.queue,
            priority=self.priority,
            not_before=self.not_before,
            code_version=self.code_version,
        )


if TYPE_CHECKING:
    RedriveAction = Action
else:
    RedriveAction = one_body(
        "RedriveAction",
        "redrive",
        "`start` exactly what was planned; `pause`; `resume`, also one that stopped; `cancel` the rest.",
    )


@router.get("/redrives", response_model=Page[Redrive], summary="List redrives")
def list_redrives(
    engine: EngineOf,
    caller: LetterReader,
    state: Annotated[
        list[RedriveState] | None, Query(description="Default: all but those never started.")
    ] = None,
    cursor: After = None,
    limit: Limit = 50,
) -> Response:
    """List redrives, newest first."""
    states = [str(wanted) for wanted in state or ()]
    redrives = redrive.list_page(engine, states=states, after=cursor, limit=limit)
    return page(redrives)


@router.post(
    "/redrives",
    response_model=Plan,
    status_code=201,
    summary="Plan a redrive",
    responses={**CHANGES, **errors(409)},
)
def plan_redrive(engine: EngineOf, caller: LetterWriter, once: OnceOf, body: NewRedrive) -> Response:
    """Fix the exact set of letters and forecast how they would fare; nothing is done with any of them yet.

    What is started later is this set, whatever has come or gone since. A plan that nobody starts is
    forgotten after a day.
    """

    def act(_: UUID) -> Response:
        made = redrive.plan(
            engine,
            body.selection.wanted(),
            caller.who(body.reason),
            body.options(),
            everything=body.selection.everything,
        )
        return answer(made, 201, {"Location": f"/api/v1/redrives/{made.redrive.id}"})

    return once.run(body, act)


@router.get(_ONE, response_model=Progress, summary="Show how a redrive goes", responses=errors(404))
def show_redrive(engine: EngineOf, caller: LetterReader, redrive_id: RedriveId) -> Response:
    """Show where it stands, how fast it goes, when it may be done, and which errors are new."""
    return answer(redrive.progress(engine, redrive_id))


@router.get(
    _ONE + "/forecast", response_model=Forecast, summary="Forecast a redrive anew", responses=errors(404)
)
def forecast_redrive(engine: EngineOf, caller: LetterReader, redrive_id: RedriveId) -> Response:
    """Say how the letters of its set would fare now."""
    return answer(redrive.forecast(engine, redrive_id))


@router.get(
    _ONE + "/items",
    response_model=Page[Item],
    summary="List what became of each letter",
    responses=errors(404),
)
def list_redrive_items(
    engine: EngineOf,
    caller: LetterReader,
    redrive_id: RedriveId,
    state: Annotated[list[ItemState] | None, Query(description="Only these.")] = None,
    cursor: After = None,
    limit: Limit = 50,
) -> Response:
    """List the letters of its set in their order: sent, succeeded, failed, skipped or not found, and why."""
    redrive.get(engine, redrive_id)
    states = [str(wanted) for wanted in state or ()]
    items = redrive.items_page(engine, redrive_id, states=states, after=cursor, limit=limit)
    return page(items)


@router.patch(
    _ONE,
    response_model=Redrive,
    summary="Start, pause, resume or cancel a redrive",
    responses={**CHANGES, **errors(404, 409)},
)
def change_redrive(
    engine: EngineOf, caller: LetterWriter, redrive_id: RedriveId, body: RedriveAction
) -> Response:
    """Decide on a redrive; where it does not stand so that this can be, 409 says how it stands."""
    return answer(carry_out(engine, "redrive", (redrive_id,), body, caller))
