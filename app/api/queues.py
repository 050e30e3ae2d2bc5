"""`/queues` and `/workers`: what waits in each queue and which workers listen; pause and resume a queue."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from pydantic import Field
from starlette.responses import Response

from app.api.dependencies import Body, EngineOf, Line, QueueReader, QueueWriter, Reason
from app.api.openapi import CHANGES, Page, errors
from app.api.responses import answer, whole
from app.resources import queues, workers
from app.resources.queues import Queue, QueueChanged
from app.resources.workers import Worker

router = APIRouter(tags=["queues and workers"])
QueueName = Annotated[Line, Path(description="Name of a Celery queue.", examples=["steps"])]


class QueueAction(Body):
    """What is to be done with a queue."""

    action: Literal["pause", "resume"] = Field(
        description="pause: nothing more is claimed from it, what runs ends, nothing in it is lost."
    )
    reason: Reason = None


@router.get("/queues", response_model=Page[Queue], summary="List the queues")
def list_queues(engine: EngineOf, caller: QueueReader) -> Response:
    """List the queues: what is in each, how long the oldest work has been due, who listens."""
    return whole(queues.queues(engine))


@router.get("/queues/{queue}", response_model=Queue, summary="Show a queue", responses=errors(404))
def show_queue(engine: EngineOf, caller: QueueReader, queue: QueueName) -> Response:
    """Show what is in one queue and why it waits, whether it is paused, who listens."""
    return answer(queues.find_queue(engine, queue))


@router.patch(
    "/queues/{queue}",
    response_model=QueueChanged,
    summary="Pause a queue, or let it go on",
    responses={**CHANGES, **errors(404)},
)
def change_queue(engine: EngineOf, caller: QueueWriter, queue: QueueName, body: QueueAction) -> Response:
    """Pause a queue, or let it go on; in a paused retry queue failed attempts wait undecided."""
    who = caller.who(body.reason)
    return answer(queues.set_paused(engine, queue, who, paused=body.action == "pause"))


@router.get("/workers", response_model=Page[Worker], summary="List the workers")
def list_workers(
    engine: EngineOf,
    caller: QueueReader,
    all_: Annotated[bool, Query(alias="all", description="Those that have ended, too.")] = False,
) -> Response:
    """List the workers that are alive, and what they listen to; the newest first."""
    return whole(workers.workers(engine, ended=all_))
