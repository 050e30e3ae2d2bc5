"""Verbs that are made of one or two of the engine's."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from remand_app.engine.decided import Decided
from remand_app.engine.engine import Engine
from remand_app.engine.operate.branches import skip_step
from remand_app.engine.operate.context import Who
from remand_app.engine.operate.dead_letters import give_up_letter, resolve_letter
from remand_app.engine.operate.steps import KEEP, complete_step, retry_step
from remand_app.store.dead_letters import get_dead_letter


def resolve(
    engine: Engine, letter_id: UUID, who: Who, *, whole_workflow: bool = False, give_up: bool = False
) -> Decided:
    """Resolve a letter, or give it up. Raises as those two verbs of the engine do."""
    if give_up:
        return give_up_letter(engine, letter_id, who)
    return resolve_letter(engine, letter_id, who, whole_workflow=whole_workflow)


def retry_letter(engine: Engine, letter_id: UUID, who: Who, *, new_input: Any = KEEP) -> Decided:
    """Retry the step that a letter was opened for. Raises as the verb on the step does."""
    letter = get_dead_letter(engine.database, letter_id)
    return retry_step(engine, letter.workflow_id, letter.step, who, new_input=new_input)


def complete_letter(engine: Engine, letter_id: UUID, who: Who, *, result: Any) -> Decided:
    """Complete the step that a letter was opened for. Raises as the verb on the step does."""
    letter = get_dead_letter(engine.database, letter_id)
    return complete_step(engine, letter.workflow_id, letter.step, who, result=result)


def skip_letter(engine: Engine, letter_id: UUID, who: Who) -> Decided:
    """Skip the step that a letter was opened for. Raises as the verb on the step does."""
    letter = get_dead_letter(engine.database, letter_id)
    return skip_step(engine, letter.workflow_id, letter.step, who)
