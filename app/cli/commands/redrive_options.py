"""The options that select dead letters, and those that say how a redrive runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID

import typer

from app.cli.arguments import read_since
from app.cli.context import Cli
from app.cli.render.output import now
from app.domain.dead_letter_filter import OPEN, LetterFilter
from app.domain.errors import InputInvalid
from app.domain.redrive import RedriveVerb
from app.domain.states import DeadReason
from app.resources.groups import find_group_id
from app.resources.letters import find_letter_id

Letters = Annotated[
    list[str] | None,
    typer.Argument(metavar="LETTER", help="Ids, or enough of either end of each; `-`: one a line on stdin."),
]
Template = Annotated[
    str | None, typer.Option("--template", metavar="NAMESPACE/NAME[:VERSION]", help="Only of this template.")
]
InGroup = Annotated[str | None, typer.Option("--group", metavar="GROUP", help="Only with this cause.")]
Step = Annotated[str | None, typer.Option("--step", help="Only of this step.")]
Error = Annotated[
    str | None, typer.Option("--error", metavar="CLASS", help="Only of this class of errors, in full.")
]
OpenedFor = Annotated[
    list[DeadReason] | None, typer.Option("--opened-for", help="Only opened for this; repeatable.")
]
Contains = Annotated[
    str | None, typer.Option("--contains", metavar="TEXT", help="Only with this in the error's message.")
]
Label = Annotated[str | None, typer.Option("--label", help="Only with this label.")]
DeadQueue = Annotated[str | None, typer.Option("--dead-queue", help="Only of this dead queue.")]
Since = Annotated[
    str | None,
    typer.Option("--since", metavar="WHEN", help="Only opened since: 2h, 7d, 2026-11-27T08:00 (UTC)."),
]
Until = Annotated[
    str | None,
    typer.Option("--until", metavar="WHEN", help="Only opened before that instant, or so long ago."),
]
All = Annotated[bool, typer.Option("--all", help="Every open letter is meant: needed without a filter.")]
VerbOption = Annotated[RedriveVerb, typer.Option("--verb", help="What is done with each letter.")]
Canary = Annotated[
    str | None,
    typer.Option(
        "--canary", metavar="1,10", help="Send so many first, stage by stage; go on only if they end well."
    ),
]
Share = Annotated[
    float, typer.Option("--success-share", min=0.01, max=1.0, help="Share of a canary that must succeed.")
]
Rate = Annotated[
    float | None, typer.Option("--rate", metavar="PER_SECOND", help="At most so many letters a second.")
]
Claimed = Annotated[
    bool, typer.Option("--include-claimed", help="Letters that others have claimed, too; else skipped.")
]
ToQueue = Annotated[
    str | None, typer.Option("--to-queue", metavar="QUEUE", help="Run the failed steps in this queue.")
]
Priority = Annotated[
    int | None,
    typer.Option("--priority", min=0, max=9, help="Of the failed steps; 0 lets fresh work go first."),
]
Begins = Annotated[
    str | None,
    typer.Option("--not-before", metavar="INSTANT", help="Begin no earlier: 2026-11-28T02:00 (UTC)."),
]
OnceLive = Annotated[
    str | None,
    typer.Option(
        "--once-live", metavar="VERSION", help="Begin once every live worker runs this code version."
    ),
]


def selection(
    cli: Cli,
    letters: Letters = None,
    template: Template = None,
    group: InGroup = None,
    step: Step = None,
    error: Error = None,
    opened_for: OpenedFor = None,
    contains: Contains = None,
    label: Label = None,
    dead_queue: DeadQueue = None,
    since: Since = None,
    until: Until = None,
) -> LetterFilter:
    """Return the filter that the options mean.

    Raises:
        DeadLetterNotFound, GroupNotFound, AmbiguousId: an id that was typed short fits nothing, or several.
        InputInvalid: `-` was given and standard input names no letter.
    """
    at = now()
    # Ids that were named are reported one by one, whatever their status.
    return LetterFilter.of_template(
        template or "",
        statuses=OPEN,
        ids=_ids(cli, letters or ()),
        group_id=find_group_id(cli.database, group) if group else None,
        step=step,
        error_class=error,
        reasons=tuple(opened_for or ()),
        text=contains,
        label=label,
        dead_queue=dead_queue,
        opened_from=read_since(since, at) if since else None,
        opened_before=read_since(until, at) if until else None,
    )


def _ids(cli: Cli, typed: Sequence[str]) -> tuple[UUID, ...]:
    words = list(typed)
    if "-" in words:
        words.remove("-")
        read = sys.stdin.read().split()
        if not read:
            raise InputInvalid("standard input names no dead letter", hint="one id a line")
        words += read
    return tuple(_id(cli, word) for word in words)


def _id(cli: Cli, word: str) -> UUID:
    try:
        return UUID(word)
    except ValueError:
        return find_letter_id(cli.database, word)


def stages(given: str | None) -> tuple[int, ...]:
    """Return the stages of a canary such as "1,10".

    Raises:
        typer.BadParameter: these are no numbers.
    """
    if given is None:
        return ()
    try:
        return tuple(int(one) for one in given.split(","))
    except ValueError:
        raise typer.BadParameter(f"{given!r} is no canary such as 1 or 1,10") from None


def instant(given: str | None) -> datetime | None:
    """Return the instant ahead that was typed; without a zone it is UTC.

    Raises:
        typer.BadParameter: it is none, or past.
    """
    if given is None:
        return None
    at = now()
    read = read_since(given, at)
    if read <= at:
        raise typer.BadParameter(f"{given!r} is past: type an instant to come, as 2026-11-28T02:00 (UTC)")
    return read
