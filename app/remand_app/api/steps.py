"""`/workflows/{id}/steps`: look at steps and their attempts; retry, resolve, skip, complete them by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter
from starlette.responses import Response

from remand_app.api.dependencies import EngineOf, StepName, WorkflowId, WorkflowReader, WorkflowWriter
from remand_app.api.openapi import CHANGES, Page, errors
from remand_app.api.responses import answer, whole
from remand_app.api.verbs import Action, bodies, carry_out
from remand_app.engine.operate import Decided, Preview
from remand_app.resources import steps
from remand_app.resources.steps import Attempt, Step, StepDecision, StepShown
from remand_app.resources.values import fields_of
from remand_app.resources.workflows import get_workflow

router = APIRouter(tags=["steps"])
_STEPS = "/workflows/{workflow_id}/steps"
_STEP = _STEPS + "/{step}"


if TYPE_CHECKING:
    StepAction = Action
else:
    StepAction = bodies("step")


@router.get(_STEPS, response_model=Page[Step], summary="List the steps of a workflow", responses=errors(404))
def list_steps(engine: EngineOf, caller: WorkflowReader, workflow_id: WorkflowId) -> Response:
    """List the steps in the order of their template."""
    get_workflow(engine.database, workflow_id)
    return whole(steps.steps_of(engine.database, workflow_id, engine.settings.redact_keys))


@router.get(_STEP, response_model=StepShown, summary="Show a step with its attempts", responses=errors(404))
def show_step(engine: EngineOf, caller: WorkflowReader, workflow_id: WorkflowId, step: StepName) -> Response:
    """Show a step and all its attempts: how each ended, how it was classified and why."""
    return answer(steps.show(engine.database, workflow_id, step, engine.settings.redact_keys))


@router.get(
    _STEP + "/attempts",
    response_model=Page[Attempt],
    summary="List a step's attempts",
    responses=errors(404),
)
def list_step_attempts(
    engine: EngineOf, caller: WorkflowReader, workflow_id: WorkflowId, step: StepName
) -> Response:
    """List the attempts of a step in order; the one under way is "running"."""
    shown = steps.show(engine.database, workflow_id, step, engine.settings.redact_keys)
    return whole(shown.attempts)


@router.patch(
    _STEP,
    response_model=StepDecision | Preview,
    summary="Retry, resolve, skip or complete a step",
    responses={**CHANGES, **errors(404, 409)},
)
def change_step(
    engine: EngineOf, caller: WorkflowWriter, workflow_id: WorkflowId, step: StepName, body: StepAction
) -> Response:
    """Decide on a step; the workflow goes on, and its dead letter closes when nothing else is in error."""
    made = carry_out(engine, "step", (workflow_id, step), body, caller, workflow_id)
    return answer(StepDecision(**fields_of(made), step=step) if isinstance(made, Decided) else made)
