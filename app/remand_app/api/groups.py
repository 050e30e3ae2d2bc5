"""`/dlq/groups`: dead letters with one cause, handled together."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from remand_app.api.dependencies import After, EngineOf, GroupId, LetterReader, LetterWriter, Limit
from remand_app.api.dlq import NoteText
from remand_app.api.filters import with_filter
from remand_app.api.idempotency import OnceOf
from remand_app.api.openapi import CHANGES, Page, errors
from remand_app.api.responses import answer, page_of_lines, whole
from remand_app.api.verbs import Action, bodies, carry_out
from remand_app.engine.suggest import Suggestion
from remand_app.resources import groups, letters
from remand_app.resources.groups import GroupFilter
from remand_app.resources.verbs import verb_of

router = APIRouter(tags=["groups of dead letters"])
_ONE = "/dlq/groups/{group_id}"
_NOTE = verb_of("group", "note")

if TYPE_CHECKING:
    GroupAction = Action
else:
    GroupAction = bodies("group")


@router.get("/dlq/groups", response_model=Page[groups.GroupLine], summary="List groups of dead letters")
@with_filter(GroupFilter)
def list_groups(
    engine: EngineOf, caller: LetterReader, asked: GroupFilter, cursor: After = None, limit: Limit = 50
) -> Response:
    """List the causes that letters died of: how many, since when, whose, and how it goes on."""
    lines = groups.list_lines(engine.database, asked, engine.instant(), after=cursor, limit=limit)
    return page_of_lines(lines)


@router.get(_ONE, response_model=groups.GroupShown, summary="Show a group", responses=errors(404))
def show_group(engine: EngineOf, caller: LetterReader, group_id: GroupId) -> Response:
    """Show a group: its trend, whom it hit, how it stood before, what people wrote."""
    return answer(groups.show(engine, group_id))


@router.get(
    _ONE + "/suggestions",
    response_model=Page[Suggestion],
    summary="Say what may be behind a group",
    responses=errors(404),
)
def suggest_for_group(engine: EngineOf, caller: LetterReader, group_id: GroupId) -> Response:
    """Say what coincides with its failures, the most telling first, each with the facts it comes from."""
    return whole(groups.suggestions(engine, group_id))


@router.patch(
    _ONE,
    response_model=groups.Group,
    summary="Take, assign, resolve or reopen a group",
    responses={**CHANGES, **errors(404, 409)},
)
def change_group(engine: EngineOf, caller: LetterWriter, group_id: GroupId, body: GroupAction) -> Response:
    """Decide on a group; where it does not stand so that this can be, 409 says how it stands."""
    return answer(carry_out(engine, "group", (group_id,), body, caller))


@router.post(
    _ONE + "/notes",
    response_model=letters.NoteMade,
    status_code=201,
    summary="Add a note to a group",
    responses={**CHANGES, **errors(404, 409)},
)
def add_group_note(
    engine: EngineOf, caller: LetterWriter, once: OnceOf, group_id: GroupId, body: NoteText
) -> Response:
    """Add a note to a group, whatever its state."""

    def act(_: UUID) -> Response:
        _NOTE.act(engine, (group_id,), caller.who(), {"text": body.text})
        return answer(letters.NoteMade(group_id, caller.name, body.text.strip()), 201)

    return once.run(body, act)
