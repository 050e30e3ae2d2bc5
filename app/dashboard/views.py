"""How things are shown: templates, times, states, JSON; secrets are masked here, once, for every page."""

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

from app.domain.access import Permission
from app.engine.context import Engine
from app.web.identity import Caller, signed_in
from app.web.place import base_of, rooted
from remand.redact import redact_json, redact_text

_HERE: Final = Path(__file__).parent
_TONES: Final = {
    "complete": "good", "resolved_manually": "good", "manually_resolved": "good", "requeued": "good",
    "succeeded": "good", "finished": "good", "closed": "good", "resolved": "good",
    "error": "bad", "blocked_by_failures": "bad", "permanently_failed": "bad", "failed": "bad", "open": "bad",
    "stopped": "bad", "pending_letter": "bad", "lost": "bad", "timed_out": "bad",
    "waiting_for_retry": "warn", "enqueued_as_error_for_orchestration": "warn", "investigating": "warn",
    "warning": "warn", "stale": "bad", "healthy": "good",
    "half_open": "warn", "paused": "warn", "canary": "warn", "interrupted": "warn",
    "steps_in_process": "busy", "in_progress": "busy", "enqueued": "busy",
    "enqueued_for_orchestration": "busy",
    "running": "busy", "sent": "busy",
}  # fmt: skip
_ENDS: Final = 6
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


def done(request: Request, to: str, told: str) -> RedirectResponse:
    """End a change: go back to a page, which says what was done.

    What it says is sealed for this session: nobody else's link can make a page say something.
    """
    caller = signed_in(request)
    if caller.csrf is None:
        return RedirectResponse(to, 303)
    return RedirectResponse(f"{to}?{urlencode({'told': told, 'seal': _seal(caller.csrf, to, told)})}", 303)


def _told(request: Request, caller: Caller) -> str | None:
    told, seal = (request.query_params.get(one, "") for one in _OF_ONE_LOOK)
    if caller.csrf is None or not told:
        return None
    expected = _seal(caller.csrf, request.url.path, told)
    return told if hmac.compare_digest(seal.encode(), expected.encode()) else None


def _seal(key: str, to: str, told: str) -> str:
    return hmac.new(key.encode(), f"{to}\n{told}".encode(), hashlib.sha256).hexdigest()[:32]


def pretty(value: Any, secret: tuple[str, ...]) -> str:
    """Return a value as indented JSON, secrets masked."""
    return json.dumps(redact_json(value, secret), ensure_ascii=False, indent=2, default=str)


def tone(state: object) -> str:
    """Return the tone of a state; the word beside it says the same."""
    return _TONES.get(str(state), "")


def words(state: object) -> str:
    """Return a state as people say it."""
    return str(state).replace("_", " ")


def span(value: timedelta | float | None) -> str:
    """Return a duration in one or two units."""
    if value is None:
        return "–"
    seconds = value.total_seconds() if isinstance(value, timedelta) else float(value)
    if seconds < 1:
        return f"{max(0, seconds) * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, hours, days = seconds / 60, seconds / 3600, seconds / 86_400
    if minutes < 60:
        return f"{minutes:.0f} min"
    if hours < 24:
        return f"{hours:.0f} h {minutes % 60:.0f} min" if hours < 6 else f"{hours:.0f} h"
    return f"{days:.0f} d" if days >= 2 else f"{hours:.0f} h"


def ago(at: datetime | None, now: datetime) -> str:
    """Return how long ago an instant is, or in how long it comes."""
    if at is None:
        return "–"
    passed = now - at
    return f"{span(passed)} ago" if passed >= timedelta(0) else f"in {span(-passed)}"


def middle(text: object, most: int = 48) -> str:
    """Return a name that is too long without its middle: what tells names apart stands at both ends."""
    whole = str(text)
    if len(whole) <= most:
        return whole
    kept = most - 1
    return f"{whole[: kept - kept // 2]}…{whole[-(kept // 2) :]}"


def short(identity: object) -> str:
    """Return the end of an id: what lists show, and what searches take."""
    return str(identity)[-_ENDS:]


def address(here: str, query: Mapping[str, Any], **changes: object) -> str:
    """Return this page's address with some parameters changed, or (None) gone."""
    wanted = {**query, **changes}
    kept = [
        (name, one)
        for name, value in wanted.items()
        if name not in _OF_ONE_LOOK
        for one in (value if isinstance(value, list) else [value])
        if one not in (None, "")
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
    made.filters.update(tone=tone, words=words, span=span, short=short, middle=middle)
    made.globals.update(ago=ago, address=address)
    return made


_ENVIRONMENT: Final = _environment()
