"""`/health`: does this process answer, and can the service do its work."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fastapi import APIRouter
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from remand_app.api import openapi
from remand_app.api.dependencies import EngineOf, QueueReader
from remand_app.api.responses import answer
from remand_app.engine.engine import Engine
from remand_app.engine.last_look import LastLook
from remand_app.engine.readiness import Check, checks
from remand_app.web.errors import sees_servers

KEPT_SECONDS = 2.0
"""How long the result of a check is reused, so that more frequent requests cost nothing more."""

_SERVERS = ("database", "schema", "broker")

router = APIRouter(tags=["health"])
_OPEN: dict[str, list[str]] = {"security": []}


class Live(BaseModel):
    """The process answers."""

    status: str = Field(examples=["live"])


class Ready(BaseModel):
    """Whether the service can do its work."""

    ready: bool


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether the service can do its work, and what was looked at."""

    ready: bool
    checks: list[Check]


@router.get("/health/live", response_model=Live, summary="Does this process answer?", openapi_extra=_OPEN)
async def check_liveness() -> Response:
    """Say that the process answers; it asks nobody else."""
    return answer({"status": "live"})


@router.get(
    "/health/ready",
    response_model=Ready,
    summary="Can the service do its work?",
    responses={503: {"model": Ready, "description": "Something is missing; `/health` says what."}},
    openapi_extra=_OPEN,
)
def check_readiness(request: Request, engine: EngineOf) -> Response:
    """Answer 200 while work is done, else 503; to everybody, so without a reason.

    It is not done when the database or the broker is away, the schema does not fit, no sweep is seen (beat or
    its worker is missing), or work waits in a queue to which no live worker listens.
    """
    health = _looked(request, engine)
    return answer({"ready": health.ready}, 200 if health.ready else 503)


@router.get("/health", response_model=Readiness, summary="What is missing?", responses=openapi.EVERYWHERE)
def show_health(request: Request, engine: EngineOf, caller: QueueReader) -> Response:
    """Say what was looked at, and what of it is not as it must be."""
    health = _looked(request, engine)
    return answer(health if sees_servers(request) else Readiness(health.ready, [*map(_plain, health.checks)]))


def _plain(check: Check) -> Check:
    """Say nothing of where the servers are."""
    hides = check.name in _SERVERS and not check.ok
    return replace(check, message="is not as it must be; operators are told why") if hides else check


def _looked(request: Request, engine: Engine) -> Readiness:
    # A check takes seconds while a server is away: requests that come meanwhile get the previous result.
    last: LastLook[list[Check]] = request.app.state.last_checks
    results = last.get(lambda: checks(engine), waits=False)
    return Readiness(all(check.ok for check in results), results)
