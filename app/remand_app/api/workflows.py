"""`/workflows`: find, submit, look at, pause, restart, cancel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from remand_app.api.dependencies import (
    After,
    Body,
    EngineOf,
    Limit,
    Line,
    WorkflowId,
    WorkflowReader,
    WorkflowWriter,
)
from remand_app.api.filters import with_filter
from remand_app.api.idempotency import OnceOf
from remand_app.api.openapi import CHANGES, Page, errors
from remand_app.api.responses import answer, page, whole
from remand_app.api.verbs import Action, bodies, carry_out
from remand_app.domain.access import Permission
from remand_app.domain.workflow_filter import input_conditions
from remand_app.engine.operate import Decided, Preview
from remand_app.engine.submit import SubmitRequest, submit
from remand_app.resources import workflows
from remand_app.resources.workflows import WorkflowFilter

router = APIRouter(tags=["workflows"])


class WorkflowPage(Page[workflows.WorkflowLine]):
    """A page of workflows, newest first."""

    looked_back_to: datetime | None = Field(
        description="Where no index leads to what is asked for, a page looks at the newest 20 000 workflows "
        "before its cursor; this is the oldest of them. `next` goes on from there, even if `items` is empty."
    )


class Submission(Body):
    """What to submit."""

    template: Line = Field(
        description="namespace/name, or name; :version for other than the newest.", examples=["shop/quote"]
    )
    input: Any = Field(default_factory=dict, examples=[{"order": 17}])
    key: Line | None = Field(None, description="Identity: one workflow for each key, ever.")
    priority: int | None = Field(None, ge=0, le=9, description="0 (last) to 9 (first); null: the template's.")
    id: UUID | None = Field(None, description="A UUIDv7 of your own: repeating the submit is safe.")
    tags: list[Line] = Field(default_factory=list, max_length=100, description="Words to find it by.")


@dataclass(frozen=True, slots=True)
class Submitted:
    """What came of it."""

    workflow_id: UUID
    created: bool
    """False: its identity or id was there already."""


if TYPE_CHECKING:
    WorkflowAction = Action
else:
    WorkflowAction = bodies("workflow")


@router.get("/workflows", response_model=WorkflowPage, summary="Find workflows")
@with_filter(WorkflowFilter)
def list_workflows(
    request: Request,
    engine: EngineOf,
    caller: WorkflowReader,
    asked: WorkflowFilter,
    cursor: After = None,
    limit: Limit = 50,
) -> Response:
    """List workflows, newest first.

    `input.order=17` finds those whose input has 17 (as a number or as text) at `order`; names of deeper paths
    are joined by dots. Repeat it for more conditions; all must hold.
    """
    wanted = replace(asked, input=input_conditions(request.query_params.multi_items()))
    searched = workflows.search(engine.database, wanted, after=cursor, limit=limit)
    return page(searched.page.each(workflows.line_of), looked_back_to=searched.looked_back_to)


@router.post(
    "/workflows",
    response_model=Submitted,
    status_code=201,
    summary="Submit a workflow",
    responses={
        200: {"model": Submitted, "description": "It was there already."},
        **CHANGES,
        **errors(404, 409),
    },
)
def submit_workflow(engine: EngineOf, caller: WorkflowWriter, once: OnceOf, body: Submission) -> Response:
    """Store a workflow of a published template, all of it or nothing; it starts at once."""

    def act(seed: UUID) -> Response:
        wanted = SubmitRequest(body.input, body.key, body.priority, body.id or seed, tuple(body.tags))
        made = submit(engine, body.template, wanted, by=caller.name)
        where = {"Location": f"/api/v1/workflows/{made.workflow_id}"}
        return answer(Submitted(made.workflow_id, made.created), 201 if made.created else 200, where)

    return once.run(body, act)


@router.get(
    "/workflows/{workflow_id}",
    response_model=workflows.WorkflowShown,
    summary="Show a workflow with its steps",
    responses=errors(404),
)
def show_workflow(engine: EngineOf, caller: WorkflowReader, workflow_id: WorkflowId) -> Response:
    """Show where a workflow and each of its steps stand, and its open dead letter to whom may see those."""
    workflow = workflows.get_workflow(engine.database, workflow_id)
    secret = engine.settings.redact_keys
    sees_letters = caller.may(Permission.LETTERS_READ)
    return answer(workflows.show(engine.database, workflow, secret, sees_letters=sees_letters))


@router.get(
    "/workflows/{workflow_id}/history",
    response_model=Page[workflows.Move],
    summary="Tell every move of a workflow",
    responses=errors(404),
)
def list_moves(
    engine: EngineOf,
    caller: WorkflowReader,
    workflow_id: WorkflowId,
    step: Annotated[Line | None, Query(description="Only the moves of this step.")] = None,
) -> Response:
    """Tell every move of a workflow and its steps in order, with who made it and why."""
    workflows.get_workflow(engine.database, workflow_id)
    moves = workflows.moves_of(engine.database, workflow_id)
    return whole(move for move in moves if step is None or move.step == step)


@router.patch(
    "/workflows/{workflow_id}",
    response_model=Decided | Preview,
    summary="Cancel, pause, resume or restart a workflow",
    responses={**CHANGES, **errors(404, 409)},
)
def change_workflow(
    engine: EngineOf, caller: WorkflowWriter, workflow_id: WorkflowId, body: WorkflowAction
) -> Response:
    """Decide on a workflow; where it does not stand so that this can be, 409 says how it stands.

    Results that running steps still bring to a cancelled workflow are refused.
    """
    return answer(carry_out(engine, "workflow", (workflow_id,), body, caller, workflow_id))
