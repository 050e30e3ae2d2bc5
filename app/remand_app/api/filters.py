"""Filters, as query parameters and as the body of a bulk request: both are made from their declaration.

The API's description and checks of a field come from `remand_app.domain.filters.Asked`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import Depends, Query
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, create_model
from starlette.requests import Request
from starlette.responses import Response

from remand_app.api.dependencies import LONGEST_PAGE, Cursor, Line
from remand_app.domain.dead_letter_filter import LetterFilter
from remand_app.domain.errors import InputInvalid
from remand_app.domain.filters import Question, questions
from remand_app.domain.instants import Instant

MOST_IDS = 10_000


def with_filter(of: type[Any]) -> Callable[[Callable[..., Response]], Callable[..., Response]]:
    """Give a route the query parameters of a filter in the place of its parameter `asked`: the filter."""

    def change(route: Callable[..., Response]) -> Callable[..., Response]:
        @wraps(route)
        def endpoint(**arguments: Any) -> Response:
            sent = {question.name: arguments.pop(question.name) for question in questions(of)}
            return route(asked=of(**_values(of, sent)), **arguments)

        made = inspect.signature(route, eval_str=True)
        parameters = [
            part
            for parameter in made.parameters.values()
            for part in (map(_parameter, questions(of)) if parameter.name == "asked" else [parameter])
        ]
        keywords = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
        endpoint.__signature__ = made.replace(parameters=keywords)  # type: ignore[attr-defined]
        return endpoint

    return change


def _values(of: type, sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was sent as the fields of a filter."""
    return {
        question.field: tuple(value) if isinstance(value, list) else value
        for question in questions(of)
        if (value := sent[question.name]) is not None
    }


def _parameter(question: Question) -> inspect.Parameter:
    kind: Any = question.kind
    if question.asked.pattern:
        kind = Annotated[str, StringConstraints(pattern=question.asked.pattern)]
    elif kind is str and question.choices:
        kind = Literal.__getitem__(question.choices)
    elif kind is str:
        kind = Line
    elif kind is datetime:
        kind = Instant
    if question.is_many:
        kind = list[kind]
    default = None if question.is_many else question.default
    return inspect.Parameter(
        question.name,
        inspect.Parameter.KEYWORD_ONLY,
        annotation=Annotated[kind if default else kind | None, Query(description=question.asked.about)],
        default=default,
    )


def _fields(of: type) -> dict[str, Any]:
    return {question.name: _field(question) for question in questions(of)}


def _field(question: Question) -> Any:
    kind: Any = question.kind
    if kind is str:
        kind = Annotated[Line, StringConstraints(min_length=question.asked.least)]
    elif kind is datetime:
        kind = Instant
    more: dict[str, Any] = {"description": question.asked.about}
    if question.asked.example:
        more["examples"] = [question.asked.example]
    if question.is_many:
        # As many as one request may act on at once.
        return (list[kind] | None, Field(None, max_length=MOST_IDS, **more))
    return (kind | None, Field(None, **more))


class _Criteria(BaseModel):
    model_config = ConfigDict(extra="forbid")

    closed_too: bool = Field(False, alias="all", description="Whatever their status.")

    def wanted(self) -> LetterFilter:
        """Return the filter.

        Raises:
            InputInvalid: two of its conditions exclude each other.
        """
        values = _values(LetterFilter, dict(self))
        if not self.closed_too:
            return LetterFilter(**values)
        if "statuses" in values:
            raise InputInvalid("`all` and `status` exclude each other")
        return LetterFilter(**values, statuses=())


if TYPE_CHECKING:
    Criteria = _Criteria
else:
    Criteria = create_model("Criteria", __base__=_Criteria, **_fields(LetterFilter))


class LetterQuery(Criteria):
    """A question for a page of dead letters."""

    cursor: Cursor | None = Field(None, description="`next` of the page before.")
    limit: int = Field(50, ge=1, le=LONGEST_PAGE, description="Items of a page, at most.")


class Selection(Criteria):
    """The dead letters that something is to be done to; without any condition it needs `everything`."""

    everything: bool = Field(False, description="Yes, every open one: nothing narrows it down.")


_REPEATED = frozenset(question.name for question in questions(LetterFilter) if question.is_many)


async def _question(request: Request) -> LetterQuery:
    # Does what FastAPI does with a query model, at a tenth of the cost: FastAPI inspects all fields anew.
    sent: dict[str, Any] = {}
    for name, value in request.query_params.multi_items():
        if name in _REPEATED:
            sent.setdefault(name, []).append(value)
        else:
            sent[name] = value
    try:
        return LetterQuery.model_validate(sent)
    except ValidationError as error:
        problems = [
            {**problem, "loc": ("query", *problem["loc"])} for problem in error.errors(include_url=False)
        ]
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
        return [_inlined(part, known) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return known[schema["$ref"].rpartition("/")[2]]
    return {name: _inlined(value, known) for name, value in schema.items()}


QUESTION = {"parameters": _parameters()}
"""What the document says of `LetterQuestion`."""
