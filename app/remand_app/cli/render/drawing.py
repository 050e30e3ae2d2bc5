"""Show the steps of a workflow: as a graph with their states, and as a table with what each waits for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import RenderableType
from rich.text import Text

from remand.failure import Failure
from remand_app.cli.render.dag import Node, draw
from remand_app.cli.render.output import age, now, span, state, style, table
from remand_app.cli.render.wording import held_by
from remand_app.domain.states import StepState
from remand_app.resources.steps import Step

SYMBOLS: Mapping[StepState, str] = {
    StepState.PENDING: "○",
    StepState.ENQUEUED: "●",
    StepState.IN_PROGRESS: "▸",
    StepState.ENQUEUED_FOR_ORCHESTRATION: "▸",
    StepState.ENQUEUED_AS_ERROR_FOR_ORCHESTRATION: "!",
    StepState.WAITING_FOR_RETRY: "↻",
    StepState.COMPLETE: "✓",
    StepState.ERROR: "✗",
    StepState.CANCELLED: "⊘",
    StepState.RESOLVED_MANUALLY: "✔",
}


def draw_workflow(steps: Sequence[Step], width: int) -> Text | None:
    """Return the graph of the steps in their states; None where a drawing would not help or not fit."""
    nodes = {step.name: Node(f"{SYMBOLS[step.state]} {step.name}", style(step.state)) for step in steps}
    return draw(nodes, {step.name: step.depends_on for step in steps}, width)


def step_table(steps: Sequence[Step]) -> RenderableType:
    """Return a line for each step."""
    done = {step.name for step in steps if step.state.satisfies_children}
    return table(
        "step", "state", "attempts", "took", "detail",
        rows=[
            (step.name, state(step.state), str(step.attempt or ""), _took(step), _detail(step, done))
            for step in steps
        ],
    )  # fmt: skip


def failure_line(failure: Failure) -> str:
    """Return a failure in one line: class without its module, first line of the message, category."""
    name = failure.error_class.rpartition(".")[2]
    first, _, _ = failure.message.partition("\n")
    return f"{name}: {first} ({failure.classification.category})"


def _took(step: Step) -> str:
    if step.started_at is None:
        return ""
    if step.ended_at is None:
        return f"{age(step.started_at)} …" if step.state is StepState.IN_PROGRESS else ""
    return span((step.ended_at - step.started_at).total_seconds())


def _detail(step: Step, done: set[str]) -> str:
    match step.state:
        case StepState.PENDING:
            missing = [name for name in step.depends_on if name not in done]
            return f"waits for {_some(missing)}" if missing else "held back"
        case StepState.WAITING_FOR_RETRY if step.held_by is not None:
            return _joined(held_by(step.held_by, step.breaker_state, step.due_at), _failure(step))
        case StepState.WAITING_FOR_RETRY:
            return _joined(f"next attempt {_due(step)}", _failure(step))
        case StepState.ENQUEUED_AS_ERROR_FOR_ORCHESTRATION:
            return _joined(paused(step), _failure(step))
        case StepState.ERROR:
            return _failure(step)
        case StepState.ENQUEUED:
            return _joined(f"in queue {step.queue}", "paused" if step.paused_since else "")
        case _:
            return ""


def paused(step: Step) -> str:
    """Return that a step waits in a paused queue; "" if it does not."""
    return f"queue {step.waits_in} is paused" if step.paused_since else ""


def _joined(*parts: str) -> str:
    return " · ".join(part for part in parts if part)


def _failure(step: Step) -> str:
    return failure_line(step.failure) if step.failure else ""


def _due(step: Step) -> str:
    if step.due_at is None:
        return "soon"
    return age(step.due_at, now()) if step.due_at > now() else "due now"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{', '.join(names[:2])} and {len(names) - 2} more"
