"""Show the demo's workflows while they run: a table that changes in place, or a line for each that ends."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from uuid import UUID

from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from app.cli.render.drawing import SYMBOLS, failure_line
from app.cli.render.output import age, state, style, table
from app.demo.checks import DemoFailed, Submission
from app.domain.states import StepState, WorkflowState
from app.store.session import Database
from app.store.steps import Step, steps_of
from app.store.workflows import states_of

_LOOK_SECONDS = 0.2


def watch(
    database: Database,
    submissions: Sequence[Submission],
    console: Console,
    *,
    meanwhile: Callable[[], None],
    timeout_seconds: float,
) -> None:
    """Show the workflows until each has ended or needs a person.

    Raises:
        DemoFailed: not within the timeout; says which are under way.
    """
    deadline = time.monotonic() + timeout_seconds
    ids = [one.workflow_id for one in submissions]
    told: set[int] = set()
    with _screen(console) as show:
        while True:
            meanwhile()
            states = states_of(database, ids)
            if show is not None:
                show(_table(database, submissions, states))
            else:
                _tell(console, submissions, states, told)
            under_way = [one for one in submissions if not _is_over(states[one.workflow_id])]
            if not under_way:
                return
            if time.monotonic() > deadline:
                raise DemoFailed(
                    [
                        f"{one.name}: still {states[one.workflow_id]} after {timeout_seconds:g} s"
                        for one in under_way
                    ]
                )
            time.sleep(_LOOK_SECONDS)


def _is_over(found: WorkflowState) -> bool:
    return found.is_final or found.needs_person


@contextlib.contextmanager
def _screen(console: Console) -> Iterator[Callable[[RenderableType], None] | None]:
    if not console.is_terminal:
        yield None
        return
    with Live(console=console, auto_refresh=False) as live:
        yield lambda drawn: live.update(drawn, refresh=True)


def _tell(
    console: Console, submissions: Sequence[Submission], states: dict[UUID, WorkflowState], told: set[int]
) -> None:
    for number, one in enumerate(submissions):
        found = states[one.workflow_id]
        if number not in told and _is_over(found):
            told.add(number)
            console.print(Text.assemble(f"  {one.name}: ", state(found)))


def _table(
    database: Database, submissions: Sequence[Submission], states: dict[UUID, WorkflowState]
) -> RenderableType:
    happy = [one for one in submissions if one.expect == "complete" and one.is_order]
    rows: list[tuple[str | Text, ...]] = [_together(happy, states)]
    for one in submissions:
        if one not in happy:
            steps = steps_of(database, one.workflow_id)
            rows.append((_named(one.name, states[one.workflow_id]), _symbols(steps), _doing(steps)))
    return table("scenario", "steps", "", rows=rows, folds=False)


def _together(happy: Sequence[Submission], states: dict[UUID, WorkflowState]) -> tuple[str | Text, ...]:
    done = sum(states[one.workflow_id] is WorkflowState.COMPLETE for one in happy)
    bar = Text.assemble(("━" * done, "green"), ("━" * (len(happy) - done), "dim"))
    found = WorkflowState.COMPLETE if done == len(happy) else WorkflowState.STEPS_IN_PROCESS
    return _named(f"{len(happy)} happy orders", found), bar, f"{done} of {len(happy)}"


def _named(name: str, found: WorkflowState) -> Text:
    return Text(name, style=style(found))


def _symbols(steps: Sequence[Step]) -> Text:
    return Text.assemble(*((f"{SYMBOLS[one.state]}", style(one.state)) for one in steps))


def _doing(steps: Sequence[Step]) -> str:
    for one in steps:
        if one.state is StepState.WAITING_FOR_RETRY and one.failure is not None:
            due = age(one.due_at) if one.due_at is not None else "soon"
            return f"{one.name}: {failure_line(one.failure)}; again {due if due.startswith('in') else 'now'}"
        if one.state is StepState.ERROR and one.failure is not None:
            return f"{one.name}: {failure_line(one.failure)}"
    retried = [one for one in steps if one.attempt > 1]
    return ", ".join(f"{one.name} took {one.attempt} attempts" for one in retried)
