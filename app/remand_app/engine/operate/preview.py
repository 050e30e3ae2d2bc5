"""Show what a verb would do: run the verb itself, look at the result, roll back. The two cannot differ.

A preview holds the rows that the verb locks for as long as it takes. It rings no bell and logs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from remand_app.domain.dag import descendants
from remand_app.engine.bell import SilentBell
from remand_app.engine.engine import Engine
from remand_app.engine.operate.context import patient
from remand_app.store import dead_letters
from remand_app.store.database import Database
from remand_app.store.rehearsal import rehearsing
from remand_app.store.steps import Step, steps_of
from remand_app.store.workflows import get_workflow
from remand_app.telemetry import silence

_STARTED_AGAIN = ("pending", "enqueued")


@dataclass(frozen=True, slots=True)
class StepChange:
    """A step that would move."""

    step: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Preview:
    """What a verb would do."""

    before: str
    """State of the workflow."""
    after: str
    changes: tuple[StepChange, ...]
    runs_again: tuple[str, ...]
    """Steps that would be sent to work."""
    then: tuple[str, ...]
    """Steps behind those that have not run yet and follow if those go well."""
    closes_letter: UUID | None
    """The open dead letter that would be closed."""
    opens_letter: UUID | None
    """The dead letter that would be opened (again)."""
    closed_as: str | None

    def to_dict(self) -> dict[str, Any]:
        """Return the preview as a dictionary for programs."""
        return {name: getattr(self, name) for name in self.__slots__}


@patient
def preview(engine: Engine, workflow_id: UUID, verb: Callable[[Engine], object]) -> Preview:
    """Return what a verb on a workflow, its steps or its letter would do. Transaction: own, rolled back.

    `verb` gets an engine whose changes are rolled back. Raises what the verb raises.
    """
    with rehearsing(engine.database) as database, silence():
        tried = replace(engine, database=database, bell=SilentBell())
        before, steps_before, letter_before = _look(database, workflow_id)
        verb(tried)
        after, steps_after, letter_after = _look(database, workflow_id)
        closed = letter_before if letter_before != letter_after else None
        closed_as = None if closed is None else str(dead_letters.get_dead_letter(database, closed).status)
    changes = tuple(
        StepChange(name, str(steps_before[name].state), str(step.state))
        for name, step in steps_after.items()
        if step.state != steps_before[name].state
    )
    again = tuple(change.step for change in changes if change.after in _STARTED_AGAIN)
    return Preview(
        before,
        after,
        changes,
        again,
        _behind(steps_after, again),
        closed,
        letter_after if letter_after != letter_before else None,
        closed_as,
    )


def _look(database: Database, workflow_id: UUID) -> tuple[str, dict[str, Step], UUID | None]:
    steps = {step.name: step for step in steps_of(database, workflow_id)}
    with database.begin() as connection:
        letter = dead_letters.open_letter_of(connection, workflow_id)
    return str(get_workflow(database, workflow_id).state), steps, None if letter is None else letter.id


def _behind(steps: dict[str, Step], again: tuple[str, ...]) -> tuple[str, ...]:
    parents = {name: list(step.depends_on) for name, step in steps.items()}
    follow = {name for started in again for name in descendants(parents, started)}
    return tuple(
        name
        for name, step in steps.items()
        if name in follow and name not in again and step.state == "pending"
    )
