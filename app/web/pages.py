"""The few pages that are shown to whom is not signed in; everything put into them is escaped."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse

HOME: Final = "/"
_PAGES: Final = Environment(
    loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined
)


def render(page: str, status: int, **values: object) -> HTMLResponse:
    """Return a page of this folder, filled in."""
    return HTMLResponse(_PAGES.get_template(page).render(values), status)


def local(wanted: str | None) -> str:
    """Return where to lead somebody: to a page of ours, whatever was asked."""
    if not wanted or not wanted.startswith("/") or wanted[1:2] in {"/", "\\"} or not wanted.isprintable():
        return HOME
    return wanted
