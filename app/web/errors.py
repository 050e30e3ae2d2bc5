"""Errors as answers: which status each branch of the tree has, and the one shape of their JSON.

A page gets the same as a few words of HTML, unless its application shows errors its own way.
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from app.domain.errors import (
    BadInput,
    BodyTooLarge,
    BrokerUnreachable,
    Conflict,
    DatabaseUnreachable,
    HostRefused,
    InputTooLarge,
    JsonTooLarge,
    NotAllowed,
    NotFound,
    NotSignedIn,
    TooManyLogins,
    Unfit,
    WaitTimedOut,
)
from app.web.identity import id_of, wants_json
from remand.errors import RemandError
from remand.redact import redact_text

_STATUS: tuple[tuple[type[RemandError], int], ...] = (
    (NotSignedIn, 401),
    (NotAllowed, 403),
    (HostRefused, 421),
    (TooManyLogins, 429),
    (BodyTooLarge, 413),
    (InputTooLarge, 413),
    (JsonTooLarge, 413),
    (BadInput, 422),
    (NotFound, 404),
    (Conflict, 409),
    (DatabaseUnreachable, 503),
    (BrokerUnreachable, 503),
    (Unfit, 503),
    (WaitTimedOut, 504),
)


def status_of(error: RemandError) -> int:
    """Return the HTTP status of an error of the product."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def body_of(error: RemandError) -> dict[str, Any]:
    """Return an error as JSON, passwords in texts masked."""
    told = error.to_dict()
    return {"error": {**told, "message": redact_text(error.message), "hint": redact_text(error.hint)}}


def headers_of(error: RemandError) -> dict[str, str]:
    """Return the headers that belong to an error: how to sign in, when to come again."""
    match error:
        case NotSignedIn():
            return {"WWW-Authenticate": 'Bearer realm="remand"'}
        case TooManyLogins():
            return {"Retry-After": str(error.retry_after_seconds)}
        case _:
            return {}


def answer(request: HTTPConnection, error: RemandError) -> Response:
    """Return the answer to a request that ended with an error of the product."""
    return _shown(request, status_of(error), body_of(error), headers_of(error))


def plain(request: HTTPConnection, status: int, code: str, message: str, **details: Any) -> Response:
    """Return an error that no exception of the product stands for, in the same shape."""
    told = {"code": code, "message": message, "hint": "", "details": details}
    return _shown(request, status, {"error": told}, {})


def sorry(request: HTTPConnection) -> Response:
    """Return the answer to a request that failed in a way nobody foresaw: its id, nothing of what it was."""
    request_id = id_of(request)
    message = f"something went wrong that should not have; the server's log has it under {request_id}"
    return plain(request, 500, "INTERNAL_ERROR", message, request_id=request_id)


def _shown(
    request: HTTPConnection, status: int, body: Mapping[str, Any], headers: Mapping[str, str]
) -> Response:
    if wants_json(request):
        return JSONResponse(body, status, headers)
    told = body["error"]
    page = (
        f"<!doctype html><html lang=en><title>Remand: {status}</title><h1>{html.escape(told['message'])}</h1>"
        f"<p>{html.escape(told['hint'])} ({html.escape(told['code'])})</p>"
    )
    return HTMLResponse(page, status, headers)


def install(app: Starlette) -> None:
    """Let an application answer errors in this shape, those of its framework included."""
    app.add_exception_handler(RemandError, _remand_error)
    app.add_exception_handler(RequestValidationError, _validation)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _unforeseen)


def _remand_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RemandError)
    return answer(request, error)


def _validation(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    problems = [
        {"path": ".".join(str(part) for part in one["loc"]), "message": one["msg"], "code": one["type"]}
        for one in error.errors()
    ]
    if any(one["code"] == "json_invalid" for one in problems):
        return plain(request, 400, "MALFORMED_JSON", "the body is not JSON", problems=problems)
    return plain(request, 422, "BAD_INPUT", "the request is not as it should be", problems=problems)


def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    made = plain(request, int(status), status.name, str(error.detail or status.phrase))
    for name, value in (error.headers or {}).items():
        made.headers[name] = value
    return made


def _unforeseen(request: Request, _error: Exception) -> Response:
    return sorry(request)
