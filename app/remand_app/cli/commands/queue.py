"""`remand queue`: list, show, pause, resume. Shows what waits in each queue, and which workers listen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from remand_app.cli.context import Cli, Group
from remand_app.cli.render.output import age, facts, now, span, state, table
from remand_app.cli.render.wording import command, counted, next_steps
from remand_app.cli.verb_commands import Done, Target, make_commands
from remand_app.domain.page import Page
from remand_app.domain.queues import RETRY
from remand_app.resources import queues
from remand_app.resources.queues import Queue, QueueChanged
from remand_app.resources.verbs import Verb

GROUP = Group("queue", "See how much waits where and for how long; pause a queue, let it go on.")
QueueName = Annotated[str, typer.Argument(metavar="QUEUE", help="Its name, as `remand queue list` shows it.")]


@GROUP.verb("list", examples=("remand queue list", "remand queue list --json"))
def list_(cli: Cli) -> None:
    """List the queues: what is in each, how long the oldest work of it has been due, who listens."""
    listed = queues.queues(cli.engine)
    cli.out.answer_page(Page.whole(listed), _listing(listed))


def _listing(listed: Sequence[Queue]) -> RenderableType:
    at = now()
    return table(
        "queue", "ready", "failed", "waiting", "held", "claimed", "oldest", "workers", "paused",
        rows=[
            (
                queue.queue,
                *(
                    str(number or "–")
                    for number in (
                        queue.ready, queue.failed, queue.waiting, queue.held, queue.claimed
                    )
                ),
                "" if queue.oldest_seconds is None else span(queue.oldest_seconds),
                str(len(queue.workers)) if queue.workers else Text("none", style="red"),
                Text(f"for {age(queue.paused_since, at)} by {queue.paused_by}", style="yellow")
                if queue.is_paused
                else "",
            )
            for queue in listed
        ],
    )  # fmt: skip


@GROUP.verb("show", exits=(4,), examples=("remand queue show retry.exponential",))
def show(cli: Cli, queue: QueueName) -> None:
    """Show one queue: what is in it and why it waits, whether it is paused, who listens."""
    shown = queues.find_queue(cli.engine, queue)
    cli.out.answer(shown, _heading(shown), *_what_next(shown))


def _heading(queue: Queue) -> RenderableType:
    stands = state("ok") if not queue.is_paused else Text.assemble(
        state("paused"),
        f" for {age(queue.paused_since)} by {queue.paused_by}: {queue.paused_reason or 'no reason given'}",
    )  # fmt: skip
    return facts(
        [
            ("queue", queue.queue),
            ("state", stands),
            ("ready", str(queue.ready)),
            ("failed", f"{queue.failed} attempts wait for a decision" if queue.failed else None),
            ("waiting", f"{counted(queue.waiting, 'step')} for the next attempt" if queue.waiting else None),
            ("held", f"{counted(queue.held, 'step')} by breakers" if queue.held else None),
            ("claimed", f"{counted(queue.claimed, 'step')} by workers" if queue.claimed else None),
            ("oldest", f"due for {span(queue.oldest_seconds)}" if queue.oldest_seconds is not None else None),
            ("workers", ", ".join(queue.workers) or Text("none listens", style="red")),
        ]
    )


def _what_next(queue: Queue) -> list[RenderableType]:
    steps = []
    if queue.is_paused:
        steps.append(command("remand queue resume", queue.queue))
    if not queue.workers:
        steps.append(command("remand worker --queues", queue.queue))
    if queue.held:
        steps.append(command("remand breaker list"))
    return [Text(), next_steps(*steps)] if steps else []


def _find(_: Cli, queue: str) -> Target:
    return Target((queue,))


def _answer(cli: Cli, did: Done) -> None:
    queue: QueueChanged = did.value
    left = queue.ready + queue.failed
    then = [command("remand queue resume", queue.queue)] if did.verb.name == "pause" else []
    cli.out.answer(
        queue,
        f"queue {queue.queue} {_told(did.verb, queue)}"
        + (f" · {counted(left, 'step')} in it" if left else ""),
        *([next_steps(*then)] if then else []),
    )


def _told(verb: Verb, queue: QueueChanged) -> str:
    if verb.name == "resume":
        return "goes on" if queue.changed else "was not paused"
    waits = "failed attempts wait in it undecided" if queue.queue in RETRY else "what is in it waits"
    return f"paused · {waits}" if queue.changed else "paused already, as it was"


make_commands(GROUP, "queue", takes=[("queue", QueueName)], find=_find, answer=_answer)
