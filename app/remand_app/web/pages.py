"""The few pages for people who are not signed in. Everything put into them is escaped."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse

from remand_app.web.reverse_proxy import base_of, rooted

HOME: Final = "/"
_PAGES: Final = Environment(
    loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined
)


def render(request: HTTPConnection, page: str, status: int, **values: object) -> HTMLResponse:
    """Return a page of this folder, filled in."""
    return filled(request, page, status, **values)


def filled(request: HTTPConnection, page: str, status: int, **values: object) -> HTMLResponse:
    return HTMLResponse(rooted(_PAGES.get_template(page).render(values), base_of(request)), status)


def local(wanted: str | None) -> str:
    """Return the path to redirect to: always a page of ours, whatever was asked for."""
    if not wanted or not wanted.startswith("/") or wanted[1:2] in {"/", "\\"} or not wanted.isprintable():
        return HOME
    return wanted
