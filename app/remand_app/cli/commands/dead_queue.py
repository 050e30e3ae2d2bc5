"""`remand dlq queue …`, `remand queue set`: which queues hold dead letters."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import RenderableType

from remand_app.cli.commands.queue import GROUP as QUEUE
from remand_app.cli.commands.queue import QueueName
from remand_app.cli.context import By, Cli, Group, Reason
from remand_app.cli.render.output import age, now, span, table
from remand_app.cli.render.wording import command, counted, next_steps
from remand_app.cli.verb_commands import Done, Target, make_commands
from remand_app.domain.page import Page
from remand_app.engine import dead_queues
from remand_app.resources.queues import DeadQueue, change_settings

GROUP = Group("dlq queue", "Dead queues: where dead letters lie, so that each team finds its own.")
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the dead queue.")]


@GROUP.verb("list", examples=("remand dlq queue list", "remand dlq queue list --json"))
def list_(cli: Cli) -> None:
    """List the dead queues: what lies in each, and which queues' letters go there."""
    queues = dead_queues.list_dead_queues(cli.engine)
    cli.out.answer_page(Page.whole(queues), _listing(queues))


def _listing(queues: list[DeadQueue]) -> RenderableType:
    at = now()
    return table(
        "dead queue", "open", "limit", "letters of queues", "made", "for",
        rows=[
            (
                queue.name,
                str(queue.open),
                "–" if queue.size_limit is None else str(queue.size_limit),
                ", ".join(queue.queues) or "–",
                f"{age(queue.created_at, at)} by {queue.created_by}",
                queue.description,
            )
            for queue in queues
        ],
    )  # fmt: skip


def _find(_: Cli, name: str) -> Target:
    return Target((name,))


def _answer(cli: Cli, did: Done) -> None:
    [name] = did.key
    match did.verb.name:
        case "create":
            then = next_steps(command("remand queue set", "QUEUE", "--dead-queue", name))
            cli.out.answer(did.value, f"dead queue {name} made", then)
        case "delete":
            move_to = did.arguments.get("move_to")
            moved = f" · {counted(did.value, 'letter')} moved to {move_to}" if move_to else ""
            value = {"name": name, "moved_to": move_to, "moved": did.value}
            cli.out.answer(value, f"dead queue {name} deleted{moved}")
        case _:
            cli.out.answer(did.value, f"dead queue {name} changed")


make_commands(GROUP, "dead_queue", takes=[("name", Name)], find=_find, answer=_answer)


@QUEUE.verb(
    "set",
    exits=(4, 5),
    examples=(
        "remand queue set payments --dead-queue payments-dead",
        "remand queue set payments --expire-after 3600",
    ),
)
def set_queue(
    cli: Cli,
    queue: QueueName,
    dead_queue: Annotated[
        str | None,
        typer.Option("--dead-queue", metavar="NAME", help="Where its letters go; `default` unsets it."),
    ] = None,
    expire_after: Annotated[
        float | None,
        typer.Option("--expire-after", min=0, help="Seconds; 0: never."),
    ] = None,
    reason: Reason = None,
    by: By = None,
) -> None:
    """Say where dead letters of a queue's steps lie, and at what age workflows that begin in it expire.

    A template that says so itself goes first for the dead queue; of ages the least counts.
    """
    if dead_queue is None and expire_after is None:
        raise typer.BadParameter("say what is to be set: --dead-queue, --expire-after")
    changed = change_settings(
        cli.engine, queue, cli.who(by, reason), dead_queue=dead_queue, expire_after_seconds=expire_after
    )
    lines = []
    if dead_queue is not None:
        lines.append(f"dead letters of queue {queue} go to {dead_queue}")
    if expire_after is not None:
        when = f"after {span(expire_after)}" if expire_after else "never"
        lines.append(f"what is submitted to queue {queue} from now on expires {when}")
    cli.out.answer(changed, *lines)
