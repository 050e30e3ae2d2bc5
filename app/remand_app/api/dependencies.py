"""Dependencies of the routes: the engine, a caller with a permission, and shared parameters."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any
from uuid import UUID

from fastapi import Depends, Path, Query
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from starlette.requests import Request

from remand_app.domain.access import Permission
from remand_app.engine.engine import Engine
from remand_app.web.identity import Caller, require

LONGEST_PAGE = 200

Line = Annotated[str, StringConstraints(max_length=1000, pattern=r"^[^\x00]*$")]
"""A name or a short text; Postgres stores no NUL."""
Prose = Annotated[str, StringConstraints(max_length=20_000, pattern=r"^[^\x00]*$")]
"""A note or a reason."""
Reason = Annotated[Prose | None, Field(description="Why: recorded with the decision.")]

DryRun = Annotated[
    bool, Field(description="Only say what it would do: nothing is changed; the answer is a preview.")
]

WorkflowId = Annotated[UUID, Path(description="Id of a workflow.")]
StepName = Annotated[Line, Path(description="Name of a step, as its template has it.")]
LetterId = Annotated[UUID, Path(description="Id of a dead letter.")]
GroupId = Annotated[UUID, Path(description="Id of a group of dead letters.")]

Cursor = Annotated[
    Line, BeforeValidator(lambda text: text.replace(" ", "+") if isinstance(text, str) else text)
]
"""A cursor as it comes in a URL: who pastes one unquoted sends its plus as a space."""
After = Annotated[
    Cursor | None, Query(alias="cursor", description="`next` of the page before; without it: the first page.")
]
Limit = Annotated[int, Query(ge=1, le=LONGEST_PAGE, description="Items of a page, at most.")]


class Body(BaseModel):
    """A request's body: unknown fields are refused, so that a slip of the pen is not taken for consent."""

    model_config = ConfigDict(extra="forbid")


async def _engine(request: Request) -> Engine:
    engine: Engine = request.app.state.runtime.engine
    return engine


EngineOf = Annotated[Engine, Depends(_engine)]


def _allowed(needed: Permission) -> Callable[[Request], Coroutine[Any, Any, Caller]]:
    checked = require(needed)

    async def check(request: Request) -> Caller:
        # Runs on the event loop: it reads only the request, and a thread would cost more than the check.
        return checked(request)

    return check


WorkflowReader = Annotated[Caller, Depends(_allowed(Permission.WORKFLOWS_READ))]
WorkflowWriter = Annotated[Caller, Depends(_allowed(Permission.WORKFLOWS_WRITE))]
LetterReader = Annotated[Caller, Depends(_allowed(Permission.LETTERS_READ))]
LetterWriter = Annotated[Caller, Depends(_allowed(Permission.LETTERS_WRITE))]
QueueReader = Annotated[Caller, Depends(_allowed(Permission.QUEUES_READ))]
QueueWriter = Annotated[Caller, Depends(_allowed(Permission.QUEUES_WRITE))]
BreakerReader = Annotated[Caller, Depends(_allowed(Permission.BREAKERS_READ))]
BreakerWriter = Annotated[Caller, Depends(_allowed(Permission.BREAKERS_WRITE))]
TemplateReader = Annotated[Caller, Depends(_allowed(Permission.TEMPLATES_READ))]
TemplateWriter = Annotated[Caller, Depends(_allowed(Permission.TEMPLATES_WRITE))]
AdminReader = Annotated[Caller, Depends(_allowed(Permission.ADMIN_READ))]
AdminWriter = Annotated[Caller, Depends(_allowed(Permission.ADMIN_WRITE))]
