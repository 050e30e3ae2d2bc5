"""`remand dlq`: claim, note, requeue, resolve, cancel. A dead letter is an investigation."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

import typer

from app.cli.context import By, Cli, Reason
from app.cli.dlq import GROUP, LetterId
from app.cli.output import short
from app.cli.wording import command, decided, follow, next_steps
from app.engine import operate
from app.engine.operate import Decided
from app.store.dlq import DeadLetter, find_dead_letter

__all__ = ["GROUP"]


@GROUP.verb("claim", exits=(4, 5), examples=("remand dlq claim 7be301", "remand dlq claim 7be301 --by ada"))
def claim(cli: Cli, letter: LetterId, reason: Reason = None, by: By = None) -> None:
    """Take an investigation, so that nobody else does; a reason becomes its first note."""
    found = find_dead_letter(cli.database, letter)
    who = cli.who(by, reason)
    answer = operate.claim_letter(cli.engine, found.id, who)
    cli.out.answer(
        _answered(found.id, answer, claimed_by=who.by),
        decided(f"dead letter {short(found.id)}", answer),
        next_steps(
            command("remand dlq note", short(found.id), "TEXT"),
            command("remand dlq requeue", short(found.id)),
        ),
    )


@GROUP.verb("note", exits=(4,), examples=('remand dlq note 7be301 "the card was never activated"',))
def note(
    cli: Cli,
    letter: LetterId,
    text: Annotated[str, typer.Argument(help="The note; it cannot be changed later.")],
    by: By = None,
) -> None:
    """Add a note to an investigation; a closed one takes notes, too."""
    found = find_dead_letter(cli.database, letter)
    who = cli.who(by, None)
    operate.note_letter(cli.engine, found.id, text, who)
    cli.out.answer(
        {"id": found.id, "author": who.by, "text": text}, f"noted on dead letter {short(found.id)}"
    )


@GROUP.verb(
    "requeue", exits=(4, 5), examples=('remand dlq requeue 7be301 --reason "bank activated the card"',)
)
def requeue(cli: Cli, letter: LetterId, reason: Reason = None, by: By = None) -> None:
    """Send the failed steps back to work with fresh attempts; the workflow goes on from there."""
    found = find_dead_letter(cli.database, letter)
    _closed(cli, found, operate.requeue_letter(cli.engine, found.id, cli.who(by, reason)))


@GROUP.verb(
    "resolve",
    exits=(4, 5),
    examples=(
        'remand dlq resolve 7be301 --reason "imported by hand"',
        'remand dlq resolve 7be301 --whole-workflow --reason "order was refunded"',
        'remand dlq resolve 7be301 --give-up --reason "file will never come"',
    ),
)
def resolve(
    cli: Cli,
    letter: LetterId,
    whole_workflow: Annotated[
        bool,
        typer.Option("--whole-workflow", help="Declare the whole workflow done, not only its failed steps."),
    ] = False,
    give_up: Annotated[
        bool, typer.Option("--give-up", help="Close it as permanently failed: the workflow ends in error.")
    ] = False,
    reason: Reason = None,
    by: By = None,
) -> None:
    """Declare the failed steps done by hand: the workflow goes on with the steps after them."""
    if whole_workflow and give_up:
        raise typer.BadParameter("--whole-workflow and --give-up exclude each other")
    found = find_dead_letter(cli.database, letter)
    who = cli.who(by, reason)
    if give_up:
        answer = operate.give_up_letter(cli.engine, found.id, who)
    else:
        answer = operate.resolve_letter(cli.engine, found.id, who, whole_workflow=whole_workflow)
    _closed(cli, found, answer)


@GROUP.verb("cancel", exits=(4, 5), examples=('remand dlq cancel 7be301 --reason "test data"',))
def cancel(cli: Cli, letter: LetterId, reason: Reason = None, by: By = None) -> None:
    """Cancel the workflow of a dead letter and close it."""
    found = find_dead_letter(cli.database, letter)
    _closed(cli, found, operate.cancel_letter(cli.engine, found.id, cli.who(by, reason)))


def _closed(cli: Cli, letter: DeadLetter, answer: Decided) -> None:
    told = decided(f"workflow {short(letter.workflow_id)}", answer)
    goes_on = answer.after not in ("cancelled", "error", "resolved_manually", "complete")
    cli.out.answer(_answered(letter.id, answer), told, *([follow(letter.workflow_id)] if goes_on else []))


def _answered(letter_id: UUID, answer: Decided, **more: object) -> dict[str, object]:
    return {"id": letter_id, **{name: getattr(answer, name) for name in Decided.__slots__}, **more}
