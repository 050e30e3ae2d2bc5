"""`remand queue`: list, show, pause, resume. Shows what waits in each queue, and which workers listen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from app.cli.context import Cli, Group
from app.cli.render.output import age, facts, now, span, state, table
from app.cli.render.wording import command, counted, next_steps
from app.cli.verb_commands import Done, Target, make_commands
from app.domain.page import Page
from app.domain.queues import RETRY
from app.resources import queues
from app.resources.queues import Queue, QueueChanged
from app.resources.verbs import Verb

GROUP = Group("queue", "See how much waits where and for how long; pause a queue, let it go on.")
QueueName = Annotated[str, typer.Argument(metavar="QUEUE", help="Its name, as `remand queue list` shows it.")]


@GROUP.verb("list", examples=("remand queue list", "remand queue list --json"))
def list_(cli: Cli) -> None:
    """List the queues: what is in each, how long the oldest work of it has been due, who listens."""
    found = queues.queues(cli.engine)
    cli.out.answer_page(Page.whole(found), _listing(found))


def _listing(found: Sequence[Queue]) -> RenderableType:
    at = now()
    return table(
        "queue", "ready", "failed", "waiting", "held", "claimed", "oldest", "workers", "paused",
        rows=[
            (
                one.queue,
                *(
                    str(number or "–")
                    for number in (
                        one.ready, one.failed, one.waiting, one.held, one.claimed
                    )
                ),
                "" if one.oldest_seconds is None else span(one.oldest_seconds),
                str(len(one.workers)) if one.workers else Text("none", style="red"),
                Text(f"for {age(one.paused_since, at)} by {one.paused_by}", style="yellow")
                if one.is_paused
                else "",
            )
            for one in found
        ],
    )  # fmt: skip


@GROUP.verb("show", exits=(4,), examples=("remand queue show retry.exponential",))
def show(cli: Cli, queue: QueueName) -> None:
    """Show one queue: what is in it and why it waits, whether it is paused, who listens."""
    one = queues.find_queue(cli.engine, queue)
    cli.out.answer(one, _heading(one), *_what_next(one))


def _heading(one: Queue) -> RenderableType:
    stands = state("ok") if not one.is_paused else Text.assemble(
        state("paused"),
        f" for {age(one.paused_since)} by {one.paused_by}: {one.paused_reason or 'no reason given'}",
    )  # fmt: skip
    return facts(
        [
            ("queue", one.queue),
            ("state", stands),
            ("ready", str(one.ready)),
            ("failed", f"{one.failed} attempts wait for a decision" if one.failed else None),
            ("waiting", f"{counted(one.waiting, 'step')} for the next attempt" if one.waiting else None),
            ("held", f"{counted(one.held, 'step')} by breakers" if one.held else None),
            ("claimed", f"{counted(one.claimed, 'step')} by workers" if one.claimed else None),
            ("oldest", f"due for {span(one.oldest_seconds)}" if one.oldest_seconds is not None else None),
            ("workers", ", ".join(one.workers) or Text("none listens", style="red")),
        ]
    )


def _what_next(one: Queue) -> list[RenderableType]:
    steps = []
    if one.is_paused:
        steps.append(command("remand queue resume", one.queue))
    if not one.workers:
        steps.append(command("remand worker --queues", one.queue))
    if one.held:
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
