"""Which dead letters: the same filter as a query, and as the body of what is done to many."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from fastapi import Depends
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from starlette.requests import Request

from app.api.parts import LONGEST_PAGE, Cursor, Line
from app.domain.dead_letter_filter import OPEN, LetterFilter
from app.domain.errors import InputInvalid
from app.domain.instants import Instant
from app.domain.states import DeadLetterStatus, DeadReason

MOST_IDS = 10_000


class Criteria(BaseModel):
    """What dead letters are asked for by; all that is given must hold."""

    model_config = ConfigDict(extra="forbid")

    status: list[DeadLetterStatus] | None = Field(None, description="Default: the open ones.")
    closed_too: bool = Field(False, alias="all", description="Whatever their status.")
    workflow_id: UUID | None = None
    namespace: Line | None = None
    template: Line | None = Field(None, description="Its name.")
    version: Line | None = None
    step: Line | None = None
    handler: Line | None = None
    queue: Line | None = Field(None, description="The queue of the step.")
    dead_queue: Line | None = Field(None, description="Where they lie.")
    reason: list[DeadReason] | None = None
    category: list[Line] | None = None
    error_class: Line | None = Field(None, examples=["httpx.ConnectTimeout"])
    group_id: UUID | None = None
    claimed_by: Line | None = None
    label: Line | None = None
    text: Annotated[Line, StringConstraints(min_length=3)] | None = Field(
        None, description="In the message of the error."
    )
    opened_from: Instant | None = Field(None, description="Opened at this instant or later.")
    opened_before: Instant | None = None

    def wanted(self, ids: tuple[UUID, ...] = ()) -> LetterFilter:
        """Return the filter; `ids`: only of these."""
        return LetterFilter(**self._given(), ids=ids)

    def _given(self) -> dict[str, Any]:
        if self.closed_too and self.status:
            raise InputInvalid("`all` and `status` exclude each other")
        given = {name: getattr(self, name) for name in _ALIKE}
        statuses = () if self.closed_too else tuple(self.status or OPEN)
        return {
            **given,
            "statuses": statuses,
            "reasons": tuple(self.reason or ()),
            "categories": tuple(self.category or ()),
        }


_ALIKE = (
    "workflow_id",
    "namespace",
    "template",
    "version",
    "step",
    "handler",
    "queue",
    "dead_queue",
    "error_class",
    "group_id",
    "claimed_by",
    "label",
    "text",
    "opened_from",
    "opened_before",
)


class LetterQuery(Criteria):
    """A question for a page of dead letters."""

    cursor: Cursor | None = Field(None, description="`next` of the page before.")
    limit: int = Field(50, ge=1, le=LONGEST_PAGE, description="Items of a page, at most.")


_REPEATED = frozenset({"status", "reason", "category"})


async def _question(request: Request) -> LetterQuery:
    # As FastAPI reads a model from the query, at a tenth of the cost: it looks at each field of it each time.
    sent: dict[str, Any] = {}
    for name, value in request.query_params.multi_items():
        if name in _REPEATED:
            sent.setdefault(name, []).append(value)
        else:
            sent[name] = value
    try:
        return LetterQuery.model_validate(sent)
    except ValidationError as error:
        problems = [{**one, "loc": ("query", *one["loc"])} for one in error.errors(include_url=False)]
        raise RequestValidationError(problems) from None


LetterQuestion = Annotated[LetterQuery, Depends(_question)]


def _parameters() -> list[dict[str, Any]]:
    described = LetterQuery.model_json_schema()
    return [
        {"name": name, "in": "query", "required": False, "schema": _inlined(schema, described["$defs"])}
        for name, schema in described["properties"].items()
    ]


def _inlined(schema: Any, known: dict[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_inlined(one, known) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return known[schema["$ref"].rpartition("/")[2]]
    return {name: _inlined(value, known) for name, value in schema.items()}


QUESTION = {"parameters": _parameters()}
"""What the document says of `LetterQuestion`."""


class Selection(Criteria):
    """The dead letters that something is to be done to; without any condition it needs `everything`."""

    ids: list[UUID] = Field(default_factory=list, max_length=MOST_IDS, description="Exactly these.")
    everything: bool = Field(False, description="Yes, every open one: nothing narrows it down.")

    def chosen(self) -> LetterFilter:
        """Return the filter."""
        return self.wanted(tuple(self.ids))
