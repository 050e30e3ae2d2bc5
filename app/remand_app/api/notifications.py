"""`/notifications`: whether messages to people outside are delivered; send again those that were given up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Path, Query
from pydantic import Field
from starlette.responses import Response

from remand_app.api.dependencies import (
    After,
    Body,
    EngineOf,
    LetterReader,
    Limit,
    Line,
    QueueReader,
    QueueWriter,
    Reason,
)
from remand_app.api.openapi import CHANGES, Page, errors
from remand_app.api.responses import answer, page, whole
from remand_app.domain.notifications import DeliveryState
from remand_app.engine import notification_targets
from remand_app.resources.notifications import Notification, TargetStatus, list_page

router = APIRouter(tags=["notifications"])
TargetName = Annotated[Line, Path(description="Name of a target in the settings.", examples=["pager"])]


@dataclass(frozen=True, slots=True)
class Retried:
    """How many notices are sent again."""

    target: str
    count: int


class RetryNotices(Body):
    """What is to be sent again."""

    action: Literal["retry"] = Field(description="retry: what was given up is sent again, under its ids.")
    notifications: list[UUID] = Field(
        [], max_length=200, description="Only the messages with these notices; empty: all of the target."
    )
    reason: Reason = None


@router.get("/notifications", response_model=Page[Notification], summary="List notices")
def list_notifications(
    engine: EngineOf,
    caller: LetterReader,
    state: Annotated[list[DeliveryState] | None, Query(description="Only in these states.")] = None,
    target: Annotated[Line | None, Query(description="Only of this target.")] = None,
    cursor: After = None,
    limit: Limit = 50,
) -> Response:
    """List what people outside are told, newest first: to whom, whether it was sent, and why not."""
    notices = list_page(engine.database, states=state or (), target=target, after=cursor, limit=limit)
    return page(notices)


@router.get(
    "/notifications/targets", response_model=Page[TargetStatus], summary="List the targets of notices"
)
def list_notification_targets(engine: EngineOf, caller: QueueReader) -> Response:
    """List the targets by name: what waits for each, what was given up, since when none was taken."""
    return whole(notification_targets.standings(engine))


@router.patch(
    "/notifications/targets/{target}",
    response_model=Retried,
    summary="Send notices again",
    responses={**CHANGES, **errors(404, 409)},
)
def retry_notifications(
    engine: EngineOf, caller: QueueWriter, target: TargetName, body: RetryNotices
) -> Response:
    """Have sent again what was given up; the sweep sends it, within `notify_interval_seconds`."""
    count = notification_targets.retry(engine, target, caller.who(body.reason), body.notifications)
    return answer(Retried(target, count))
