"""`remand workflow`: cancel, pause, resume, restart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated
from uuid import UUID

import typer

from app.cli.commands.workflow import GROUP
from app.cli.context import By, Cli, Reason, WorkflowId
from app.cli.dry_run import DryRun, answer_dry_run
from app.cli.render.output import short
from app.cli.render.wording import command, decided, follow, next_steps
from app.engine import operate
from app.engine.context import Engine
from app.engine.operate import Decided
from app.store.workflows import find_workflow

__all__ = ["GROUP"]


@GROUP.verb(
    "cancel",
    exits=(4, 5),
    examples=(
        'remand workflow cancel 1f9c02 --reason "ordered twice"',
        "remand workflow cancel 1f9c02 --dry-run",
    ),
)
def cancel(
    cli: Cli, workflow: WorkflowId, dry_run: DryRun = False, reason: Reason = None, by: By = None
) -> None:
    """Cancel a workflow that has not ended.

    Results that running steps still bring are refused; an open dead letter is closed with it.
    """
    who = cli.who(by, reason)
    answer = _decide(cli, workflow, lambda engine, id_: operate.cancel(engine, id_, who), dry_run=dry_run)
    if answer is not None:
        cli.out.answer(answer, decided(f"workflow {short(answer.workflow_id)}", answer))


@GROUP.verb("pause", exits=(4, 5), examples=('remand workflow pause 1f9c02 --reason "bank is closed"',))
def pause(
    cli: Cli, workflow: WorkflowId, dry_run: DryRun = False, reason: Reason = None, by: By = None
) -> None:
    """Hold a workflow: it starts no further step, what runs ends and counts, retries wait."""
    who = cli.who(by, reason)
    answer = _decide(
        cli, workflow, lambda engine, id_: operate.pause_workflow(engine, id_, who), dry_run=dry_run
    )
    if answer is not None:
        end = short(answer.workflow_id)
        cli.out.answer(
            answer,
            decided(f"workflow {end} is paused", answer),
            next_steps(command("remand workflow resume", end)),
        )


@GROUP.verb("resume", exits=(4, 5), examples=("remand workflow resume 1f9c02",))
def resume(
    cli: Cli, workflow: WorkflowId, dry_run: DryRun = False, reason: Reason = None, by: By = None
) -> None:
    """Let a paused workflow go on; a retry is made when it is due."""
    who = cli.who(by, reason)
    answer = _decide(
        cli, workflow, lambda engine, id_: operate.resume_workflow(engine, id_, who), dry_run=dry_run
    )
    if answer is not None:
        told = decided(f"workflow {short(answer.workflow_id)} goes on", answer)
        cli.out.answer(answer, told, follow(answer.workflow_id))


@GROUP.verb(
    "restart",
    exits=(4, 5),
    examples=(
        "remand workflow restart 1f9c02 --from charge --dry-run",
        'remand workflow restart 1f9c02 --from charge --reason "prices were wrong"',
    ),
)
def restart(
    cli: Cli,
    workflow: WorkflowId,
    step: Annotated[str, typer.Option("--from", metavar="STEP", help="The step to begin with.")],
    dry_run: DryRun = False,
    reason: Reason = None,
    by: By = None,
) -> None:
    """Run a step and everything behind it anew; their results and failures are forgotten.

    Not of a workflow that is complete, cancelled or resolved, and not while one of these steps runs.
    """
    who = cli.who(by, reason)
    answer = _decide(
        cli, workflow, lambda engine, id_: operate.restart_from(engine, id_, step, who), dry_run=dry_run
    )
    if answer is not None:
        told = decided(f"step {step} of workflow {short(answer.workflow_id)}", answer)
        cli.out.answer(answer, told, follow(answer.workflow_id))


def _decide(
    cli: Cli, workflow: str, act: Callable[[Engine, UUID], Decided], *, dry_run: bool
) -> Decided | None:
    found = find_workflow(cli.database, workflow)
    if dry_run:
        answer_dry_run(cli, found.id, lambda engine: act(engine, found.id))
        return None
    return act(cli.engine, found.id)
