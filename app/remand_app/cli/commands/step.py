"""`remand step`: show, retry, resolve, skip, complete."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from remand_app.cli.context import Cli, Group, WorkflowId
from remand_app.cli.render.attempts import Verbose, attempt_table, explanations, traceback
from remand_app.cli.render.drawing import paused
from remand_app.cli.render.output import age, facts, json_text, now, short, state
from remand_app.cli.render.wording import decided, follow, held_by
from remand_app.cli.verb_commands import Done, Target, make_commands
from remand_app.resources import steps
from remand_app.resources.steps import Step
from remand_app.resources.values import fields_of
from remand_app.resources.workflows import find_workflow

GROUP = Group("step", "Look at one step of a workflow, or repair it by hand.")
StepName = Annotated[
    str, typer.Argument(metavar="STEP", help="Its name, as `remand workflow show` lists it.")
]


@GROUP.verb(
    "show", exits=(4,), examples=("remand step show 1f9c02 charge", "remand step show 1f9c02 charge -v")
)
def show(cli: Cli, workflow: WorkflowId, step: StepName, verbose: Verbose = False) -> None:
    """Show a step and all its attempts: how each ended, how it was classified and why."""
    stored = find_workflow(cli.database, workflow)
    shown = steps.show(cli.database, stored.id, step, cli.settings.redact_keys)
    tracebacks = [traceback(attempt) for attempt in shown.attempts] if verbose else []
    cli.out.answer(
        shown,
        _heading(shown.step),
        Text(),
        attempt_table(shown.attempts),
        *explanations(shown.attempts),
        *(part for part in tracebacks if part is not None),
    )


def _heading(step: Step) -> RenderableType:
    return facts(
        [
            ("workflow", str(step.workflow_id)),
            ("step", step.name),
            ("state", state(step.state)),
            ("handler", f"{step.handler} on queue {step.queue}"),
            ("depends on", ", ".join(step.depends_on) or None),
            ("next attempt", _next_attempt(step)),
            ("waits", paused(step) or None),
            ("own input", json_text(step.input) if step.has_own_input else None),
            ("checkpoint", None if step.checkpoint is None else json_text(step.checkpoint)),
            ("result", None if step.result is None else json_text(step.result)),
        ]
    )


def _next_attempt(step: Step) -> str | None:
    if step.held_by is not None:
        return held_by(step.held_by, step.breaker_state, step.due_at)
    return age(step.due_at, now()) if step.phase == "waiting" else None


def _find(cli: Cli, workflow: str, step: str) -> Target:
    workflow_id = find_workflow(cli.database, workflow).id
    return Target((workflow_id, step), workflow_id)


def _answer(cli: Cli, did: Done) -> None:
    workflow_id, step = did.key
    cli.out.answer(
        steps.StepDecision(**fields_of(did.value), step=step),
        decided(f"step {step} of workflow {short(workflow_id)}", did.value),
        follow(workflow_id),
    )


make_commands(GROUP, "step", takes=[("workflow", WorkflowId), ("step", StepName)], find=_find, answer=_answer)
