"""`remand dlq`: the verbs on a letter. A dead letter is an investigation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated
from uuid import UUID

import typer

from app.cli.arguments import read_json
from app.cli.commands.dlq import GROUP, LetterId
from app.cli.context import By, Cli, Reason, WorkflowId
from app.cli.dry_run import DryRun, answer_dry_run
from app.cli.render.output import short
from app.cli.render.wording import command, decided, follow, next_steps
from app.engine import operate
from app.engine.context import Engine
from app.engine.operate import Decided
from app.engine.operate.open_by_hand import open_dead_letter
from app.store.dead_letters import DeadLetter, find_dead_letter, get_dead_letter
from app.store.workflows import find_workflow

__all__ = ["GROUP"]
TakeOver = Annotated[bool, typer.Option("--take-over", help="Even if somebody else has it.")]


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
    "add",
    exits=(2, 4, 5),
    examples=('remand dlq add 1f9c02 --reason "the bank sends wrong balances"',),
)
def add(
    cli: Cli, workflow: WorkflowId, dry_run: DryRun = False, reason: Reason = None, by: By = None
) -> None:
    """Take a workflow out of work into the dead letter queue; requeueing its letter sends it on.

    What waits is withdrawn, results that running steps still bring are refused.
    """
    found = find_workflow(cli.database, workflow)
    who = cli.who(by, reason)
    if dry_run:
        answer_dry_run(cli, found.id, lambda engine: open_dead_letter(engine, found.id, who))
        return
    answer = open_dead_letter(cli.engine, found.id, who)
    letter = find_dead_letter(cli.database, str(found.id))
    cli.out.answer(
        _answered(letter.id, answer),
        decided(f"workflow {short(found.id)}", answer),
        next_steps(command("remand dlq requeue", short(letter.id))),
    )


@GROUP.verb(
    "requeue", exits=(4, 5), examples=('remand dlq requeue 7be301 --reason "bank activated the card"',)
)
def requeue(
    cli: Cli, letter: LetterId, dry_run: DryRun = False, reason: Reason = None, by: By = None
) -> None:
    """Send the failed steps back to work with fresh attempts; the workflow goes on from there."""
    who = cli.who(by, reason)
    _decide(cli, letter, lambda engine, one: operate.requeue_letter(engine, one.id, who), dry_run=dry_run)


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
    dry_run: DryRun = False,
    reason: Reason = None,
    by: By = None,
) -> None:
    """Declare the failed steps done by hand: the workflow goes on with the steps after them."""
    if whole_workflow and give_up:
        raise typer.BadParameter("--whole-workflow and --give-up exclude each other")
    who = cli.who(by, reason)

    def act(engine: Engine, one: DeadLetter) -> Decided:
        if give_up:
            return operate.give_up_letter(engine, one.id, who)
        return operate.resolve_letter(engine, one.id, who, whole_workflow=whole_workflow)

    _decide(cli, letter, act, dry_run=dry_run)


@GROUP.verb(
    "complete",
    exits=(4, 5),
    examples=('remand dlq complete 7be301 --result \'{"charge": "ch_1"}\' --reason "charged by phone"',),
)
def complete(
    cli: Cli,
    letter: LetterId,
    result: Annotated[
        str, typer.Option("--result", metavar="JSON|@FILE|-", help="What its handler would have returned.")
    ],
    dry_run: DryRun = False,
    reason: Reason = None,
    by: By = None,
) -> None:
    """Complete the letter's step by hand with a result, as if its handler had returned it."""
    who = cli.who(by, reason)
    value = read_json(result, "result")

    def act(engine: Engine, one: DeadLetter) -> Decided:
        return operate.complete_step(engine, one.workflow_id, one.step, who, result=value)

    _decide(cli, letter, act, dry_run=dry_run)


@GROUP.verb("cancel", exits=(4, 5), examples=('remand dlq cancel 7be301 --reason "test data"',))
def cancel(cli: Cli, letter: LetterId, dry_run: DryRun = False, reason: Reason = None, by: By = None) -> None:
    """Cancel the workflow of a dead letter and close it."""
    who = cli.who(by, reason)
    _decide(cli, letter, lambda engine, one: operate.cancel_letter(engine, one.id, who), dry_run=dry_run)


@GROUP.verb("release", exits=(4, 5), examples=("remand dlq release 7be301",))
def release(
    cli: Cli, letter: LetterId, take_over: TakeOver = False, reason: Reason = None, by: By = None
) -> None:
    """Let go of an investigation, so that somebody else may take it."""
    found = find_dead_letter(cli.database, letter)
    _changed(
        cli,
        found,
        operate.release_letter(cli.engine, found.id, cli.who(by, reason), force=take_over),
    )


@GROUP.verb(
    "assign",
    exits=(4, 5),
    examples=("remand dlq assign 7be301 ada", "remand dlq assign 7be301 ada --take-over"),
)
def assign(
    cli: Cli,
    letter: LetterId,
    to: Annotated[str, typer.Argument(metavar="WHO", help="Whose it becomes.")],
    take_over: TakeOver = False,
    reason: Reason = None,
    by: By = None,
) -> None:
    """Give an investigation to somebody."""
    found = find_dead_letter(cli.database, letter)
    who = cli.who(by, reason)
    _changed(cli, found, operate.assign_letter(cli.engine, found.id, to, who, force=take_over))


@GROUP.verb(
    "label", exits=(4,), examples=("remand dlq label 7be301 bank eu", "remand dlq label 7be301 --remove eu")
)
def label(
    cli: Cli,
    letter: LetterId,
    labels: Annotated[list[str] | None, typer.Argument(metavar="LABEL...", help="To put on it.")] = None,
    remove: Annotated[list[str] | None, typer.Option("--remove", help="To take off; repeatable.")] = None,
    by: By = None,
) -> None:
    """Put labels on a letter, or take them off."""
    found = find_dead_letter(cli.database, letter)
    who = cli.who(by, None)
    _changed(
        cli,
        found,
        operate.label_letter(cli.engine, found.id, who, add=labels or (), remove=remove or ()),
    )


@GROUP.verb("link", exits=(4,), examples=("remand dlq link 7be301 https://tickets.example/417",))
def link(
    cli: Cli,
    letter: LetterId,
    links: Annotated[list[str] | None, typer.Argument(metavar="URL...", help="To add.")] = None,
    remove: Annotated[list[str] | None, typer.Option("--remove", help="To take away; repeatable.")] = None,
    by: By = None,
) -> None:
    """Link a letter to tickets, deploys or pages, or take links away."""
    found = find_dead_letter(cli.database, letter)
    who = cli.who(by, None)
    _changed(cli, found, operate.link_letter(cli.engine, found.id, who, add=links or (), remove=remove or ()))


def _decide(cli: Cli, letter: str, act: Callable[[Engine, DeadLetter], Decided], *, dry_run: bool) -> None:
    found = find_dead_letter(cli.database, letter)
    if dry_run:
        answer_dry_run(cli, found.workflow_id, lambda engine: act(engine, found))
    else:
        _closed(cli, found, act(cli.engine, found))


def _changed(cli: Cli, letter: DeadLetter, answer: Decided) -> None:
    now = get_dead_letter(cli.database, letter.id)
    told = {"claimed_by": now.claimed_by, "labels": now.labels, "links": now.links}
    shown = [
        now.claimed_by and f"investigated by {now.claimed_by}",
        now.labels and f"labels {', '.join(now.labels)}",
        now.links and f"links {', '.join(now.links)}",
    ]
    cli.out.answer(
        _answered(letter.id, answer, **told),
        decided(f"dead letter {short(letter.id)}", answer),
        *[text for text in shown if text],
    )


def _closed(cli: Cli, letter: DeadLetter, answer: Decided) -> None:
    told = decided(f"workflow {short(letter.workflow_id)}", answer)
    goes_on = answer.after not in ("cancelled", "error", "resolved_manually", "complete")
    cli.out.answer(_answered(letter.id, answer), told, *([follow(letter.workflow_id)] if goes_on else []))


def _answered(letter_id: UUID, answer: Decided, **more: object) -> dict[str, object]:
    return {"id": letter_id, **{name: getattr(answer, name) for name in Decided.__slots__}, **more}
