"""Dead letters by cause: the inbox, and the page of one group."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from fastapi import APIRouter, Request
from starlette.responses import Response

from remand_app.dashboard import forms, verbs
from remand_app.dashboard.views import engine_of, show
from remand_app.domain.access import Permission
from remand_app.domain.group_filter import OPEN, GroupFilter
from remand_app.domain.states import GroupState
from remand_app.engine.statistics import statistics
from remand_app.resources import groups, letters
from remand_app.resources.letters import LetterFilter
from remand_app.resources.verbs import possible
from remand_app.web.identity import require

router = APIRouter()
_READ = require(Permission.LETTERS_READ)
_STATES = {
    "open": OPEN,
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
    address = request.query_params
    state = address.get("state", "open")
    asked = forms.filter_of(GroupFilter, address, but=("state",))
    wanted = replace(asked, states=_STATES.get(state, OPEN))
    if state == "mine":
        wanted = replace(wanted, owner=caller.name)
    groups.fold(engine.database)
    page = groups.list_page(engine.database, wanted, after=address.get("cursor") or None, limit=30)
    now = engine.instant()
    trends = groups.trends(engine.database, [group.id for group in page.items], now)
    return show(
        request,
        "inbox.html",
        page=page,
        trends=trends,
        wanted=wanted,
        asked=forms.fields_of(asked),
        state=state if state in _STATES else "open",
        figures=statistics(engine),
        now=now,
    )


@router.get("/dlq/groups/{group_id}")
def group_page(request: Request, group_id: UUID) -> Response:
    """Show a group: its cause, whom it hit, what is known, what was noted, what can be done."""
    _READ(request)
    engine = engine_of(request)
    group = groups.show(engine, group_id)
    newest = letters.list_page(engine.database, LetterFilter(statuses=(), group_id=group_id), limit=_LETTERS)
    return show(
        request,
        "group.html",
        group=group,
        verbs=list(possible("group", group)),
        letters=newest,
        now=engine.instant(),
    )


@router.post("/dlq/groups/{group_id}/{verb}")
async def change_group(request: Request, group_id: UUID, verb: str) -> Response:
    """Claim, assign, release, give a day, note, resolve or reopen a group."""
    return await verbs.change(request, "group", verb, (group_id,), f"/dlq/groups/{group_id}")
