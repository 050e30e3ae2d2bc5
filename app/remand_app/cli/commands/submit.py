"""`remand submit`: start workflows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any
from uuid import UUID

import typer
from rich.text import Text

from remand_app.cli.arguments import read_json
from remand_app.cli.commands.workflow import WENT_WELL, wait_for
from remand_app.cli.context import ROOT, WORK, By, Cli
from remand_app.cli.decider import decider
from remand_app.cli.exits import EXIT_CODES
from remand_app.cli.render.output import short, state
from remand_app.cli.render.wording import command, next_steps
from remand_app.domain.states import WorkflowState
from remand_app.engine.submit import SubmitRequest, submit_many
from remand_app.resources.workflows import Submitted

MOST_AT_ONCE = 100_000


@ROOT.verb(
    "submit",
    panel=WORK,
    exits={1: "with --wait: one did not go well, or not in time", 4: EXIT_CODES[4]},
    examples=(
        "remand submit data_import/airports",
        "remand submit payments/order --input @order.json --wait",
        "cat order.json | remand submit payments/order:1 --input - --key order-17 --json",
    ),
)  # fmt: skip
def submit(
    cli: Cli,
    template: Annotated[
        str, typer.Argument(help="namespace/name, or name; :version for other than the newest.")
    ],
    input: Annotated[
        str, typer.Option("--input", metavar="JSON|@FILE|-", help="The workflow's input.")
    ] = "{}",
    key: Annotated[
        str | None, typer.Option("--key", help="Identity: one workflow for each key, ever.")
    ] = None,
    priority: Annotated[int | None, typer.Option("--priority", help="0 (last) to 9 (first).")] = None,
    id: Annotated[
        str | None, typer.Option("--id", help="A UUIDv7 of your own: repeating the submit is safe.")
    ] = None,
    count: Annotated[
        int, typer.Option("--count", min=1, max=MOST_AT_ONCE, help="So many with this input.")
    ] = 1,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait until each has ended or needs a person.")
    ] = False,
    timeout: Annotated[
        float | None, typer.Option("--timeout", min=0, help="Seconds to --wait at most.")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", help="A word to find it by; repeatable, 20 at most.")
    ] = None,
    by: By = None,
) -> None:
    """Submit a workflow of a published template, or --count of them, in one transaction each 500."""
    if count > 1 and (key is not None or id is not None):
        raise typer.BadParameter("--count makes several: a --key or --id names one")
    request = SubmitRequest(read_json(input, "input"), key, priority, _uuid7(id), tuple(tag or ()))
    answers = submit_many(cli.engine, template, [request] * count, by=decider(by))
    states = wait_for(cli, [answer.workflow_id for answer in answers], timeout) if wait else {}
    fields = [_fields(answer, states) for answer in answers]
    cli.out.answer(fields[0] if count == 1 else {"workflows": fields}, *_lines(answers, states))
    if not all(state in WENT_WELL for state in states.values()):
        raise typer.Exit(1)


def _uuid7(typed: str | None) -> UUID | None:
    if typed is None:
        return None
    try:
        wanted = UUID(typed)
    except ValueError:
        raise typer.BadParameter(f"--id {typed!r} is no UUID") from None
    if wanted.version != 7:
        raise typer.BadParameter(
            f"--id {typed} is of version {wanted.version}: ids are UUIDv7, which sort by time"
        )
    return wanted


def _fields(answer: Submitted, states: dict[UUID, WorkflowState]) -> dict[str, Any]:
    fields: dict[str, Any] = {"workflow_id": answer.workflow_id, "created": answer.created}
    return {**fields, "state": states[answer.workflow_id]} if states else fields


def _lines(answers: Sequence[Submitted], states: dict[UUID, WorkflowState]) -> list[Text]:
    if len(answers) > 1:
        counts: dict[str, int] = {}
        for workflow_state in states.values():
            counts[str(workflow_state)] = counts.get(str(workflow_state), 0) + 1
        ended = "".join(f"\n  {count} {name}" for name, count in sorted(counts.items()))
        return [Text(f"submitted {len(answers)} workflows{ended}")]
    answer = answers[0]
    verb = "submitted" if answer.created else "found, submitted before:"
    line = Text(f"{verb} workflow {answer.workflow_id}")
    if states:
        return [Text.assemble(line, ", now ", state(states[answer.workflow_id]))]
    end = short(answer.workflow_id)
    return [line, next_steps(command("remand workflow show", end), command("remand workflow wait", end))]
