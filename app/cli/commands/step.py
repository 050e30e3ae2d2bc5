"""`remand step`: show, retry, resolve, skip, complete."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated
from uuid import UUID

import typer
from rich.console import RenderableType
from rich.text import Text

from app.cli.arguments import read_json
from app.cli.context import By, Cli, Group, Reason, WorkflowId
from app.cli.dry_run import DryRun, answer_dry_run
from app.cli.render.attempts import Verbose, attempt_table, explanations, traceback
from app.cli.render.drawing import paused
from app.cli.render.output import age, facts, json_text, now, short, state
from app.cli.render.wording import decided, follow, held_by
from app.engine import operate
from app.engine.context import Engine
from app.engine.masking import masked
from app.engine.operate import Decided
from app.store.steps import Step, attempts_of, get_step
from app.store.workflows import find_workflow

GROUP = Group("step", "Look at one step of a workflow, or repair it by hand.")
StepName = Annotated[
    str, typer.Argument(metavar="STEP", help="Its name, as `remand workflow show` lists it.")
]


@GROUP.verb(
    "show", exits=(4,), examples=("remand step show 1f9c02 charge", "remand step show 1f9c02 charge -v")
)
def show(cli: Cli, workflow: WorkflowId, step: StepName, verbose: Verbose = False) -> None:
    """Show a step and all its attempts: how each ended, how it was classified and why."""
    found = find_workflow(cli.database, workflow)
    one = get_step(cli.database, found.id, step)
    keys = cli.settings.redact_keys
    attempts = [masked(each, keys) for each in attempts_of(cli.database, found.id, step)]
    tracebacks = [traceback(attempt) for attempt in attempts] if verbose else []
    one = masked(one, keys)
    cli.out.answer(
        {"step": one, "attempts": attempts},
        _heading(one),
        Text(),
        attempt_table(attempts),
        *explanations(attempts),
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


@GROUP.verb(
    "retry",
    exits=(4, 5),
    examples=(
        'remand step retry 1f9c02 charge --reason "gateway is up again"',
        "remand step retry 1f9c02 charge --input @corrected.json",
        "remand step retry 1f9c02 render --queue big-machines --dry-run",
    ),
)
def retry(
    cli: Cli,
    workflow: WorkflowId,
    step: StepName,
    input: Annotated[
        str | None,
        typer.Option(
            "--input", metavar="JSON|@FILE|-", help="Run it with this input instead of the workflow's."
        ),
    ] = None,
    queue: Annotated[str | None, typer.Option("--queue", help="Run it in this queue of steps.")] = None,
    priority: Annotated[int | None, typer.Option("--priority", help="0 (last) to 9 (first).")] = None,
    dry_run: DryRun = False,
    reason: Reason = None,
    by: By = None,
) -> None:
    """Run a failed step again with fresh attempts; one that waits for its retry runs at once.

    The workflow goes on, and its dead letter closes when nothing else is in error.
    """
    who = cli.who(by, reason)
    new_input = operate.KEEP if input is None else read_json(input, "input")

    def act(engine: Engine, workflow_id: UUID) -> Decided:
        return operate.retry_step(
            engine, workflow_id, step, who, new_input=new_input, queue=queue, priority=priority
        )

    _decide(cli, workflow, step, act, dry_run=dry_run)


@GROUP.verb(
    "resolve", exits=(4, 5), examples=('remand step resolve 1f9c02 notify --reason "customer was phoned"',)
)
def resolve(
    cli: Cli,
    workflow: WorkflowId,
    step: StepName,
    dry_run: DryRun = False,
    reason: Reason = None,
    by: By = None,
) -> None:
    """Declare a step done by hand, without a result: steps that depend on it go on and find null."""
    who = cli.who(by, reason)
    _decide(cli, workflow, step, lambda engine, id_: operate.resolve_step(engine, id_, step, who),
            dry_run=dry_run)  # fmt: skip


@GROUP.verb("skip", exits=(4, 5), examples=('remand step skip 1f9c02 invoice --reason "customer pays cash"',))
def skip(
    cli: Cli,
    workflow: WorkflowId,
    step: StepName,
    dry_run: DryRun = False,
    reason: Reason = None,
    by: By = None,
) -> None:
    """Do without a step and all that is behind it alone.

    A step that another branch leads to as well still runs, and finds null for what was skipped.
    """
    who = cli.who(by, reason)
    _decide(cli, workflow, step, lambda engine, id_: operate.skip_step(engine, id_, step, who),
            dry_run=dry_run)  # fmt: skip


@GROUP.verb(
    "complete",
    exits=(4, 5),
    examples=(
        'remand step complete 1f9c02 charge --result \'{"charge": "ch_1"}\' --reason "charged by phone"',
    ),
)
def complete(
    cli: Cli,
    workflow: WorkflowId,
    step: StepName,
    result: Annotated[
        str, typer.Option("--result", metavar="JSON|@FILE|-", help="What its handler would have returned.")
    ],
    dry_run: DryRun = False,
    reason: Reason = None,
    by: By = None,
) -> None:
    """Complete a step by hand with a result, as if its handler had returned it."""
    who = cli.who(by, reason)
    value = read_json(result, "result")
    _decide(cli, workflow, step,
            lambda engine, id_: operate.complete_step(engine, id_, step, who, result=value),
            dry_run=dry_run)  # fmt: skip


def _decide(
    cli: Cli, workflow: str, step: str, act: Callable[[Engine, UUID], Decided], *, dry_run: bool
) -> None:
    found = find_workflow(cli.database, workflow)
    if dry_run:
        answer_dry_run(cli, found.id, lambda engine: act(engine, found.id))
    else:
        _answer(cli, step, act(cli.engine, found.id))


def _answer(cli: Cli, step: str, answer: Decided) -> None:
    cli.out.answer(
        {"step": step, **_fields(answer)},
        decided(f"step {step} of workflow {short(answer.workflow_id)}", answer),
        follow(answer.workflow_id),
    )


def _fields(answer: Decided) -> dict[str, object]:
    return {name: getattr(answer, name) for name in Decided.__slots__}
