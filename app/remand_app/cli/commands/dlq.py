"""`remand dlq`: list and show dead letters; the verbs that change them are in `dlq_verbs`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from remand_app.cli.context import After, Cli, Group, Limit
from remand_app.cli.filter_options import filter_of
from remand_app.cli.option_groups import with_options
from remand_app.cli.render.attempts import Verbose, attempt_table, traceback
from remand_app.cli.render.output import age, facts, now, short, short_ids, state, table
from remand_app.domain.dead_letters import DEFAULT_QUEUE
from remand_app.domain.states import DeadReason
from remand_app.engine.suggest import Suggestion
from remand_app.resources import letters
from remand_app.resources.letters import DeadLetter, LetterFilter, LetterRow, Note
from remand_app.resources.steps import Attempt
from remand_app.resources.verbs import possible

GROUP = Group("dlq", "Investigate what could not go on: dead letters, each with its workflow's snapshot.")
LetterId = Annotated[
    str, typer.Argument(metavar="LETTER", help="Its id or its workflow's, or enough of either end of one.")
]


@GROUP.verb(
    "list",
    examples=(
        "remand dlq list",
        "remand dlq list --all --template payments/order",
        "remand dlq list --opened-for max_retries_exceeded --json",
    ),
)
@with_options(asked=filter_of(LetterFilter, but=("ids",), all="Closed ones, too."))
def list_(
    cli: Cli,
    asked: LetterFilter,
    after: After = None,
    limit: Limit = 50,
    former_reason: Annotated[list[DeadReason] | None, typer.Option("--reason", hidden=True)] = None,
) -> None:
    """List dead letters, newest first: the open ones unless told otherwise."""
    asked = replace(asked, reasons=(*asked.reasons, *(former_reason or ())))
    page = letters.list_page(cli.database, asked, after=after, limit=limit)
    cli.out.answer_page(page, _listing(page.items) if page.items else "no dead letters")


def _listing(rows: Sequence[LetterRow]) -> RenderableType:
    at = now()
    ends = short_ids(row.id for row in rows)
    workflows = short_ids(row.workflow_id for row in rows)
    return table(
        "id", "age", "status", "by", "workflow", "template and step", "error",
        rows=[
            (
                ends[row.id],
                age(row.opened_at, at),
                state(row.status),
                row.closed_by or row.claimed_by or "–",
                workflows[row.workflow_id],
                f"{row.ref} {row.step}",
                f"{row.error_class.rpartition('.')[2]}: {row.error_message.partition(chr(10))[0]}",
            )
            for row in rows
        ],
        folds=False,
    )  # fmt: skip


@GROUP.verb(
    "show",
    exits=(4,),
    examples=("remand dlq show 7be301", "remand dlq show 7be301 -v", "remand dlq show 7be301 --json"),
)
def show(cli: Cli, letter: LetterId, verbose: Verbose = False) -> None:
    """Show what happened, why it cannot go on, who looks at it, and what can be done now."""
    stored = letters.find_dead_letter(cli.database, letter)
    shown = letters.show(cli.engine, stored)
    attempts = shown.attempts_made
    cli.out.answer(
        shown,
        _heading(stored),
        *_cause(stored, attempts),
        Text(),
        attempt_table(attempts),
        *_hints(shown.suggestions),
        *_notes(shown.notes),
        *(_details(stored, attempts) if verbose else ()),
        Text(),
        _possible(stored),
    )


def _heading(letter: DeadLetter) -> RenderableType:
    at = now()
    closed = None
    if letter.closed_at is not None:
        closed = (
            f"{age(letter.closed_at, at)} ago by {letter.closed_by}: {letter.resolution or 'no reason given'}"
        )
    return facts(
        [
            ("dead letter", str(letter.id)),
            ("status", state(letter.status)),
            ("workflow", f"{letter.workflow_id} ({letter.ref})"),
            (
                "step",
                f"{letter.step} (handler {letter.handler}, queue {letter.queue}, worker {letter.worker})",
            ),
            ("opened", f"{age(letter.opened_at, at)} ago after {_times(letter.attempts)}"),
            (
                "investigated",
                f"by {letter.claimed_by} for {age(letter.claimed_at, at)}" if letter.claimed_by else None,
            ),
            ("closed", closed),
            ("cause", f"group {short(letter.group_id)}: remand dlq group show {short(letter.group_id)}"),
            ("labels", ", ".join(letter.labels) or None),
            ("links", " ".join(letter.links) or None),
            ("dead queue", letter.dead_queue if letter.dead_queue != DEFAULT_QUEUE else None),
            ("goes back", f"{letter.requeue_at:%Y-%m-%d %H:%M} UTC" if letter.requeue_at else None),
        ]
    )


def _times(attempts: int) -> str:
    return "1 attempt" if attempts == 1 else f"{attempts} attempts"


def _cause(letter: DeadLetter, attempts: Sequence[Attempt]) -> list[RenderableType]:
    lines: list[RenderableType] = [
        Text(),
        Text.assemble((f"{letter.error_class}: ", "bold red"), letter.error_message),
        Text(f"{letter.reason}: {letter.metadata.get('explanation', '')}"),
    ]
    last = next((attempt.failure for attempt in reversed(attempts) if attempt.failure), None)
    if last is not None:
        verdict = last.classification
        lines.append(Text(f"{verdict.category} by rule {verdict.rule}: {verdict.explanation}", style="dim"))
        lines += [Text(f"caused by {cause}", style="dim") for cause in last.causes]
    return lines


def _hints(hints: Sequence[Suggestion]) -> list[RenderableType]:
    if not hints:
        return []
    return [Text("\nwhat may be behind it", style="bold"), *(Text(f"  {hint.text}") for hint in hints)]


def _notes(notes: Sequence[Note]) -> list[RenderableType]:
    if not notes:
        return []
    at = now()
    return [
        Text("\nnotes", style="bold"),
        *(Text(f"  {age(note.at, at)} ago {note.author}: {note.text}") for note in notes),
    ]


def _details(letter: DeadLetter, attempts: Sequence[Attempt]) -> list[RenderableType]:
    tracebacks = [part for attempt in attempts if (part := traceback(attempt)) is not None]
    snapshot = json.dumps(letter.snapshot, ensure_ascii=False, indent=2)
    return [*tracebacks[-1:], Text("\nsnapshot when it was opened", style="bold"), Text(snapshot)]


def _possible(letter: DeadLetter) -> RenderableType:
    rows = []
    for verb in possible("letter", letter):
        if "cli" in verb.lacks:
            continue
        arguments = " ".join(
            argument.typed for argument in verb.arguments if argument.required and argument.typed
        )
        typed = f"→ remand dlq {verb.name.replace('_', '-')} {short(letter.id)} {arguments}".rstrip()
        rows.append((Text(typed, style="bold cyan"), Text(verb.title)))
    return table("possible now", "", rows=rows)
