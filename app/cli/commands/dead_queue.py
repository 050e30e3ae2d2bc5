"""`remand dlq queue …`, `remand queue set`: which queues hold dead letters."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import RenderableType

from app.cli.commands.queue import GROUP as QUEUE
from app.cli.commands.queue import QueueName
from app.cli.context import By, Cli, Group, Reason
from app.cli.render.output import age, now, span, table
from app.cli.render.wording import command, counted, next_steps
from app.domain.page import Page
from app.engine import dead_queues
from app.resources.queues import DeadQueue, change_settings

GROUP = Group("dlq queue", "Dead queues: where dead letters lie, so that each team finds its own.")
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the dead queue.")]
Limit = Annotated[
    int | None,
    typer.Option("--size-limit", help="Open letters it is meant to hold; default: the setting."),
]


@GROUP.verb("list", examples=("remand dlq queue list", "remand dlq queue list --json"))
def list_(cli: Cli) -> None:
    """List the dead queues: what lies in each, and which queues' letters go there."""
    found = dead_queues.list_dead_queues(cli.engine)
    cli.out.answer_page(Page.whole(found), _listing(found))


def _listing(found: list[DeadQueue]) -> RenderableType:
    at = now()
    return table(
        "dead queue", "open", "limit", "letters of queues", "made", "for",
        rows=[
            (
                one.name,
                str(one.open),
                "–" if one.size_limit is None else str(one.size_limit),
                ", ".join(one.queues) or "–",
                f"{age(one.created_at, at)} by {one.created_by}",
                one.description,
            )
            for one in found
        ],
    )  # fmt: skip


@GROUP.verb(
    "create",
    exits=(5,),
    examples=('remand dlq queue create payments-dead --description "the payments team looks here"',),
)
def create(
    cli: Cli,
    name: Name,
    description: Annotated[str, typer.Option("--description", help="Whose it is and what for.")] = "",
    size_limit: Limit = None,
    reason: Reason = None,
    by: By = None,
) -> None:
    """Make a dead queue; then let a template or a queue name it."""
    who = cli.who(by, reason)
    made = dead_queues.create_dead_queue(
        cli.engine, name, who, description=description, size_limit=size_limit
    )
    cli.out.answer(
        made,
        f"dead queue {name} made",
        next_steps(command("remand queue set", "QUEUE", "--dead-queue", name)),
    )


@GROUP.verb(
    "set", exits=(4,), examples=('remand dlq queue set payments-dead --size-limit 500 --reason "new team"',)
)
def set_(
    cli: Cli,
    name: Name,
    description: Annotated[
        str | None, typer.Option("--description", help="Whose it is and what for.")
    ] = None,
    size_limit: Limit = None,
    reason: Reason = None,
    by: By = None,
) -> None:
    """Change what is told of a dead queue, or how much it is meant to hold; what is not given stays."""
    who = cli.who(by, reason)
    changed = dead_queues.change_dead_queue(
        cli.engine, name, who, description=description, size_limit=size_limit
    )
    cli.out.answer(changed, f"dead queue {name} changed")


@GROUP.verb(
    "delete",
    exits=(4, 5),
    examples=("remand dlq queue delete old-dead", "remand dlq queue delete old-dead --move-to default"),
)
def delete(
    cli: Cli,
    name: Name,
    move_to: Annotated[
        str | None, typer.Option("--move-to", metavar="NAME", help="Move its letters to this one first.")
    ] = None,
    reason: Reason = None,
    by: By = None,
) -> None:
    """Delete a dead queue. No letter is lost: it must be empty, or they are moved."""
    moved = dead_queues.delete_dead_queue(cli.engine, name, cli.who(by, reason), move_to=move_to)
    told = f" · {counted(moved, 'letter')} moved to {move_to}" if move_to else ""
    cli.out.answer({"name": name, "moved_to": move_to, "moved": moved}, f"dead queue {name} deleted{told}")


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
    told = []
    if dead_queue is not None:
        told.append(f"dead letters of queue {queue} go to {dead_queue}")
    if expire_after is not None:
        when = f"after {span(expire_after)}" if expire_after else "never"
        told.append(f"what is submitted to queue {queue} from now on expires {when}")
    cli.out.answer(changed, *told)
