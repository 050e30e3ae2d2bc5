"""`/queues` and `/workers`: what waits where, who listens; pause a queue, let it go on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Path, Query
from pydantic import Field
from starlette.responses import Response

from app.api.answers import answer, whole
from app.api.contract import CHANGES, Page, errors
from app.api.parts import Body, EngineOf, Line, QueueReader, QueueWriter, Reason
from app.engine import overview, pauses
from app.store import diagnosis, workers

router = APIRouter(tags=["queues and workers"])
QueueName = Annotated[Line, Path(description="Name of a Celery queue.", examples=["steps"])]


@dataclass(frozen=True, slots=True)
class Queue:
    """What is in a queue, whether it is paused, who listens."""

    queue: str
    ready: int
    failed: int
    waiting: int
    held: int
    claimed: int
    due: int
    oldest_seconds: float | None
    is_paused: bool
    paused_since: datetime | None
    paused_by: str | None
    paused_reason: str | None
    workers: list[str]


@dataclass(frozen=True, slots=True)
class QueueChanged(Queue):
    """A queue after a verb; `changed`: False if it stood so before."""

    changed: bool


@dataclass(frozen=True, slots=True)
class Worker:
    """One start of a worker."""

    id: UUID
    hostname: str
    pid: int
    queues: list[str]
    pool: str
    concurrency: int
    version: str
    code_version: str | None
    started_at: datetime
    heartbeat_at: datetime
    stopped_at: datetime | None
    is_alive: bool


class QueueAction(Body):
    """What is to be done with a queue."""

    action: Literal["pause", "resume"] = Field(
        description="pause: nothing more is claimed from it, what runs ends, nothing in it is lost."
    )
    reason: Reason = None


@router.get("/queues", response_model=Page[Queue], summary="List the queues")
def list_queues(engine: EngineOf, caller: QueueReader) -> Response:
    """List the queues: what is in each, how long the oldest work has been due, who listens."""
    return whole(one.to_dict() for one in overview.queues(engine))


@router.get("/queues/{queue}", response_model=Queue, summary="Show a queue", responses=errors(404))
def show_queue(engine: EngineOf, caller: QueueReader, queue: QueueName) -> Response:
    """Show what is in one queue and why it waits, whether it is paused, who listens."""
    return answer(overview.find_queue(engine, queue).to_dict())


@router.patch(
    "/queues/{queue}",
    response_model=QueueChanged,
    summary="Pause a queue, or let it go on",
    responses={**CHANGES, **errors(404)},
)
def change_queue(engine: EngineOf, caller: QueueWriter, queue: QueueName, body: QueueAction) -> Response:
    """Pause a queue, or let it go on; in a paused retry queue failed attempts wait undecided."""
    if body.action == "pause":
        changed = pauses.pause_queue(engine, queue, by=caller.name, reason=body.reason, via=caller.via)
    else:
        changed = pauses.resume_queue(engine, queue, by=caller.name, reason=body.reason, via=caller.via)
    return answer({**overview.find_queue(engine, queue).to_dict(), "changed": changed})


@router.get("/workers", response_model=Page[Worker], summary="List the workers")
def list_workers(
    engine: EngineOf,
    caller: QueueReader,
    all_: Annotated[bool, Query(alias="all", description="Those that have ended, too.")] = False,
) -> Response:
    """List the workers that are alive, and what they listen to; the newest first."""
    live = {one.id for one in diagnosis.live_workers(engine.database, engine.settings, engine.clock)}
    known = [one for one in workers.listed(engine.database) if all_ or one.id in live]
    shown = [name for name in Worker.__slots__ if name != "is_alive"]
    return whole(
        {**{name: getattr(one, name) for name in shown}, "is_alive": one.id in live} for one in known
    )
