"""Show the demo's workflows while they run: a table that changes in place, or a line for each that ends."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from uuid import UUID

from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from remand_app.cli.render.drawing import SYMBOLS, failure_line
from remand_app.cli.render.output import age, state, style, table
from remand_app.demo.checks import DemoFailed, Submission
from remand_app.domain.states import StepState, WorkflowState
from remand_app.store.database import Database
from remand_app.store.steps import Step, steps_of
from remand_app.store.workflows import states_of

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
    ids = [submission.workflow_id for submission in submissions]
    announced: set[int] = set()
    with _screen(console) as show:
        while True:
            meanwhile()
            states = states_of(database, ids)
            if show is not None:
                show(_table(database, submissions, states))
            else:
                _tell(console, submissions, states, announced)
            under_way = [
                submission for submission in submissions if not _is_over(states[submission.workflow_id])
            ]
            if not under_way:
                return
            if time.monotonic() > deadline:
                raise DemoFailed([_late(submission, states, timeout_seconds) for submission in under_way])
            time.sleep(_LOOK_SECONDS)


def _late(submission: Submission, states: dict[UUID, WorkflowState], timeout_seconds: float) -> str:
    return f"{submission.name}: still {states[submission.workflow_id]} after {timeout_seconds:g} s"


def _is_over(state: WorkflowState) -> bool:
    return state.is_final or state.needs_person


@contextlib.contextmanager
def _screen(console: Console) -> Iterator[Callable[[RenderableType], None] | None]:
    if not console.is_terminal:
        yield None
        return
    with Live(console=console, auto_refresh=False) as live:
        yield lambda drawn: live.update(drawn, refresh=True)


def _tell(
    console: Console,
    submissions: Sequence[Submission],
    states: dict[UUID, WorkflowState],
    announced: set[int],
) -> None:
    for number, submission in enumerate(submissions):
        reached = states[submission.workflow_id]
        if number not in announced and _is_over(reached):
            announced.add(number)
            console.print(Text.assemble(f"  {submission.name}: ", state(reached)))


def _table(
    database: Database, submissions: Sequence[Submission], states: dict[UUID, WorkflowState]
) -> RenderableType:
    happy = [
        submission for submission in submissions if submission.expect == "complete" and submission.is_order
    ]
    rows: list[tuple[str | Text, ...]] = [_together(happy, states)]
    for submission in submissions:
        if submission not in happy:
            steps = steps_of(database, submission.workflow_id)
            rows.append(
                (_named(submission.name, states[submission.workflow_id]), _symbols(steps), _doing(steps))
            )
    return table("scenario", "steps", "", rows=rows, folds=False)


def _together(happy: Sequence[Submission], states: dict[UUID, WorkflowState]) -> tuple[str | Text, ...]:
    done = sum(states[submission.workflow_id] is WorkflowState.COMPLETE for submission in happy)
    bar = Text.assemble(("━" * done, "green"), ("━" * (len(happy) - done), "dim"))
    reached = WorkflowState.COMPLETE if done == len(happy) else WorkflowState.STEPS_IN_PROCESS
    return _named(f"{len(happy)} happy orders", reached), bar, f"{done} of {len(happy)}"


def _named(name: str, reached: WorkflowState) -> Text:
    return Text(name, style=style(reached))


def _symbols(steps: Sequence[Step]) -> Text:
    return Text.assemble(*((f"{SYMBOLS[step.state]}", style(step.state)) for step in steps))


def _doing(steps: Sequence[Step]) -> str:
    for step in steps:
        if step.state is StepState.WAITING_FOR_RETRY and step.failure is not None:
            due = age(step.due_at) if step.due_at is not None else "soon"
            return (
                f"{step.name}: {failure_line(step.failure)}; again {due if due.startswith('in') else 'now'}"
            )
        if step.state is StepState.ERROR and step.failure is not None:
            return f"{step.name}: {failure_line(step.failure)}"
    retried = [step for step in steps if step.attempt > 1]
    return ", ".join(f"{step.name} took {step.attempt} attempts" for step in retried)
