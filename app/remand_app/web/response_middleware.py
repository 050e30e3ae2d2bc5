"""The outermost middleware: every response has an id and safe headers, every request one log line.

An exception that no handler expected is answered with status 500 and the id. The response shows no details;
they are in the log, under that id.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from remand_app.telemetry import log, traces
from remand_app.web import errors
from remand_app.web.identity import caller_of, remember_id

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self';"
    " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Nothing from elsewhere, nothing inline: only files of ours run."""

_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not no-referrer: with no-referrer, a browser sends `Origin: null` with a form of our own page.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class Boundary:
    """Wrap an application."""

    def __init__(self, app: ASGIApp, *, is_https: bool) -> None:
        self._app = app
        self._headers = dict(_HEADERS)
        if is_https:
            self._headers["Strict-Transport-Security"] = "max-age=31536000"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; other kinds of connection pass through."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        passage = _Passage(Request(scope), send, self._headers)
        remember_id(passage.request, passage.id)
        try:
            with traces.called_by(scope["headers"]):
                await self._app(scope, receive, passage.send)
        except Exception as error:  # the door to the web
            passage.log_failure(error)
            if passage.is_begun and not passage.is_complete:
                raise
            if not passage.is_begun:
                await errors.sorry(passage.request)(scope, receive, passage.send)
        passage.log_end()


class _Passage:
    """One request on its way through."""

    def __init__(self, request: Request, send: Send, headers: Mapping[str, str]) -> None:
        self.id = secrets.token_hex(8)
        self.request = request
        self.status = 0
        self.is_complete = False
        self._send = send
        self._headers = headers
        self._begun = time.perf_counter()

    @property
    def is_begun(self) -> bool:
        """Whether the status was sent to the client."""
        return self.status != 0

    async def send(self, message: Message) -> None:
        """Pass on a part of the answer, with our headers on its first."""
        if message["type"] == "http.response.start":
            self.status = int(message["status"])
            self._finish(MutableHeaders(scope=message))
        elif message["type"] == "http.response.body":
            self.is_complete = not message.get("more_body", False)
        await self._send(message)

    def log_failure(self, error: Exception) -> None:
        """Log an unexpected exception."""
        log(
            "request.failed",
            request_id=self.id,
            method=self.request.method,
            path=self.request.url.path,
            error=type(error).__name__,
            exc_info=error,
        )

    def log_end(self) -> None:
        """Write the request's one line."""
        caller = caller_of(self.request)
        log(
            "request.ended",
            request_id=self.id,
            method=self.request.method,
            path=self.request.url.path,
            status=self.status,
            by=caller.name if caller else None,
            duration_seconds=round(time.perf_counter() - self._begun, 4),
        )

    def _finish(self, headers: MutableHeaders) -> None:
        for name, value in self._headers.items():
            headers.setdefault(name, value)
        headers.setdefault("Cache-Control", "no-store")
        headers["X-Request-Id"] = self.id
