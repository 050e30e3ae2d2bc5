"""What may be done with a dead letter over HTTP: the bodies of PATCH, and the verbs they stand for."""

from __future__ import annotations

from typing import Annotated, Any, Literal, assert_never
from uuid import UUID

from fastapi import Body as InBody
from pydantic import Field

from app.api.parts import Body, DryRun, Line, Reason
from app.engine import operate
from app.engine.context import Engine
from app.engine.operate import Decided, Who


class Simple(Body):
    """`claim` it; `give_up`: close it as permanently failed; `cancel` its workflow."""

    action: Literal["claim", "give_up", "cancel"]
    reason: Reason = None
    dry_run: DryRun = False


class Resolve(Body):
    """Declare its failed steps done by hand: the workflow goes on with the steps after them."""

    action: Literal["resolve"]
    whole_workflow: bool = Field(False, description="All of the workflow, not only what failed.")
    reason: Reason = None
    dry_run: DryRun = False


class Release(Body):
    """Let go of it."""

    action: Literal["release"]
    take_over: bool = Field(False, description="Also if somebody else has it.")
    reason: Reason = None
    dry_run: DryRun = False


class Assign(Body):
    """Give it to somebody."""

    action: Literal["assign"]
    assignee: Line = Field(min_length=1)
    take_over: bool = Field(False, description="Also if somebody else has it.")
    reason: Reason = None
    dry_run: DryRun = False


class Mark(Body):
    """`label`: put words on it, to find it by; `link` it to tickets, deploys, pages; a closed one, too."""

    action: Literal["label", "link"]
    add: list[Line] = Field(default_factory=list, max_length=100)
    remove: list[Line] = Field(default_factory=list, max_length=100)
    reason: Reason = None
    dry_run: DryRun = False


class Metadata(Body):
    """Merge values into its metadata; null takes a key away; what is under other keys stays."""

    action: Literal["metadata"]
    values: dict[Line, Any]
    reason: Reason = None
    dry_run: DryRun = False


AnyAction = Simple | Resolve | Release | Assign | Mark | Metadata
LetterAction = Annotated[AnyAction, InBody(discriminator="action")]


def act_on(engine: Engine, letter_id: UUID, body: AnyAction, who: Who) -> Decided:
    """Do with a letter what was asked for. Raises as the verbs of the engine do."""
    match body:
        case Simple(action="claim"):
            return operate.claim_letter(engine, letter_id, who)
        case Simple(action="give_up"):
            return operate.give_up_letter(engine, letter_id, who)
        case Simple():
            return operate.cancel_letter(engine, letter_id, who)
        case Resolve():
            return operate.resolve_letter(engine, letter_id, who, whole_workflow=body.whole_workflow)
        case Release():
            return operate.release_letter(engine, letter_id, who, force=body.take_over)
        case Assign():
            return operate.assign_letter(engine, letter_id, body.assignee, who, force=body.take_over)
        case Mark(action="label"):
            return operate.label_letter(engine, letter_id, who, add=body.add, remove=body.remove)
        case Mark():
            return operate.link_letter(engine, letter_id, who, add=body.add, remove=body.remove)
        case Metadata():
            return operate.merge_letter_metadata(engine, letter_id, body.values, who)
        case _:
            assert_never(body)
