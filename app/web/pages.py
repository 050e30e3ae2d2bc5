"""The few pages that are shown to whom is not signed in; everything put into them is escaped."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse

_PAGES: Final = Environment(
    loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined
)


def render(page: str, status: int, **values: object) -> HTMLResponse:
    """Return a page of this folder, filled in."""
    return HTMLResponse(_PAGES.get_template(page).render(values), status)
