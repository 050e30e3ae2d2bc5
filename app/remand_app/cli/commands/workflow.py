"""`remand workflow`: list, show, wait, history; the verbs that change workflows are in `workflow_verbs`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID

import typer
from rich.console import RenderableType
from rich.text import Text

from remand_app.cli.context import After, Cli, Group, Limit, WorkflowId
from remand_app.cli.exits import EXIT_CODES
from remand_app.cli.filter_options import filter_of
from remand_app.cli.option_groups import with_options
from remand_app.cli.render.drawing import draw_workflow, step_table
from remand_app.cli.render.output import age, facts, json_text, now, short, short_ids, span, state, table
from remand_app.cli.render.wording import command, next_steps
from remand_app.domain.errors import WaitTimedOut
from remand_app.domain.page import Page
from remand_app.domain.states import WorkflowState
from remand_app.resources import workflows
from remand_app.resources.workflows import (
    Move,
    OpenLetter,
    Workflow,
    WorkflowFilter,
    find_workflow,
    line_of,
    masked,
    moves_of,
    search,
    states_of,
)

GROUP = Group("workflow", "Look at workflows, wait for them, cancel them.")
FIRST_PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 0.5
WENT_WELL = (WorkflowState.COMPLETE, WorkflowState.RESOLVED_MANUALLY)


@GROUP.verb(
    "list",
    examples=(
        "remand workflow list",
        "remand workflow list --state blocked_by_failures --since 2h",
        "remand workflow list --template payments/order --json",
    ),
)
@with_options(asked=filter_of(WorkflowFilter, but=("namespace", "id_prefix", "submitted_before")))
def list_(cli: Cli, asked: WorkflowFilter, after: After = None, limit: Limit = 50) -> None:
    """List workflows, newest first; those in the archive are found by their ids alone."""
    page = search(cli.database, asked, after=after, limit=limit)
    looked = page.looked_back_to
    cli.out.answer_page(
        page.page.each(line_of),
        _listing(page.page.items) if page.page.items else "no workflows",
        *([] if looked is None else [f"looked back to {looked:%Y-%m-%d %H:%M} UTC so far"]),
        looked_back_to=looked,
    )


def _listing(workflows: Sequence[Workflow]) -> RenderableType:
    at = now()
    ends = short_ids(workflow.id for workflow in workflows)
    return table(
        "id", "template", "state", "for", "open steps", "age",
        rows=[
            (
                ends[workflow.id],
                workflow.ref,
                state(workflow.state),
                age(workflow.state_since, at),
                _open(workflow),
                age(workflow.created_at, at),
            )
            for workflow in workflows
        ],
    )  # fmt: skip


def _open(workflow: Workflow) -> str:
    failed = f" ({workflow.error_steps} in error)" if workflow.error_steps else ""
    held = f", held by breaker {', '.join(workflow.held_by)}" if workflow.held_by else ""
    paused = f", paused by {workflow.paused_by}" if workflow.paused_at else ""
    return f"{workflow.open_steps}{failed}{held}{paused}"


@GROUP.verb(
    "show",
    exits=(4,),
    examples=(
        "remand workflow show 1f9c02",
        "remand workflow show 1f9c02 --input",
        "remand workflow show 1f9c02 --json",
    ),
)
def show(
    cli: Cli,
    workflow: WorkflowId,
    input: Annotated[bool, typer.Option("--input", help="Show the input, too.")] = False,
) -> None:
    """Draw a workflow's steps with their states, and say what it waits for."""
    keys = cli.settings.redact_keys
    stored = masked(find_workflow(cli.database, workflow), keys)
    shown = workflows.show(cli.database, stored, keys)
    drawn = draw_workflow(shown.steps, cli.out.console.width)
    cli.out.answer(
        shown,
        _heading(stored, input),
        *([Text(), drawn] if drawn is not None else []),
        Text(),
        step_table(shown.steps),
        *_what_next(stored, shown.dead_letter),
    )


def _heading(workflow: Workflow, with_input: bool) -> RenderableType:
    at = now()
    return facts(
        [
            ("workflow", str(workflow.id)),
            ("template", workflow.ref),
            ("state", Text.assemble(state(workflow.state), f" for {age(workflow.state_since, at)}")),
            ("submitted", f"{age(workflow.created_at, at)} ago by {workflow.submitted_by}"),
            ("archived", "read-only" if workflow.is_archived else None),
            ("held", None if workflow.hold == "paused" else workflow.hold),
            ("paused", _paused(workflow, at)),
            ("tags", ", ".join(workflow.tags or ()) or None),
            ("input", json_text(workflow.input) if with_input else None),
        ]
    )


def _paused(workflow: Workflow, at: datetime) -> str | None:
    if workflow.paused_at is None:
        return None
    why = f": {workflow.pause_reason}" if workflow.pause_reason else ""
    return f"for {age(workflow.paused_at, at)} by {workflow.paused_by}{why}"


def _what_next(workflow: Workflow, letter: OpenLetter | None) -> list[RenderableType]:
    end = short(workflow.id)
    if workflow.is_archived:
        return [Text(), next_steps(command("remand archive restore", workflow.id))]
    if letter is not None:
        claimed = f", {letter.claimed_by} investigates" if letter.claimed_by else ""
        summary = Text.assemble(
            (f"dead letter {short(letter.id)}", "bold red"),
            f" {letter.status}{claimed}: step {letter.step}, {letter.reason}",
        )
        return [Text(), summary, next_steps(command("remand dlq show", short(letter.id)))]
    if not workflow.state.is_final:
        return [Text(), next_steps(command("remand workflow wait", end))]
    return []


@GROUP.verb(
    "wait",
    exits={
        0: "every one ended well: complete or resolved by hand",
        1: "one needs a person, failed or was cancelled; or not yet",
        4: EXIT_CODES[4],
    },
    examples=("remand workflow wait 1f9c02", "remand workflow wait 1f9c02 a4410b --timeout 60"),
)
def wait(
    cli: Cli,
    workflow: Annotated[
        list[str], typer.Argument(metavar="WORKFLOW...", help="Ids, or enough of either end.")
    ],
    timeout: Annotated[
        float | None, typer.Option("--timeout", min=0, help="Give up after so many seconds.")
    ] = None,
) -> None:
    """Wait until workflows have ended or need a person; say how it went by the exit code."""
    ids = [find_workflow(cli.database, typed).id for typed in workflow]
    states = wait_for(cli, ids, timeout)
    answered = [
        {"id": workflow_id, "state": states[workflow_id], "went_well": states[workflow_id] in WENT_WELL}
        for workflow_id in ids
    ]
    shown = [
        Text.assemble(f"workflow {short(workflow_id)} is ", state(states[workflow_id])) for workflow_id in ids
    ]
    if len(ids) == 1:
        cli.out.answer(answered[0], *shown)
    else:
        cli.out.answer_page(Page.whole(answered), *shown)
    blocked = [workflow_id for workflow_id in ids if states[workflow_id].needs_person]
    if blocked:
        cli.out.say(
            next_steps(*(command("remand workflow show", short(workflow_id)) for workflow_id in blocked))
        )
    if not all(states[workflow_id] in WENT_WELL for workflow_id in ids):
        raise typer.Exit(1)


def wait_for(cli: Cli, ids: Sequence[UUID], timeout: float | None) -> dict[UUID, WorkflowState]:
    """Return the states once each is final or needs a person; looks at their rows, at most twice a second.

    Raises:
        WaitTimedOut: not within `timeout` seconds.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    pause = FIRST_PAUSE_SECONDS
    while True:
        states = states_of(cli.database, ids)
        under_way = [
            workflow_id
            for workflow_id in ids
            if not (states[workflow_id].is_final or states[workflow_id].needs_person)
        ]
        if not under_way:
            return states
        left = pause if deadline is None else min(pause, deadline - time.monotonic())
        if left <= 0:
            raise WaitTimedOut(
                f"{_named(under_way, states)} after {timeout:g} s",
                hint="wait longer, or look: remand workflow show",
                details={
                    "under_way": {str(workflow_id): str(states[workflow_id]) for workflow_id in under_way}
                },
            )
        time.sleep(left)
        pause = min(pause * 1.5, LONGEST_PAUSE_SECONDS)


def _named(under_way: Sequence[UUID], states: dict[UUID, WorkflowState]) -> str:
    if len(under_way) == 1:
        return f"workflow {under_way[0]} is still {states[under_way[0]]}"
    return f"{len(under_way)} workflows are still under way"


@GROUP.verb(
    "history",
    exits=(4,),
    examples=("remand workflow history 1f9c02", "remand workflow history 1f9c02 --step charge"),
)
def history(
    cli: Cli,
    workflow: WorkflowId,
    step: Annotated[str | None, typer.Option("--step", help="Only the moves of this step.")] = None,
) -> None:
    """Tell every move of a workflow and its steps in order, with who made it and why."""
    stored = find_workflow(cli.database, workflow)
    moves = [move for move in moves_of(cli.database, stored.id) if step is None or move.step == step]
    cli.out.answer_page(Page.whole(moves), _moves(moves, stored))


def _moves(moves: Sequence[Move], workflow: Workflow) -> RenderableType:
    return table(
        "after", "what", "event", "from", "to", "by", "reason",
        rows=[
            (
                f"+{span(max(0.0, (move.at - workflow.created_at).total_seconds()))}",
                move.step or "workflow",
                move.event,
                state(move.from_state),
                state(move.to_state),
                move.by,
                move.reason or "",
            )
            for move in moves
        ],
    )  # fmt: skip
