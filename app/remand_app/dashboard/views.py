"""How things are shown: templates, times, states, JSON. Secrets are masked here, once for every page."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse

from remand.redact import redact_json, redact_text
from remand_app.domain.access import Permission
from remand_app.engine.engine import Engine
from remand_app.resources.state_tones import tone, words
from remand_app.resources.wording import ago, short, span
from remand_app.web.identity import Caller, signed_in
from remand_app.web.reverse_proxy import base_of, rooted

_HERE: Final = Path(__file__).parent
_OF_ONE_LOOK: Final = ("told", "seal")


def engine_of(request: Request) -> Engine:
    """Return the engine of this server."""
    engine: Engine = request.app.state.runtime.engine
    return engine


def show(
    request: Request, template: str, *, status: int = 200, live: bool = True, **values: object
) -> HTMLResponse:
    """Fill in a page. `live`: it fetches its live part again when something changes."""
    caller = signed_in(request)
    engine = engine_of(request)
    secret = engine.settings.redact_keys
    page = _ENVIRONMENT.get_template(template).render(
        request=request,
        person=caller,
        csrf=caller.csrf or "",
        may=lambda permission: caller.may(Permission(permission)),
        here=request.url.path,
        told=_told(request, caller),
        live=live,
        mark=getattr(request.state, "mark", ""),
        masked=lambda value: pretty(value, secret),
        masked_text=lambda text: redact_text(text, secret),
        flower_url=engine.settings.web.flower_url,
        **{"now": datetime.now(UTC), **values},
    )
    return HTMLResponse(rooted(page, base_of(request)), status)


def done(request: Request, to: str, message: str) -> RedirectResponse:
    """End a change: go back to a page, which says what was done.

    What it says is sealed for this session: nobody else's link can make a page say something.
    """
    caller = signed_in(request)
    if caller.csrf is None:
        return RedirectResponse(to, 303)
    query = urlencode({"told": message, "seal": _seal(caller.csrf, to, message)})
    return RedirectResponse(f"{to}?{query}", 303)


def _told(request: Request, caller: Caller) -> str | None:
    message, seal = (request.query_params.get(name, "") for name in _OF_ONE_LOOK)
    if caller.csrf is None or not message:
        return None
    expected = _seal(caller.csrf, request.url.path, message)
    return message if hmac.compare_digest(seal.encode(), expected.encode()) else None


def _seal(key: str, to: str, message: str) -> str:
    return hmac.new(key.encode(), f"{to}\n{message}".encode(), hashlib.sha256).hexdigest()[:32]


def pretty(value: Any, secret: tuple[str, ...]) -> str:
    """Return a value as indented JSON, secrets masked."""
    return json.dumps(redact_json(value, secret), ensure_ascii=False, indent=2, default=str)


def _span(value: timedelta | float | None) -> str:
    return "–" if value is None else span(value)


def middle(text: object, most: int = 48) -> str:
    """Return a name that is too long without its middle: what tells names apart stands at both ends."""
    whole = str(text)
    if len(whole) <= most:
        return whole
    kept = most - 1
    return f"{whole[: kept - kept // 2]}…{whole[-(kept // 2) :]}"


def address(here: str, query: Mapping[str, Any], **changes: object) -> str:
    """Return this page's address with some parameters changed, or (None) gone."""
    wanted = {**query, **changes}
    kept = [
        (name, item)
        for name, value in wanted.items()
        if name not in _OF_ONE_LOOK
        for item in (value if isinstance(value, list) else [value])
        if item not in (None, "")
    ]
    return f"{here}?{urlencode(kept)}" if kept else here


def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(tone=tone, words=words, span=_span, short=short, middle=middle)
    made.globals.update(ago=ago, address=address)
    return made


_ENVIRONMENT: Final = _environment()
