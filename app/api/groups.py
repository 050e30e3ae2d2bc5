"""`/dlq/groups`: dead letters with one cause, as one thing to be dealt with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, assert_never
from uuid import UUID

from fastapi import APIRouter, Query
from fastapi import Body as InBody
from pydantic import Field
from starlette.responses import Response

from app.api.answers import answer, page_of_lines, whole
from app.api.contract import CHANGES, Page, errors
from app.api.dlq import NoteMade, NoteText
from app.api.idempotency import OnceOf
from app.api.parts import (
    After,
    Body,
    EngineOf,
    GroupId,
    LetterReader,
    LetterWriter,
    Limit,
    Line,
    Reason,
)
from app.domain.instants import Instant
from app.domain.states import GroupState
from app.engine import groups
from app.engine.context import Engine
from app.engine.operate import Who
from app.engine.suggest import Suggestion, suggestions
from app.store import groups as store
from app.store.dead_letters import Note
from app.store.group_json import list_lines
from app.store.groups import Group, GroupFilter

router = APIRouter(tags=["groups of dead letters"])
_ONE = "/dlq/groups/{group_id}"


@dataclass(frozen=True, slots=True)
class GroupLine(Group):
    """A group as lists show it; counts as last folded, within a few seconds."""

    trend: list[int]
    """Letters opened in each of the last 24 hours, oldest first."""


@dataclass(frozen=True, slots=True)
class GroupShown(GroupLine):
    """A group with what is needed to decide."""

    hit_share: float | None
    """Share of the template's workflows that came into it; null: it had none. Of the last 24 hours, and of
    these the newest 10 000 of all templates."""
    statuses: dict[str, int]
    """Its newest 10 000 letters by status."""
    earlier: list[Group]
    """Groups with the same cause: other versions of the template, other steps."""
    notes: list[Note]


class TakeGroup(Body):
    """`claim`: nobody else takes it; `reopen` a resolved one."""

    action: Literal["claim", "reopen"]
    reason: Reason = None


class ReleaseGroup(Body):
    """Let go of it."""

    action: Literal["release"]
    take_over: bool = Field(False, description="Also if somebody else has it.")
    reason: Reason = None


class AssignGroup(Body):
    """Give it to somebody."""

    action: Literal["assign"]
    owner: Line = Field(min_length=1)
    take_over: bool = Field(False, description="Also if somebody else has it.")
    reason: Reason = None


class DueGroup(Body):
    """Say until when it should be dealt with; null: no longer."""

    action: Literal["due"]
    due_at: Instant | None
    reason: Reason = None


class ResolveGroup(Body):
    """Declare the cause dealt with: none of its letters may be open."""

    action: Literal["resolve"]
    reason: Line = Field(min_length=1, description="How: it is shown when the cause comes back.")


GroupAction = Annotated[
    TakeGroup | ReleaseGroup | AssignGroup | DueGroup | ResolveGroup, InBody(discriminator="action")
]


@router.get("/dlq/groups", response_model=Page[GroupLine], summary="List groups of dead letters")
def list_groups(
    engine: EngineOf,
    caller: LetterReader,
    state: Annotated[list[GroupState] | None, Query(description="Default: open and investigating.")] = None,
    namespace: Annotated[Line | None, Query(description="Of the template.")] = None,
    template: Annotated[Line | None, Query(description="Name of the template.")] = None,
    owner: Annotated[Line | None, Query(description="Who looks at them.")] = None,
    order: Annotated[
        Literal["recent", "largest"], Query(description="The newest letter first, or the most open ones.")
    ] = "recent",
    cursor: After = None,
    limit: Limit = 50,
) -> Response:
    """List the causes that letters died of: how many, since when, whose, and how it goes on."""
    wanted = GroupFilter(namespace=namespace, template=template, owner=owner, order=order)
    if state is not None:
        wanted = replace(wanted, states=tuple(state))
    found = list_lines(engine.database, wanted, engine.instant(), after=cursor, limit=limit)
    return page_of_lines(found)


def _fields(group: Group) -> dict[str, Any]:
    return {name: getattr(group, name) for name in Group.__slots__}


@router.get(_ONE, response_model=GroupShown, summary="Show a group", responses=errors(404))
def show_group(engine: EngineOf, caller: LetterReader, group_id: GroupId) -> Response:
    """Show a group: its trend, whom it hit, how it stood before, what people wrote."""
    found = groups.standing(engine, group_id)
    return answer(
        {
            **_fields(found.group),
            "trend": found.trend,
            "hit_share": found.hit_share,
            "statuses": found.statuses,
            "earlier": found.earlier,
            "notes": store.notes_of_group(engine.database, group_id),
        }
    )


@router.get(
    _ONE + "/suggestions",
    response_model=Page[Suggestion],
    summary="Say what may be behind a group",
    responses=errors(404),
)
def suggest_for_group(engine: EngineOf, caller: LetterReader, group_id: GroupId) -> Response:
    """Say what coincides with its failures, the most telling first, each with the facts it comes from."""
    return whole(suggestions(engine, group_id))


@router.patch(
    _ONE,
    response_model=Group,
    summary="Take, assign, resolve or reopen a group",
    responses={**CHANGES, **errors(404, 409)},
)
def change_group(engine: EngineOf, caller: LetterWriter, group_id: GroupId, body: GroupAction) -> Response:
    """Decide on a group; where it does not stand so that this can be, 409 says how it stands."""
    return answer(_act(engine, group_id, body, caller.who(body.reason)))


def _act(
    engine: Engine,
    group_id: UUID,
    body: TakeGroup | ReleaseGroup | AssignGroup | DueGroup | ResolveGroup,
    who: Who,
) -> Group:
    match body:
        case TakeGroup(action="claim"):
            return groups.claim_group(engine, group_id, who)
        case TakeGroup():
            return groups.reopen_group(engine, group_id, who)
        case ReleaseGroup():
            return groups.release_group(engine, group_id, who, take_over=body.take_over)
        case AssignGroup():
            return groups.assign_group(engine, group_id, body.owner, who, take_over=body.take_over)
        case DueGroup():
            return groups.set_due(engine, group_id, body.due_at, who)
        case ResolveGroup():
            return groups.resolve_group(engine, group_id, who)
        case _:
            assert_never(body)


@router.post(
    _ONE + "/notes",
    response_model=NoteMade,
    status_code=201,
    summary="Add a note to a group",
    responses={**CHANGES, **errors(404, 409)},
)
def add_group_note(
    engine: EngineOf, caller: LetterWriter, once: OnceOf, group_id: GroupId, body: NoteText
) -> Response:
    """Add a note to a group, whatever its state."""

    def act(_: UUID) -> Response:
        groups.note_group(engine, group_id, body.text, caller.who())
        return answer(NoteMade(group_id, caller.name, body.text.strip()), 201)

    return once.run(body, act)
