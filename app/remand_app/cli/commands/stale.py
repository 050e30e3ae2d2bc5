"""`remand stale`: list workflows that show no sign of life, and take them out of work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from remand_app.cli.context import ROOT, RUN, After, Cli, Limit
from remand_app.cli.render.output import age, now, short_ids, state, table
from remand_app.cli.render.wording import command, counted, next_steps
from remand_app.domain.page import Page
from remand_app.domain.staleness import Health, WorkflowStaleness
from remand_app.engine import staleness
from remand_app.engine.sweeps.stale import stale as sweep

_STYLE = {Health.STALE: "red", Health.WARNING: "yellow", Health.HEALTHY: "green"}


@ROOT.verb(
    "stale",
    panel=RUN,
    examples=("remand stale --list", "remand stale --dry-run", "remand stale", "remand stale --list --json"),
)
def stale(
    cli: Cli,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be taken out of work, oldest first.")
    ] = False,
    listed: Annotated[
        bool,
        typer.Option("--list", help="Only list how workflows stand: stale, warning, the oldest healthy."),
    ] = False,
    after: After = None,
    limit: Limit = 200,
) -> None:
    """Take out of work what shows no sign of life, as the sweep does, now; or say what would happen.

    A workflow is stale when it was without a sign of life for longer than its template's `lifecycle`, or
    `[staleness]`, allows. While another stale sweep runs, nothing is done.
    """
    if listed:
        _answer(cli, staleness.shown(cli.engine, tuple(Health), after=after, limit=limit))
    elif dry_run:
        _answer(cli, staleness.would_take(cli.engine, after=after, limit=limit))
    else:
        swept = sweep(cli.engine)
        summary = f"{counted(swept.letters, 'dead letter')}, {counted(swept.errors, 'error')}"
        summary += f", {swept.warned} warned of"
        cli.out.answer(swept, Text(summary), next_steps(command("remand dlq list")))


def _answer(cli: Cli, page: Page[WorkflowStaleness]) -> None:
    cli.out.answer_page(page, _listing(page.items) if page.items else Text("nothing is stale"))


def _listing(workflows: Sequence[WorkflowStaleness]) -> RenderableType:
    at = now()
    ends = short_ids(workflow.workflow_id for workflow in workflows)
    return table(
        "workflow", "template", "state", "health", "why", "allowed until", "then",
        rows=[
            (
                ends[workflow.workflow_id],
                workflow.ref,
                state(workflow.state),
                Text(workflow.health, style=_STYLE[workflow.health]),
                _why(workflow),
                age(workflow.stale_at, at),
                workflow.action,
            )
            for workflow in workflows
        ],
    )  # fmt: skip


def _why(workflow: WorkflowStaleness) -> str:
    where = f" in {workflow.queue}" if workflow.queue is not None else ""
    return f"{workflow.why}{where} for {age(workflow.since, at=now())}"
