"""`/dlq/staleness`: which workflows show no sign of life, and since when."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from remand_app.api.dependencies import After, EngineOf, Limit, WorkflowReader
from remand_app.api.openapi import Page
from remand_app.api.responses import page
from remand_app.domain.staleness import Health, WorkflowStaleness
from remand_app.engine import staleness

router = APIRouter(tags=["dead letters"])


@router.get(
    "/dlq/staleness", response_model=Page[WorkflowStaleness], summary="List workflows without a sign of life"
)
def list_stale_workflows(
    engine: EngineOf,
    caller: WorkflowReader,
    health: Annotated[
        list[Health],
        Query(description="Only these: healthy, warning, stale. Of the healthy, the oldest in each state."),
    ] = list(staleness.NOT_HEALTHY),  # noqa: B006 - never changed
    cursor: After = None,
    limit: Limit = 50,
) -> Response:
    """List how workflows stand by the rule of the stale sweep: stale ones first, then what is stale soonest.

    `why` says what a workflow is measured by; `worker_unavailable` names in `queue` the queue that no live
    worker consumes. `takes_out`: the next sweep does what `action` says.
    """
    return page(staleness.shown(engine, health, after=cursor, limit=limit))
