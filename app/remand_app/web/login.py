"""Pages to sign in and out: by name and password, or by a link that works once."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Route

from remand_app.domain.errors import InputInvalid, NotSignedIn, TooManyLogins
from remand_app.engine import signin
from remand_app.engine.signin import SignedIn
from remand_app.runtime import Runtime
from remand_app.web import cookies, errors, pages
from remand_app.web.pages import HOME

_HERE = Path(__file__).parent
_KEPT = {"Cache-Control": "max-age=3600"}
_MOST_FIELDS = 20


def routes(runtime: Runtime) -> list[Route]:
    """Return the routes; the server puts them before the dashboard's."""
    own = _Pages(runtime)
    return [
        Route("/login", own.show, methods=["GET"]),
        Route("/login", own.sign_in, methods=["POST"]),
        Route("/login/link", own.show_link, methods=["GET"]),
        Route("/login/link", own.open_link, methods=["POST"]),
        Route("/login.css", _css, methods=["GET"]),
        Route("/login.js", _js, methods=["GET"]),
        Route("/logout", own.sign_out, methods=["POST"]),
    ]


class _Pages:
    """The routes of one server."""

    def __init__(self, runtime: Runtime) -> None:
        self._engine = runtime.engine
        self._web = runtime.settings.web

    async def show(self, request: Request) -> Response:
        """Ask for name and password."""
        return _page(request, 200, target=pages.local(request.query_params.get("next")))

    async def sign_in(self, request: Request) -> Response:
        """Check name and password; open a session, or ask again and say why."""
        name, password, wanted = await _fields(request, "name", "password", "next")
        try:
            signed = await anyio.to_thread.run_sync(self._checked, request, name, password)
        except (NotSignedIn, TooManyLogins) as error:
            asked = _page(
                request,
                errors.status_of(error),
                problem=error.message,
                name=name[:64],
                target=pages.local(wanted),
            )
            asked.headers.update(errors.headers_of(error) if isinstance(error, TooManyLogins) else {})
            return asked
        return await self._let_in(request, signed, RedirectResponse(pages.local(wanted), 303))

    async def show_link(self, request: Request) -> Response:
        """Show a form that submits itself: a program that only fetches links does not use them up."""
        return pages.render(request, "link.html", 200, code=request.query_params.get("code", ""))

    async def open_link(self, request: Request) -> Response:
        """Open a session for a code that works once."""
        [code], address = await _fields(request, "code"), _address(request)
        try:
            signed = await anyio.to_thread.run_sync(
                lambda: signin.open_link(self._engine, code, address=address)
            )
        except NotSignedIn as error:
            return _page(request, 401, problem=f"{error.message}: {error.hint}")
        return await self._let_in(request, signed, RedirectResponse(HOME, 303))

    async def sign_out(self, request: Request) -> Response:
        """End the session."""
        secret = cookies.session_of(request, self._web)
        if secret is not None:
            await anyio.to_thread.run_sync(signin.sign_out, self._engine, secret)
        gone = RedirectResponse("/login", 303)
        cookies.take(gone, self._web)
        return gone

    def _checked(self, request: Request, name: str, password: str) -> SignedIn:
        device = cookies.device_of(request, self._web)
        return signin.sign_in(self._engine, name, password, address=_address(request), device=device)

    async def _let_in(self, request: Request, signed: SignedIn, answer: Response) -> Response:
        # The person who used this browser before is signed out.
        before = cookies.session_of(request, self._web)
        if before is not None:
            await anyio.to_thread.run_sync(signin.sign_out, self._engine, before)
        cookies.give(answer, signed, self._web)
        return answer


async def _css(_request: Request) -> Response:
    return FileResponse(_HERE / "login.css", media_type="text/css", headers=_KEPT)


async def _js(_request: Request) -> Response:
    return FileResponse(_HERE / "login.js", media_type="text/javascript", headers=_KEPT)


async def _fields(request: Request, *names: str) -> list[str]:
    """Return fields of a form, "" for missing ones. Raises InputInvalid if the body is no form."""
    try:
        fields = parse_qs((await request.body()).decode("utf-8", "replace"), max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise InputInvalid(f"the form has more than {_MOST_FIELDS} fields") from None
    return [fields.get(name, [""])[0] for name in names]


def _page(
    request: Request, status: int, *, problem: str = "", name: str = "", target: str = HOME
) -> Response:
    return pages.render(request, "login.html", status, problem=problem, name=name, target=target)


def _address(request: Request) -> str | None:
    return request.client.host if request.client else None
