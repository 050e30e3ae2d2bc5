"""Errors as responses: the status of each branch of the error tree, and the one shape of their JSON.

A browser gets the same content as a page; the dashboard shows it in the frame of its own pages.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, Final

from fastapi.exceptions import RequestValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response

from remand.errors import RemandError
from remand.redact import redact_text
from remand_app.domain.access import Role
from remand_app.domain.errors import (
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
from remand_app.telemetry import log
from remand_app.web import pages
from remand_app.web.identity import caller_of, id_of, wants_json

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


FORESEEN = (RemandError, RequestValidationError, HTTPException)
Handler = Callable[[Request, Exception], Response | Awaitable[Response]]

_TITLES = {
    401: "Nobody is signed in",
    403: "You may not do this",
    404: "There is nothing here",
    405: "There is nothing here",
    413: "That is too much",
    421: "This is another server",
    503: "Not just now",
}
"""Status → heading of its page."""

OWN_CODES: Final[Mapping[str, tuple[int, str]]] = MappingProxyType(
    {
        "BAD_REQUEST": (400, "The body cannot be read as what it says it is."),
        "MALFORMED_JSON": (400, "The body is not JSON."),
        "NOT_FOUND": (404, "Nothing has this address. Things that are not there have codes of their own."),
        "METHOD_NOT_ALLOWED": (405, "What has this address does not take this method."),
        "TOO_SLOW": (408, "The body did not come within `web.body_seconds`."),
        "BAD_INPUT": (422, "Parameters or body are not as documented; `details.problems` lists all of them."),
        "INTERNAL_ERROR": (
            500,
            "A bug, or a failure nobody foresaw: the log has it under `details.request_id`.",
        ),
    }
)
"""Codes that no exception of the product stands for → status and meaning."""


@dataclass(frozen=True, slots=True)
class Told:
    """What the client is told of an error."""

    status: int
    error: Mapping[str, Any]
    """Its code, message, hint and details."""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The heading of its page."""
        return _TITLES.get(self.status, "That did not work")


def status_of(error: RemandError) -> int:
    """Return the HTTP status of an error of the product."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def headers_of(error: RemandError) -> dict[str, str]:
    """Return the headers that belong to an error: how to sign in, when to try again."""
    match error:
        case NotSignedIn():
            return {"WWW-Authenticate": 'Bearer realm="remand"'}
        case TooManyLogins():
            return {"Retry-After": str(error.retry_after_seconds)}
        case _:
            return {}


def told_of(request: HTTPConnection, error: Exception) -> Told:
    """Return what to tell of an error of the product, or of the framework. Passwords in texts are masked.

    Servers' addresses and messages are shown to operators only; for all others they are in the log.
    """
    match error:
        case Unfit() if not sees_servers(request):
            return _unfit(request, error)
        case RemandError():
            masked = {"message": redact_text(error.message), "hint": redact_text(error.hint)}
            return Told(status_of(error), {**error.to_dict(), **masked}, headers_of(error))
        case RequestValidationError():
            return _of_validation(error)
        case HTTPException():
            return _of_framework(error)
        case _:
            raise TypeError(type(error))


def sees_servers(request: HTTPConnection) -> bool:
    """Whether the caller may learn hosts, ports and names of databases."""
    caller = caller_of(request)
    return caller is not None and caller.role.includes(Role.OPERATOR)


def _unfit(request: HTTPConnection, error: Unfit) -> Told:
    request_id = id_of(request)
    log("request.unserved", request_id=request_id, code=error.code, error=f"{error.message} ({error.hint})")
    error_body = {
        "code": error.code,
        "message": next((words for kind, words in _UNFIT if isinstance(error, kind)), _NOT_SET_UP),
        "hint": f"the server's log has it under {request_id}",
        "details": {"request_id": request_id},
    }
    return Told(status_of(error), error_body)


_NOT_SET_UP = "the service is not set up to do this"
_UNFIT: tuple[tuple[type[Unfit], str], ...] = (
    (DatabaseUnreachable, "the database cannot be used just now"),
    (BrokerUnreachable, "the broker cannot be used just now"),
)


def answer(request: HTTPConnection, refusal: Told) -> Response:
    """Return the answer to a request that ended with an error."""
    if wants_json(request):
        return JSONResponse({"error": refusal.error}, refusal.status, refusal.headers)
    shown = {key: refusal.error[key] for key in ("message", "hint", "code")}
    page = pages.filled(request, "error.html", refusal.status, title=refusal.title, **shown)
    page.headers.update(refusal.headers)
    return page


def too_slow(request: HTTPConnection) -> Response:
    """Return the answer to a request whose body does not arrive."""
    return answer(request, _plain("TOO_SLOW", "the body did not come in time"))


def sorry(request: HTTPConnection) -> Response:
    """Return the answer to a request that failed unexpectedly: its id, no details of the failure."""
    request_id = id_of(request)
    message = f"something went wrong that should not have; the server's log has it under {request_id}"
    return answer(request, _plain("INTERNAL_ERROR", message, request_id=request_id))


def _plain(code: str, message: str, **details: Any) -> Told:
    return Told(OWN_CODES[code][0], {"code": code, "message": message, "hint": "", "details": details})


def install(app: Starlette, shown: Handler | None = None) -> None:
    """Let an application answer all errors in this shape, the framework's included; `shown`: its own way."""
    for kind in FORESEEN:
        app.add_exception_handler(kind, shown or _answered)
    app.add_exception_handler(Exception, _unforeseen)


def _answered(request: Request, error: Exception) -> Response:
    return answer(request, told_of(request, error))


def _of_framework(error: HTTPException) -> Told:
    if error.status_code == 404:
        return _plain("NOT_FOUND", "nothing has this address")
    codes = (code for code, (status, _) in OWN_CODES.items() if status == error.status_code)
    code = next(codes, "BAD_REQUEST" if error.status_code < 500 else "INTERNAL_ERROR")
    plain = _plain(code, str(error.detail or HTTPStatus(error.status_code).phrase))
    return Told(error.status_code, plain.error, error.headers or {})


def _of_validation(error: RequestValidationError) -> Told:
    problems = [
        {
            "path": ".".join(str(part) for part in problem["loc"]),
            "message": problem["msg"],
            "code": problem["type"],
        }
        for problem in error.errors()
    ]
    if any(problem["code"] == "json_invalid" for problem in problems):
        return _plain("MALFORMED_JSON", "the body is not JSON", problems=problems)
    return _plain("BAD_INPUT", "the request is not as it should be", problems=problems)


def _unforeseen(request: Request, _error: Exception) -> Response:
    return sorry(request)
