"""What may be done with a dead letter over HTTP: the bodies of PATCH, and the verbs they stand for."""

from __future__ import annotations

from typing import Annotated, Literal, assert_never
from uuid import UUID

from fastapi import Body as InBody
from pydantic import Field

from app.api.parts import Body, DryRun, Reason
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


AnyAction = Simple | Resolve
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
        case _:
            assert_never(body)
