"""The gate before every route: only the few public routes are open to a caller who is not signed in.

It finds out who makes a request. It refuses host names that are not ours, bodies that are too large, and
changes that another site's page sends with the cookies of somebody signed in here. Routes check what the
caller may do with `require` (`identity.py`).
"""

from __future__ import annotations

import hmac
from urllib.parse import quote

import anyio.to_thread
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from remand.errors import RemandError
from remand_app.domain.access import csrf_token
from remand_app.domain.errors import NotAllowed, NotSignedIn
from remand_app.engine import signin
from remand_app.runtime import Runtime
from remand_app.web import body, connection_limits, cookies, errors, hosts, pages
from remand_app.web.identity import Caller, remember, wants_json

PUBLIC = frozenset(
    {
        "/api/v1/health/live",
        "/api/v1/health/ready",
        "/login",
        "/login/link",
        "/login.css",
        "/login.js",
        "/favicon.ico",
    }
)
"""Public routes. They tell nothing that a refused caller could not guess."""
PUBLIC_FOLDER = "/static/"
LOGIN = "/login"
MOST_OF_STRANGERS = 16_384
"""Bytes that a caller who is not recognised may send in a body: enough for a name and a password."""
_READS = frozenset({"GET", "HEAD", "OPTIONS"})


class Gate:
    """Wrap an application."""

    def __init__(self, app: ASGIApp, runtime: Runtime) -> None:
        self._app = app
        self._runtime = runtime
        self._web = runtime.settings.web

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one request on, or answer it; WebSocket is not supported."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await self._serve(Request(scope, receive), send)

    async def _serve(self, request: Request, send: Send) -> None:
        try:
            ready = await self._admit(request)
        except RemandError as error:
            refusal = self._refusal(request, error)
            await refusal(request.scope, request.receive, send)
        except ClientDisconnect:
            pass  # Nobody is left to be answered.
        except TimeoutError:
            late = errors.too_slow(request)
            await late(request.scope, request.receive, send)
        else:
            await self._app(request.scope, ready, send)

    async def _admit(self, request: Request) -> Receive:
        hosts.check_host(request, self._web)
        public = is_public(request.url.path)
        caller = None if public else await self._recognise(request)
        remember(request, caller)
        if caller is not None:
            connection_limits.recognised(request.scope)
        elif not public:
            raise NotSignedIn("nobody is signed in", hint="send `Authorization: Bearer rmd_…`, or sign in")
        if request.method in _READS:
            return request.receive
        if caller is None or caller.csrf is not None:
            hosts.check_origin(request, self._web)
        received = await self._body(request, caller)
        if caller is not None and caller.csrf is not None:
            _check_csrf(request, received, caller.csrf)
        return body.again(received, request.receive)

    async def _body(self, request: Request, caller: Caller | None) -> bytes:
        most = self._web.max_body_bytes
        if caller is None:
            most = min(most, MOST_OF_STRANGERS)
        return await body.read(request, most, self._web.body_seconds)

    async def _recognise(self, request: Request) -> Caller | None:
        token = _bearer(request)
        if token is not None:
            return await anyio.to_thread.run_sync(self._by_token, token)
        secret = cookies.session_of(request, self._web)
        if secret is None:
            return None
        return await anyio.to_thread.run_sync(self._by_session, secret)

    def _by_token(self, token: str) -> Caller:
        identity = signin.recognise_token(self._runtime.engine, token)
        if identity is None:
            raise NotSignedIn("this token is unknown, revoked or expired", hint="see `remand token list`")
        return Caller(identity.name, identity.role, identity.scopes)

    def _by_session(self, secret: str) -> Caller | None:
        user = signin.recognise_session(self._runtime.engine, secret)
        if user is None:
            return None
        return Caller(user.name, user.role, via="dashboard", csrf=csrf_token(secret))

    def _refusal(self, request: Request, error: RemandError) -> Response:
        if not isinstance(error, NotSignedIn) or wants_json(request) or request.method not in _READS:
            return errors.answer(request, errors.told_of(request, error))
        query = request.url.query
        asked = pages.local(request.url.path + (f"?{query}" if query else ""))
        if request.headers.get("sec-fetch-site") == "cross-site":
            # A link on another site: the browser held the cookie back, and sends it when our own page asks.
            return pages.render(request, "onward.html", 401, target=asked)
        return RedirectResponse(f"{LOGIN}?next={quote(asked, safe='')}" if asked != "/" else LOGIN, 303)


def is_public(path: str) -> bool:
    """Say whether a path is public."""
    return path in PUBLIC or (path.startswith(PUBLIC_FOLDER) and "/.." not in path)


def _bearer(request: Request) -> str | None:
    """Return the token of a request; None if it sends none.

    Raises:
        NotSignedIn: it signs in some other way.
    """
    header = request.headers.get("authorization")
    if header is None:
        return None
    scheme, _, token = header.strip().partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise NotSignedIn("the header Authorization should be `Bearer rmd_…`")
    return token.strip()


def _check_csrf(request: Request, received: bytes, expected: str) -> None:
    sent = request.headers.get("x-csrf-token") or body.form_field(request, received, "csrf") or ""
    if not hmac.compare_digest(sent.encode(), expected.encode()):
        raise NotAllowed(
            "this change did not come from a page of this session",
            hint="open the page anew; programs send the header X-CSRF-Token, or use a token",
        )
