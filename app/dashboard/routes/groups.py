"""Dead letters by cause: the inbox, and the page of one group."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import Response

from app.dashboard import forms
from app.dashboard.views import done, engine_of, show
from app.domain.access import Permission
from app.domain.dead_letter_filter import LetterFilter
from app.domain.states import GroupState
from app.engine import groups as verbs
from app.engine.context import Engine
from app.engine.operate import Who
from app.engine.statistics import statistics
from app.engine.suggest import suggestions
from app.store import groups as store
from app.store.dead_letter_search import list_page
from app.web.identity import require

router = APIRouter()
_READ = require(Permission.LETTERS_READ)
_WRITE = require(Permission.LETTERS_WRITE)
_STATES = {
    "open": (GroupState.OPEN, GroupState.INVESTIGATING),
    "mine": (GroupState.INVESTIGATING,),
    "resolved": (GroupState.RESOLVED,),
    "all": (),
}
_LETTERS = 20


@router.get("/dlq")
def inbox(request: Request) -> Response:
    """Show the groups: what broke, how much, since when, whose it is."""
    caller = _READ(request)
    engine = engine_of(request)
    given = request.query_params
    state = given.get("state", "open")
    store.fold(engine.database)
    page = store.list_page(
        engine.database,
        states=_STATES.get(state, _STATES["open"]),
        template=given.get("template") or None,
        namespace=given.get("namespace") or None,
        owner=caller.name if state == "mine" else None,
        order=given.get("order") or "recent",
        after=given.get("cursor") or None,
        limit=30,
    )
    with engine.database.begin() as connection:
        now = engine.now(connection)
    trends = store.trends(engine.database, [one.id for one in page.items], now)
    return show(
        request,
        "inbox.html",
        page=page,
        trends=trends,
        state=state if state in _STATES else "open",
        figures=statistics(engine),
        now=now,
    )


@router.get("/dlq/groups/{group_id}")
def group_page(request: Request, group_id: UUID) -> Response:
    """Show a group: its cause, whom it hit, what is known, what was noted, what can be done."""
    _READ(request)
    engine = engine_of(request)
    standing = verbs.standing(engine, group_id)
    letters = list_page(engine.database, LetterFilter(statuses=(), group_id=group_id), limit=_LETTERS)
    with engine.database.begin() as connection:
        now = engine.now(connection)
    return show(
        request,
        "group.html",
        standing=standing,
        group=standing.group,
        letters=letters,
        notes=store.notes_of_group(engine.database, group_id),
        hints=suggestions(engine, group_id),
        now=now,
    )


@router.post("/dlq/groups/{group_id}/{verb}")
async def change_group(request: Request, group_id: UUID, verb: str) -> Response:
    """Claim, assign, release, give a day, note, resolve or reopen a group."""
    caller = _WRITE(request)
    given = await forms.read(request)
    act = _VERBS.get(verb)
    if act is None:
        raise HTTPException(404)
    who = caller.who(given.get("reason"))
    await run_in_threadpool(act, engine_of(request), group_id, given, who)
    return done(request, f"/dlq/groups/{group_id}", _TOLD[verb])


def _assign(engine: Engine, group_id: UUID, given: dict[str, str], who: Who) -> object:
    owner = given.get("owner", "")
    return verbs.assign_group(engine, group_id, owner, who, take_over="take_over" in given)


def _release(engine: Engine, group_id: UUID, given: dict[str, str], who: Who) -> object:
    return verbs.release_group(engine, group_id, who, take_over="take_over" in given)


def _due(engine: Engine, group_id: UUID, given: dict[str, str], who: Who) -> object:
    at = forms.instant(given["due_at"]) if "due_at" in given else None
    return verbs.set_due(engine, group_id, at, who)


_Act = Callable[[Engine, UUID, dict[str, str], Who], object]
_VERBS: dict[str, _Act] = {
    "claim": lambda engine, group_id, _, who: verbs.claim_group(engine, group_id, who),
    "assign": _assign,
    "release": _release,
    "due": _due,
    "note": lambda engine, group_id, given, who: verbs.note_group(
        engine, group_id, given.get("text", ""), who
    ),
    "resolve": lambda engine, group_id, _, who: verbs.resolve_group(engine, group_id, who),
    "reopen": lambda engine, group_id, _, who: verbs.reopen_group(engine, group_id, who),
}
_TOLD = {
    "claim": "It is yours.",
    "assign": "Assigned.",
    "release": "Released.",
    "due": "The day is set.",
    "note": "Noted.",
    "resolve": "Resolved. If its cause comes back, it opens again.",
    "reopen": "Open again.",
}
