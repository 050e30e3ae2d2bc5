"""`/queues` and `/workers`: what waits in each queue and which workers listen; pause and resume a queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from remand_app.api.dependencies import EngineOf, Line, QueueReader, QueueWriter
from remand_app.api.openapi import CHANGES, Page, errors
from remand_app.api.responses import answer, whole
from remand_app.api.verbs import Action, carry_out, one_body
from remand_app.resources import queues, workers
from remand_app.resources.queues import Queue, QueueChanged
from remand_app.resources.workers import Worker

router = APIRouter(tags=["queues and workers"])
QueueName = Annotated[Line, Path(description="Name of a Celery queue.", examples=["steps"])]


if TYPE_CHECKING:
    QueueAction = Action
else:
    QueueAction = one_body("QueueAction", "queue", "What is to be done with a queue.")


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
    return answer(carry_out(engine, "queue", (queue,), body, caller))


@router.get("/workers", response_model=Page[Worker], summary="List the workers")
def list_workers(
    engine: EngineOf,
    caller: QueueReader,
    all_: Annotated[bool, Query(alias="all", description="Those that have ended, too.")] = False,
) -> Response:
    """List the workers that are alive, and what they listen to; the newest first."""
    return whole(workers.workers(engine, ended=all_))
