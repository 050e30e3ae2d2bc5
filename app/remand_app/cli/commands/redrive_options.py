"""The options that select dead letters, and those that say how a redrive runs."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import Annotated
from uuid import UUID

import typer

from remand_app.cli.arguments import read_since
from remand_app.cli.context import Cli
from remand_app.cli.filter_options import filter_of
from remand_app.cli.render.output import now
from remand_app.domain.dead_letter_filter import LetterFilter
from remand_app.domain.errors import InputInvalid
from remand_app.domain.redrive import RedriveVerb
from remand_app.resources.letters import find_letter_id

Letters = Annotated[
    list[str] | None,
    typer.Argument(metavar="LETTER", help="Ids, or enough of either end of each; `-`: one a line on stdin."),
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


chosen = filter_of(
    LetterFilter,
    but=("statuses", "ids", "workflow_id", "handler", "queue", "categories", "claimed_by"),
)


def named(cli: Cli, letters: Letters = None) -> tuple[UUID, ...]:
    """Return the ids of the letters that are named: these are reported one by one, whatever their status.

    Raises:
        DeadLetterNotFound, AmbiguousId: an id that was typed short fits nothing, or several.
        InputInvalid: `-` was given and standard input names no letter.
    """
    words = list(letters or ())
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


def stages(typed: str | None) -> tuple[int, ...]:
    """Return the stages of a canary such as "1,10".

    Raises:
        typer.BadParameter: these are no numbers.
    """
    if typed is None:
        return ()
    try:
        return tuple(int(stage) for stage in typed.split(","))
    except ValueError:
        raise typer.BadParameter(f"{typed!r} is no canary such as 1 or 1,10") from None


def instant(typed: str | None) -> datetime | None:
    """Return the instant ahead that was typed; without a zone it is UTC.

    Raises:
        typer.BadParameter: it is none, or past.
    """
    if typed is None:
        return None
    at = now()
    read = read_since(typed, at)
    if read <= at:
        raise typer.BadParameter(f"{typed!r} is past: type an instant to come, as 2026-11-28T02:00 (UTC)")
    return read
