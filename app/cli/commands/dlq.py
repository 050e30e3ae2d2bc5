"""`remand dlq`: list and show dead letters; what is done with them is in `dlq_verbs`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.text import Text

from app.cli.commands.redrive_options import OpenedFor
from app.cli.context import After, Cli, Group, Limit
from app.cli.render.attempts import Verbose, attempt_table, traceback
from app.cli.render.output import age, facts, now, short, short_ids, state, table
from app.domain.dead_letter_filter import OPEN, LetterFilter
from app.domain.dead_letters import DEFAULT_QUEUE, possible_verbs
from app.domain.states import DeadLetterStatus, DeadReason
from app.engine.masking import masked
from app.engine.suggest import Suggestion, suggestions_for
from app.store.dead_letter_search import LetterRow, list_page
from app.store.dead_letters import DeadLetter, Note, find_dead_letter, notes_of
from app.store.groups import find_group
from app.store.steps import Attempt, attempts_of
from app.store.workflows import find_workflow

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
def list_(
    cli: Cli,
    status: Annotated[
        list[DeadLetterStatus] | None,
        typer.Option("--status", help="Only these; repeatable. Default: the open ones."),
    ] = None,
    all: Annotated[bool, typer.Option("--all", help="Closed ones, too.")] = False,
    opened_for: OpenedFor = None,
    category: Annotated[str | None, typer.Option("--category", help="Only of this category.")] = None,
    template: Annotated[str | None, typer.Option("--template", help="Only of this template.")] = None,
    workflow: Annotated[str | None, typer.Option("--workflow", help="Only of this workflow.")] = None,
    group: Annotated[str | None, typer.Option("--group", help="Only of this cause.")] = None,
    error: Annotated[str | None, typer.Option("--error", help="Only of this class, qualified.")] = None,
    contains: Annotated[str | None, typer.Option("--contains", help="Only with this in the message.")] = None,
    claimed_by: Annotated[str | None, typer.Option("--claimed-by", help="Only of this person.")] = None,
    label: Annotated[str | None, typer.Option("--label", help="Only with this label.")] = None,
    dead_queue: Annotated[str | None, typer.Option("--dead-queue", help="Only in this dead queue.")] = None,
    after: After = None,
    limit: Limit = 50,
    reason: Annotated[list[DeadReason] | None, typer.Option("--reason", hidden=True)] = None,
) -> None:
    """List dead letters, newest first: the open ones unless told otherwise."""
    wanted = LetterFilter.of_template(
        template or "",
        statuses=tuple(status or (() if all else OPEN)),
        workflow_id=None if workflow is None else find_workflow(cli.database, workflow).id,
        group_id=None if group is None else find_group(cli.database, group).id,
        reasons=(*(opened_for or ()), *(reason or ())),
        categories=() if category is None else (category,),
        error_class=error,
        text=contains,
        claimed_by=claimed_by,
        label=label,
        dead_queue=dead_queue,
    )
    page = list_page(cli.database, wanted, after=after, limit=limit)
    cli.out.answer_page(page.each(_listed), _listing(page.items) if page.items else "no dead letters")


def _listed(letter: DeadLetter | LetterRow) -> dict[str, Any]:
    return {
        name: getattr(letter, name) for name in type(letter).__slots__ if name not in ("snapshot", "metadata")
    }


def _listing(found: Sequence[LetterRow]) -> RenderableType:
    at = now()
    ends = short_ids(one.id for one in found)
    workflows = short_ids(one.workflow_id for one in found)
    return table(
        "id", "age", "status", "by", "workflow", "template and step", "error",
        rows=[
            (
                ends[one.id],
                age(one.opened_at, at),
                state(one.status),
                one.closed_by or one.claimed_by or "–",
                workflows[one.workflow_id],
                f"{one.ref} {one.step}",
                f"{one.error_class.rpartition('.')[2]}: {one.error_message.partition(chr(10))[0]}",
            )
            for one in found
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
    found = find_dead_letter(cli.database, letter)
    keys = cli.settings.redact_keys
    attempts = [masked(one, keys) for one in attempts_of(cli.database, found.workflow_id, found.step)]
    notes = notes_of(cli.database, found.id)
    hints = suggestions_for(cli.engine, found)
    cli.out.answer(
        {**_listed(found), "metadata": found.metadata, "snapshot": found.snapshot, "notes": notes,
         "suggestions": hints, "attempts_made": attempts,
         "verbs": possible_verbs(found.status, found.claimed_by)},
        _heading(found),
        *_cause(found, attempts),
        Text(),
        attempt_table(attempts),
        *_hints(hints),
        *_notes(notes),
        *(_details(found, attempts) if verbose else ()),
        Text(),
        _possible(found),
    )  # fmt: skip


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
    last = next((one.failure for one in reversed(attempts) if one.failure), None)
    if last is not None:
        verdict = last["classification"]
        lines.append(
            Text(f"{verdict['category']} by rule {verdict['rule']}: {verdict['explanation']}", style="dim")
        )
        lines += [Text(f"caused by {cause}", style="dim") for cause in last.get("causes", ())]
    return lines


def _hints(hints: Sequence[Suggestion]) -> list[RenderableType]:
    if not hints:
        return []
    return [Text("\nwhat may be behind it", style="bold"), *(Text(f"  {one.text}") for one in hints)]


def _notes(notes: Sequence[Note]) -> list[RenderableType]:
    if not notes:
        return []
    at = now()
    return [
        Text("\nnotes", style="bold"),
        *(Text(f"  {age(one.at, at)} ago {one.author}: {one.text}") for one in notes),
    ]


def _details(letter: DeadLetter, attempts: Sequence[Attempt]) -> list[RenderableType]:
    tracebacks = [part for one in attempts if (part := traceback(one)) is not None]
    snapshot = json.dumps(letter.snapshot, ensure_ascii=False, indent=2)
    return [*tracebacks[-1:], Text("\nsnapshot when it was opened", style="bold"), Text(snapshot)]


_WHAT = {
    "claim": ("", "take the investigation"),
    "release": ("", "let go of the investigation"),
    "assign": ("PERSON", "hand it to somebody"),
    "note": ("TEXT", "write down what you found"),
    "label": ("WORD", "mark it"),
    "link": ("URL", "a ticket, a deploy, a page"),
    "requeue": ("", "cause is gone: run the failed steps again"),
    "resolve": ("[--whole-workflow | --give-up]", "done by hand, or never"),
    "cancel": ("", "cancel the workflow"),
}


def _possible(letter: DeadLetter) -> RenderableType:
    rows = []
    for verb in possible_verbs(letter.status, letter.claimed_by):
        if verb not in _WHAT:
            continue
        arguments, meaning = _WHAT[verb]
        typed = " ".join(part for part in ("→ remand dlq", verb, short(letter.id), arguments) if part)
        rows.append((Text(typed, style="bold cyan"), Text(meaning)))
    return table("possible now", "", rows=rows)
