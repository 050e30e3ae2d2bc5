"""`remand dlq groups`, `remand dlq group …`: dead letters by cause, and what people do with a cause."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.text import Text

from app.cli.commands.dlq import GROUP as DLQ
from app.cli.context import After, By, Cli, Group, Limit, Reason
from app.cli.render.output import age, facts, now, short, short_ids, state, table
from app.cli.render.wording import command, counted, next_steps
from app.domain.instants import read_instant
from app.domain.states import GroupState
from app.engine import groups as engine
from app.engine.groups import GroupStatus
from app.engine.suggest import Suggestion, suggestions
from app.store import groups as store
from app.store.dead_letters import Note
from app.store.groups import Group as LetterGroup

GROUP = Group("dlq group", "One cause of dead letters: look at it, take it, note, resolve.")
GroupId = Annotated[str, typer.Argument(metavar="GROUP", help="Its id, or enough of either end of it.")]
TakeOver = Annotated[bool, typer.Option("--take-over", help="Even if somebody else has it.")]
_BARS = " ▁▂▃▄▅▆▇█"


@DLQ.verb(
    "groups", examples=("remand dlq groups", "remand dlq groups --order largest", "remand dlq groups --all")
)
def list_groups(
    cli: Cli,
    all: Annotated[bool, typer.Option("--all", help="Resolved ones, too.")] = False,
    mine: Annotated[str | None, typer.Option("--owner", help="Only those of this person.")] = None,
    template: Annotated[str | None, typer.Option("--template", help="Only of this template's name.")] = None,
    namespace: Annotated[str | None, typer.Option("--namespace", help="Only of this namespace.")] = None,
    order: Annotated[str, typer.Option("--order", help="`recent` or `largest`.")] = "recent",
    after: After = None,
    limit: Limit = 50,
    cursor: Annotated[str | None, typer.Option("--cursor", hidden=True)] = None,
) -> None:
    """List the causes of dead letters: how many, since when, whose they are."""
    store.fold(cli.database)
    page = store.list_page(
        cli.database,
        states=() if all else (GroupState.OPEN, GroupState.INVESTIGATING),
        namespace=namespace,
        template=template,
        owner=mine,
        order=order,
        limit=limit,
        after=after or cursor,
    )
    trends = store.trends(cli.database, [one.id for one in page.items], now())
    cli.out.answer_page(
        page.each(lambda one: {**_fields(one), "trend": trends[one.id]}),
        _listing(page.items, trends) if page.items else "nothing is dead",
    )


def _listing(found: Sequence[LetterGroup], trends: dict[Any, list[int]]) -> RenderableType:
    at = now()
    ends = short_ids(one.id for one in found)
    return table(
        "group", "open", "last", "24 hours", "state", "template and step", "cause",
        rows=[
            (
                ends[one.id],
                str(one.open_letters),
                age(one.last_at, at),
                bars(trends[one.id]),
                Text.assemble(state(str(one.state)), f" {one.owner}" if one.owner else ""),
                f"{one.ref} {one.step}",
                f"{one.error_class.rpartition('.')[2]}: {one.message}",
            )
            for one in found
        ],
        folds=False,
    )  # fmt: skip


def bars(values: list[int]) -> str:
    """Return counts as a line of bars, the largest of them full."""
    most = max([*values, 1])
    return "".join(_BARS[-(-value * (len(_BARS) - 1) // most)] for value in values)


@GROUP.verb(
    "show", exits=(4,), examples=("remand dlq group show 7be301", "remand dlq group show 7be301 --json")
)
def show(cli: Cli, group: GroupId) -> None:
    """Show a cause: whom it hit, what may be behind it, what was noted, what can be done now."""
    found = store.find_group(cli.database, group)
    standing = engine.standing(cli.engine, found.id)
    notes = store.notes_of_group(cli.database, found.id)
    hints = suggestions(cli.engine, found.id)
    cli.out.answer(
        {
            **_fields(standing.group),
            "trend": standing.trend,
            "hit_share": standing.hit_share,
            "statuses": standing.statuses,
            "earlier": [_fields(one) for one in standing.earlier],
            "notes": notes,
            "suggestions": hints,
        },
        _heading(standing),
        *_hints(hints),
        *_notes(notes),
        Text(),
        _possible(standing.group),
    )


def _fields(group: LetterGroup) -> dict[str, Any]:
    return {name: getattr(group, name) for name in LetterGroup.__slots__}


def _heading(standing: GroupStatus) -> RenderableType:
    at, group = now(), standing.group
    share = "–" if standing.hit_share is None else f"{standing.hit_share:.1%} of the template's, last 24 h"
    seen = f"first {age(group.first_at, at)} ago, last {age(group.last_at, at)} ago"
    letters = f"{group.open_letters} open, {group.letters} ever; {seen}"
    resolved = None
    if group.resolved_at is not None:
        resolved = f"{age(group.resolved_at, at)} ago by {group.resolved_by}: {group.resolution}"
    return facts(
        [
            ("group", str(group.id)),
            ("cause", Text.assemble((group.error_class, "bold red"), f": {group.message}")),
            ("step", f"{group.ref} {group.step} (handler {group.handler})"),
            ("state", Text.assemble(state(str(group.state)), f" with {group.owner}" if group.owner else "")),
            ("due", f"{group.due_at:%Y-%m-%d %H:%M} UTC" if group.due_at else None),
            ("letters", letters),
            ("workflows", share),
            ("24 hours", bars(standing.trend)),
            ("came back", f"{group.reopenings} times" if group.reopenings else None),
            ("resolved", resolved),
        ]
    )  # fmt: skip


def _hints(hints: list[Suggestion]) -> list[RenderableType]:
    if not hints:
        return []
    return [Text("\nwhat may be behind it", style="bold"), *(Text(f"  {one.text}") for one in hints)]


def _notes(notes: list[Note]) -> list[RenderableType]:
    if not notes:
        return []
    at = now()
    return [
        Text("\nnotes", style="bold"),
        *(Text(f"  {age(one.at, at)} ago {one.author}: {one.text}") for one in notes),
    ]


def _possible(group: LetterGroup) -> RenderableType:
    end = short(group.id)
    if group.state is GroupState.RESOLVED:
        return next_steps(command("remand dlq group reopen", end))
    return next_steps(
        command("remand dlq redrive plan --group", end, "--canary 1,10"),
        command("remand dlq group note", end, "TEXT"),
        *([command("remand dlq group claim", end)] if group.owner is None else []),
    )


@GROUP.verb("claim", exits=(4, 5), examples=("remand dlq group claim 7be301",))
def claim(cli: Cli, group: GroupId, reason: Reason = None, by: By = None) -> None:
    """Take a cause, so that nobody else does."""
    found = store.find_group(cli.database, group)
    _changed(cli, engine.claim_group(cli.engine, found.id, cli.who(by, reason)))


@GROUP.verb("assign", exits=(4, 5), examples=("remand dlq group assign 7be301 ada --take-over",))
def assign(
    cli: Cli,
    group: GroupId,
    owner: Annotated[str, typer.Argument(help="Who gets it.")],
    take_over: TakeOver = False,
    reason: Reason = None,
    by: By = None,
) -> None:
    """Give a cause to somebody."""
    found = store.find_group(cli.database, group)
    who = cli.who(by, reason)
    _changed(cli, engine.assign_group(cli.engine, found.id, owner, who, take_over=take_over))


@GROUP.verb("release", exits=(4, 5), examples=("remand dlq group release 7be301",))
def release(
    cli: Cli, group: GroupId, take_over: TakeOver = False, reason: Reason = None, by: By = None
) -> None:
    """Let go of a cause."""
    found = store.find_group(cli.database, group)
    _changed(cli, engine.release_group(cli.engine, found.id, cli.who(by, reason), take_over=take_over))


@GROUP.verb("due", exits=(4, 5), examples=("remand dlq group due 7be301 2026-12-01T10:00",))
def due(
    cli: Cli,
    group: GroupId,
    at: Annotated[str, typer.Argument(help="Date and time, UTC unless said; `never` takes it away.")],
    by: By = None,
) -> None:
    """Say until when a cause should be dealt with."""
    found = store.find_group(cli.database, group)
    _changed(cli, engine.set_due(cli.engine, found.id, _instant(at), cli.who(by, None)))


def _instant(text: str) -> datetime | None:
    return None if text == "never" else read_instant(text, naive_is_utc=True)


@GROUP.verb("note", exits=(4,), examples=('remand dlq group note 7be301 "the bank closed the account"',))
def note(
    cli: Cli,
    group: GroupId,
    text: Annotated[str, typer.Argument(help="The note; it cannot be changed later.")],
    by: By = None,
) -> None:
    """Add a note to a cause."""
    found = store.find_group(cli.database, group)
    who = cli.who(by, None)
    engine.note_group(cli.engine, found.id, text, who)
    cli.out.answer({"id": found.id, "author": who.by, "text": text}, f"noted on group {short(found.id)}")


@GROUP.verb("resolve", exits=(4, 5), examples=('remand dlq group resolve 7be301 --reason "key rotated"',))
def resolve(cli: Cli, group: GroupId, reason: Reason = None, by: By = None) -> None:
    """Declare a cause dealt with; its letters must be closed. It opens again if it comes back."""
    found = store.find_group(cli.database, group)
    _changed(cli, engine.resolve_group(cli.engine, found.id, cli.who(by, reason)))


@GROUP.verb("reopen", exits=(4,), examples=("remand dlq group reopen 7be301",))
def reopen(cli: Cli, group: GroupId, reason: Reason = None, by: By = None) -> None:
    """Open a resolved cause again."""
    found = store.find_group(cli.database, group)
    _changed(cli, engine.reopen_group(cli.engine, found.id, cli.who(by, reason)))


def _changed(cli: Cli, group: LetterGroup) -> None:
    owner = f" with {group.owner}" if group.owner else ""
    told = Text.assemble(f"group {short(group.id)}: ", state(str(group.state)), owner)
    open_letters = counted(group.open_letters, "open letter")
    cli.out.answer(_fields(group), Text.assemble(told, f" · {open_letters} as last counted"))
