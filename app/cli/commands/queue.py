"""`remand queue`: list, show, pause, resume. What waits where, and who listens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from app.cli.context import By, Cli, Group, Reason
from app.cli.render.output import age, facts, now, span, state, table
from app.cli.render.wording import command, counted, next_steps
from app.domain.page import Page
from app.domain.queues import RETRY
from app.engine import overview, pauses
from app.engine.overview import QueueStanding

GROUP = Group("queue", "See how much waits where and for how long; pause a queue, let it go on.")
QueueName = Annotated[str, typer.Argument(metavar="QUEUE", help="Its name, as `remand queue list` shows it.")]


@GROUP.verb("list", examples=("remand queue list", "remand queue list --json"))
def list_(cli: Cli) -> None:
    """List the queues: what is in each, how long the oldest work of it has been due, who listens."""
    found = overview.queues(cli.engine)
    cli.out.answer_page(Page.whole(one.to_dict() for one in found), _listing(found))


def _listing(found: Sequence[QueueStanding]) -> RenderableType:
    at = now()
    return table(
        "queue", "ready", "failed", "waiting", "held", "claimed", "oldest", "workers", "paused",
        rows=[
            (
                one.queue,
                *(
                    str(number or "–")
                    for number in (
                        one.work.ready, one.work.failed, one.work.waiting, one.work.held, one.work.claimed
                    )
                ),
                "" if one.work.oldest_seconds is None else span(one.work.oldest_seconds),
                str(len(one.workers)) if one.workers else Text("none", style="red"),
                Text(f"for {age(one.paused.since, at)} by {one.paused.by}", style="yellow")
                if one.paused
                else "",
            )
            for one in found
        ],
    )  # fmt: skip


@GROUP.verb("show", exits=(4,), examples=("remand queue show retry.exponential",))
def show(cli: Cli, queue: QueueName) -> None:
    """Show one queue: what is in it and why it waits, whether it is paused, who listens."""
    one = overview.find_queue(cli.engine, queue)
    cli.out.answer(one.to_dict(), _heading(one), *_what_next(one))


def _heading(one: QueueStanding) -> RenderableType:
    work, paused = one.work, one.paused
    stands = state("ok") if paused is None else Text.assemble(
        state("paused"),
        f" for {age(paused.since)} by {paused.by}: {paused.reason or 'no reason given'}",
    )  # fmt: skip
    return facts(
        [
            ("queue", one.queue),
            ("state", stands),
            ("ready", str(work.ready)),
            ("failed", f"{work.failed} attempts wait for a decision" if work.failed else None),
            ("waiting", f"{counted(work.waiting, 'step')} for the next attempt" if work.waiting else None),
            ("held", f"{counted(work.held, 'step')} by breakers" if work.held else None),
            ("claimed", f"{counted(work.claimed, 'step')} by workers" if work.claimed else None),
            ("oldest", f"due for {span(work.oldest_seconds)}" if work.oldest_seconds is not None else None),
            ("workers", ", ".join(one.workers) or Text("none listens", style="red")),
        ]
    )


def _what_next(one: QueueStanding) -> list[RenderableType]:
    steps = []
    if one.paused is not None:
        steps.append(command("remand queue resume", one.queue))
    if not one.workers:
        steps.append(command("remand worker --queues", one.queue))
    if one.work.held:
        steps.append(command("remand breaker list"))
    return [Text(), next_steps(*steps)] if steps else []


@GROUP.verb(
    "pause",
    exits=(4,),
    examples=(
        'remand queue pause steps --reason "deploy"',
        'remand queue pause retry.exponential --reason "look at the failures first"',
    ),
)
def pause(cli: Cli, queue: QueueName, reason: Reason = None, by: By = None) -> None:
    """Pause a queue: nothing more is claimed from it, what runs ends, nothing in it is lost.

    In a paused retry queue failed attempts wait undecided: neither tried again nor dead letters.
    """
    who = cli.who(by, reason)
    changed = pauses.pause_queue(cli.engine, queue, by=who.by, reason=who.reason)
    waits = "failed attempts wait in it undecided" if queue in RETRY else "what is in it waits"
    told = f"paused · {waits}" if changed else "paused already, as it was"
    _answer(cli, queue, changed, told, command("remand queue resume", queue))


@GROUP.verb("resume", exits=(4,), examples=("remand queue resume steps",))
def resume(cli: Cli, queue: QueueName, reason: Reason = None, by: By = None) -> None:
    """Let a paused queue go on, and ring its workers."""
    who = cli.who(by, reason)
    changed = pauses.resume_queue(cli.engine, queue, by=who.by, reason=who.reason)
    _answer(cli, queue, changed, "goes on" if changed else "was not paused")


def _answer(cli: Cli, queue: str, changed: bool, told: str, *then: Text) -> None:
    one = overview.find_queue(cli.engine, queue)
    left = one.work.ready + one.work.failed
    cli.out.answer(
        {**one.to_dict(), "changed": changed},
        f"queue {queue} {told}" + (f" · {counted(left, 'step')} in it" if left else ""),
        *([next_steps(*then)] if then else []),
    )
