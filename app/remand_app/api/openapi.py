"""What the OpenAPI document says in addition to the routes: who may call, the form of errors and of pages."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, Field

from remand_app.domain.page import MOST_COUNTED

T = TypeVar("T")

ABOUT = """\
The same nouns, verbs and JSON as the command line.

- **Who**: `Authorization: Bearer rmd_…`, a token made with `remand token create`. Reading needs the role
  viewer, changing operator, the audit log and dead queues admin; a token may be narrower than its role.
- **Lists** are pages, `{"items", "next", "total"}`, all of them: `next` is the cursor of the page behind,
  null on the last; `total` says on the first page how many there are. A cursor stays good while rows come
  and go: what was there when the list was begun is neither missed nor shown twice (but for groups, which
  move up when they get another letter, and for stale workflows).
- **Errors** have one shape, `{"error": {"code", "message", "hint", "details"}}`; codes are stable. 409 says
  that the thing is not in a state that allows this, and in `details` in which state it is.
- **Idempotency-Key** on a POST makes a repetition safe for a day: the first answer comes again, with the
  header `Idempotency-Replayed: true`.
- **Instants** are ISO 8601 in UTC, durations seconds, ids UUIDv7.
"""

_MEANINGS = {
    400: "The body is not JSON.",
    401: "Nobody is signed in: no token, or one that is wrong, expired or revoked.",
    403: "Somebody is signed in who may not do this.",
    404: "Nothing has that name or id.",
    409: "The thing is not in a state that allows this; `details` says in which it is.",
    413: "The body, or a value in it, is larger than the settings allow.",
    422: "What was given is wrong; giving it again will not help.",
    429: "Too often; come again after `Retry-After` seconds.",
    503: "The database or the broker is away, or the schema is not fit.",
}
_PROBLEM = {"path": "query.limit", "message": "Input should be at most 200", "code": "less_than_equal"}
_EXAMPLES: dict[int, dict[str, Any]] = {
    401: {
        "code": "NOT_SIGNED_IN",
        "message": "nobody is signed in",
        "hint": "send `Authorization: Bearer rmd_…`",
    },
    404: {
        "code": "WORKFLOW_NOT_FOUND",
        "message": "no workflow 0197…",
        "hint": "see `remand workflow list`",
    },
    409: {
        "code": "ILLEGAL_MOVE",
        "message": "dead letter 0197… is claimed by ada since 2026-11-28 03:02 UTC",
        "hint": "ask them, or add a note",
        "details": {"status": "investigating", "claimed_by": "ada"},
    },
    422: {
        "code": "BAD_INPUT",
        "message": "the request is not as it should be",
        "details": {"problems": [_PROBLEM]},
    },
}


class ErrorBody(BaseModel):
    """What went wrong."""

    code: str = Field(description="Stable: programs may rely on it.", examples=["ILLEGAL_MOVE"])
    message: str = Field(description="For people.")
    hint: str = Field(description="What to do; empty where there is nothing to say.")
    details: dict[str, Any] = Field(description="Facts for programs; depends on the code.")


class ErrorAnswer(BaseModel):
    """The one shape of every error."""

    error: ErrorBody


class Page(BaseModel, Generic[T]):
    """A page of a list."""

    items: list[T]
    next: str | None = Field(description="Cursor of the page behind this one; null: it is the last.")
    total: int | None = Field(
        description="Items of all pages. null: not counted, as this is not the first page, or too many "
        f"(more than {MOST_COUNTED:,}) would have to be looked at."
    )


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return what a route says of the errors it answers with."""
    return {status: _error(status) for status in statuses}


def _error(status: int) -> dict[str, Any]:
    described: dict[str, Any] = {"model": ErrorAnswer, "description": _MEANINGS[status]}
    example = _EXAMPLES.get(status)
    if example is not None:
        shown = {"hint": "", "details": {}, **example}
        described["content"] = {"application/json": {"example": {"error": shown}}}
    if status in (429, 503):
        described["headers"] = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds."}}
    return described


EVERYWHERE = errors(401, 403, 422, 503)
"""Errors of every route but `health`."""
CHANGES = errors(400, 413)
"""Errors of every route that takes a body."""


def document(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document; made once."""
    if app.openapi_schema is None:
        made = get_openapi(
            title="Remand",
            version=app.version,
            summary="Durable workflows, and a dead letter queue that is an investigation.",
            description=ABOUT,
            routes=app.routes,
            tags=app.openapi_tags,
            servers=[{"url": f"{app.state.runtime.settings.web.path}/api/v1"}],
        )
        schemes = {"token": {"type": "http", "scheme": "bearer", "bearerFormat": "rmd_…"}}
        made["components"]["securitySchemes"] = schemes
        made["security"] = [{"token": []}]
        app.openapi_schema = made
    return app.openapi_schema
