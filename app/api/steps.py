"""`/workflows/{id}/steps`: look at steps and their attempts; retry, resolve, skip, complete them by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, assert_never
from uuid import UUID

from fastapi import APIRouter
from fastapi import Body as InBody
from pydantic import Field
from starlette.responses import Response

from app.api.answers import answer, whole
from app.api.contract import CHANGES, Page, errors
from app.api.parts import (
    Body,
    DryRun,
    EngineOf,
    Line,
    Reason,
    StepName,
    WorkflowId,
    WorkflowReader,
    WorkflowWriter,
)
from app.api.views import Decision
from app.engine import operate
from app.engine.context import Engine
from app.engine.masking import masked
from app.engine.operate import Decided, Preview, Who
from app.store.steps import Attempt, Step, attempts_of, get_step, steps_of
from app.store.workflows import get_workflow

router = APIRouter(tags=["steps"])
_STEPS = "/workflows/{workflow_id}/steps"
_STEP = _STEPS + "/{step}"


@dataclass(frozen=True, slots=True)
class StepShown:
    """A step with its attempts."""

    step: Step
    attempts: list[Attempt]


@dataclass(frozen=True, slots=True)
class StepDecision(Decision):
    """What a verb did to a step."""

    step: str


class RetryStep(Body):
    """Run a failed step again with fresh attempts; one that waits for its retry runs at once."""

    action: Literal["retry"]
    input: Any = Field(
        None, description="Run it with this input from now on; null is one. Left out: it keeps what it has."
    )
    queue: Line | None = Field(None, description="Let it run in this queue from now on.")
    priority: int | None = Field(None, ge=0, le=9, description="And with this priority.")
    reason: Reason = None
    dry_run: DryRun = False


class ResolveStep(Body):
    """Declare it done by hand, without a result: steps that depend on it go on and find null."""

    action: Literal["resolve"]
    reason: Reason = None
    dry_run: DryRun = False


class SkipStep(Body):
    """Do without it and what is behind it alone; a join that another branch leads to runs and finds null."""

    action: Literal["skip"]
    reason: Reason = None
    dry_run: DryRun = False


class CompleteStep(Body):
    """Complete it by hand with a result, as if its handler had returned it."""

    action: Literal["complete"]
    result: Any = Field(description="What its handler would have returned.")
    reason: Reason = None
    dry_run: DryRun = False


_AnyAction = RetryStep | ResolveStep | SkipStep | CompleteStep
StepAction = Annotated[_AnyAction, InBody(discriminator="action")]


@router.get(_STEPS, response_model=Page[Step], summary="List the steps of a workflow", responses=errors(404))
def list_steps(engine: EngineOf, caller: WorkflowReader, workflow_id: WorkflowId) -> Response:
    """List the steps in the order of their template."""
    get_workflow(engine.database, workflow_id)
    secret = engine.settings.redact_keys
    return whole(masked(one, secret) for one in steps_of(engine.database, workflow_id))


@router.get(_STEP, response_model=StepShown, summary="Show a step with its attempts", responses=errors(404))
def show_step(engine: EngineOf, caller: WorkflowReader, workflow_id: WorkflowId, step: StepName) -> Response:
    """Show a step and all its attempts: how each ended, how it was classified and why."""
    secret = engine.settings.redact_keys
    shown = masked(get_step(engine.database, workflow_id, step), secret)
    attempts = [masked(one, secret) for one in attempts_of(engine.database, workflow_id, step)]
    return answer({"step": shown, "attempts": attempts})


@router.get(
    _STEP + "/attempts", response_model=Page[Attempt], summary="List a step's attempts", responses=errors(404)
)
def list_step_attempts(
    engine: EngineOf, caller: WorkflowReader, workflow_id: WorkflowId, step: StepName
) -> Response:
    """List the attempts of a step in order; the one under way is "running"."""
    get_step(engine.database, workflow_id, step)
    secret = engine.settings.redact_keys
    return whole(masked(one, secret) for one in attempts_of(engine.database, workflow_id, step))


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
    who = caller.who(body.reason)
    if body.dry_run:
        return answer(
            operate.preview(engine, workflow_id, lambda tried: _act(tried, workflow_id, step, body, who))
        )
    decided = Decision.of(_act(engine, workflow_id, step, body, who))
    return answer({"step": step, **{name: getattr(decided, name) for name in Decision.__slots__}})


def _act(
    engine: Engine,
    workflow_id: UUID,
    step: str,
    body: _AnyAction,
    who: Who,
) -> Decided:
    match body:
        case RetryStep():
            return operate.retry_step(
                engine,
                workflow_id,
                step,
                who,
                new_input=body.input if "input" in body.model_fields_set else operate.KEEP,
                queue=body.queue,
                priority=body.priority,
            )
        case ResolveStep():
            return operate.resolve_step(engine, workflow_id, step, who)
        case SkipStep():
            return operate.skip_step(engine, workflow_id, step, who)
        case CompleteStep():
            return operate.complete_step(engine, workflow_id, step, who, result=body.result)
        case _:
            assert_never(body)
