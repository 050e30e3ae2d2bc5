"""The cookies of a browser: its session, and a mark that somebody signed in from it before."""

from __future__ import annotations

from starlette.requests import HTTPConnection
from starlette.responses import Response

from remand_app.config.web import WebSettings
from remand_app.engine.signin import SignedIn

_SESSION, _DEVICE = "remand_session", "remand_device"
_DEVICE_SECONDS = 90 * 86_400


def session_of(connection: HTTPConnection, web: WebSettings) -> str | None:
    """Return the secret of the session, if the browser has one."""
    return connection.cookies.get(_named(_SESSION, web))


def device_of(connection: HTTPConnection, web: WebSettings) -> str | None:
    """Return the mark that this browser got when somebody signed in from it."""
    return connection.cookies.get(_named(_DEVICE, web))


def give(response: Response, signed: SignedIn, web: WebSettings) -> None:
    """Set the cookies that a session needs."""
    _set(response, _named(_SESSION, web), signed.secret, int(web.session_max_seconds), web)
    if signed.device:
        _set(response, _named(_DEVICE, web), signed.device, _DEVICE_SECONDS, web)


def take(response: Response, web: WebSettings) -> None:
    """Delete the cookie of the session; the mark that somebody signed in from this browser stays."""
    _set(response, _named(_SESSION, web), "", 0, web)


def _named(name: str, web: WebSettings) -> str:
    # With these prefixes browsers themselves refuse the cookie without TLS. With __Host-, which allows no
    # path, they also refuse it for or from any other host.
    if not web.is_https:
        return name
    return f"__Secure-{name}" if web.path else f"__Host-{name}"


def _set(response: Response, name: str, value: str, seconds: int, web: WebSettings) -> None:
    response.set_cookie(
        name,
        value,
        max_age=seconds,
        path=web.path or "/",
        secure=web.is_https,
        httponly=True,
        samesite="strict",
    )
