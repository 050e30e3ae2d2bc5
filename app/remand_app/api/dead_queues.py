"""`/dead-queues`: queues that hold dead letters; `/queues/{queue}/settings`: which of them a queue uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import Field
from starlette.responses import Response

from remand_app.api.dependencies import (
    AdminWriter,
    Body,
    EngineOf,
    LetterReader,
    Line,
    Prose,
    QueueReader,
    Reason,
)
from remand_app.api.idempotency import OnceOf
from remand_app.api.openapi import CHANGES, Page, errors
from remand_app.api.queues import QueueName
from remand_app.api.responses import answer, whole
from remand_app.engine import dead_queues
from remand_app.resources.queues import (
    DeadQueue,
    QueueSettings,
    QueueSettingsChanged,
    change_settings,
    settings_of,
)

router = APIRouter(tags=["dead queues"])
_ONE = "/dead-queues/{dead_queue}"
DeadQueueName = Annotated[Line, Path(description="Name of a dead queue.", examples=["payments-dead"])]
Description = Annotated[Prose, Field(description="Whose it is and what for.")]
SizeLimit = Annotated[
    int | None, Field(description="Open letters it is meant to hold: beyond is a warning. null: the setting.")
]


@dataclass(frozen=True, slots=True)
class DeadQueueGone:
    """A dead queue that was deleted."""

    name: str
    moved_to: str | None
    moved: int
    """Letters that were moved."""


class NewDeadQueue(Body):
    """A dead queue to be made."""

    name: Line = Field(description="Free of other queues' names.", examples=["payments-dead"])
    description: Description = ""
    size_limit: SizeLimit = None
    reason: Reason = None


class DeadQueueChange(Body):
    """What is to be changed of a dead queue; what is not given stays."""

    description: Annotated[Prose | None, Field(description="Whose it is and what for.")] = None
    size_limit: Annotated[int | None, Field(description="Open letters it is meant to hold.")] = None
    reason: Reason = None


class QueueChange(Body):
    """What is to be set for a queue; what is not given stays."""

    dead_queue: Annotated[
        Line | None,
        Field(description="Where its letters go; `default` unsets it.", examples=["payments-dead"]),
    ] = None
    expire_after_seconds: Annotated[
        float | None,
        Field(ge=0, description="Age at which workflows that begin in it become dead letters; 0: never."),
    ] = None
    reason: Reason = None


@router.get("/dead-queues", response_model=Page[DeadQueue], summary="List the dead queues")
def list_dead_queues(engine: EngineOf, caller: LetterReader) -> Response:
    """List the dead queues by name: how many open letters lie in each, which queues' letters go there."""
    return whole(dead_queues.list_dead_queues(engine))


@router.get(_ONE, response_model=DeadQueue, summary="Show a dead queue", responses=errors(404))
def show_dead_queue(engine: EngineOf, caller: LetterReader, dead_queue: DeadQueueName) -> Response:
    """Show one dead queue; its letters: `GET /dlq?dead_queue=…`."""
    return answer(dead_queues.get_dead_queue(engine, dead_queue))


@router.post(
    "/dead-queues",
    response_model=DeadQueue,
    status_code=201,
    summary="Make a dead queue",
    responses={**CHANGES, **errors(409)},
)
def create_dead_queue(engine: EngineOf, caller: AdminWriter, body: NewDeadQueue, once: OnceOf) -> Response:
    """Make a dead queue; then let a template or a queue name it. No step can run in a queue of that name."""

    def create(_: object) -> Response:
        made = dead_queues.create_dead_queue(
            engine,
            body.name,
            caller.who(body.reason),
            description=body.description,
            size_limit=body.size_limit,
        )
        return answer(made, 201)

    return once.run(body, create)


@router.patch(
    _ONE, response_model=DeadQueue, summary="Change a dead queue", responses={**CHANGES, **errors(404)}
)
def change_dead_queue(
    engine: EngineOf, caller: AdminWriter, dead_queue: DeadQueueName, body: DeadQueueChange
) -> Response:
    """Change what is told of a dead queue, or how much it is meant to hold."""
    changed = dead_queues.change_dead_queue(
        engine,
        dead_queue,
        caller.who(body.reason),
        description=body.description,
        size_limit=body.size_limit,
    )
    return answer(changed)


@router.delete(_ONE, response_model=DeadQueueGone, summary="Delete a dead queue", responses=errors(404, 409))
def delete_dead_queue(
    engine: EngineOf,
    caller: AdminWriter,
    dead_queue: DeadQueueName,
    move_to: Annotated[Line | None, Query(description="Move its letters and queues there first.")] = None,
    reason: Annotated[Line | None, Query(description="Why: recorded with the decision.")] = None,
) -> Response:
    """Delete a dead queue. No letter is lost: it must be empty, or they are moved."""
    moved = dead_queues.delete_dead_queue(engine, dead_queue, caller.who(reason), move_to=move_to)
    return answer(DeadQueueGone(dead_queue, move_to, moved))


@router.get(
    "/queues/{queue}/settings",
    response_model=QueueSettings,
    summary="Show what a queue is set to",
    responses=errors(404),
)
def show_queue_settings(engine: EngineOf, caller: QueueReader, queue: QueueName) -> Response:
    """Show where dead letters of a queue's steps lie, and at what age workflows that begin in it expire."""
    return answer(settings_of(engine, queue))


@router.patch(
    "/queues/{queue}/settings",
    response_model=QueueSettingsChanged,
    summary="Set where a queue's letters go and when its workflows expire",
    responses={**CHANGES, **errors(404, 409)},
)
def change_queue_settings(
    engine: EngineOf, caller: AdminWriter, queue: QueueName, body: QueueChange
) -> Response:
    """Say where dead letters of a queue's steps lie, and at what age workflows that begin in it expire.

    A template that names a dead queue itself goes first; of ages the least counts.
    """
    changed = change_settings(
        engine,
        queue,
        caller.who(body.reason),
        dead_queue=body.dead_queue,
        expire_after_seconds=body.expire_after_seconds,
    )
    return answer(changed)
