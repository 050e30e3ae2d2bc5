"""`remand dlq groups`, `remand dlq group …`: dead letters by cause, and the verbs on a cause."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.text import Text

from remand_app.cli.commands.dlq import GROUP as DLQ
from remand_app.cli.context import After, Cli, Group, Limit
from remand_app.cli.filter_options import filter_of
from remand_app.cli.option_groups import with_options
from remand_app.cli.render.output import age, facts, now, short, short_ids, state, table
from remand_app.cli.render.wording import command, counted, next_steps
from remand_app.cli.verb_commands import Done, Target, make_commands
from remand_app.domain.states import GroupState
from remand_app.engine.suggest import Suggestion
from remand_app.resources import groups
from remand_app.resources.groups import Group as LetterGroup
from remand_app.resources.groups import GroupFilter, GroupLine, GroupShown
from remand_app.resources.letters import Note, NoteMade
from remand_app.resources.values import fields_of

GROUP = Group("dlq group", "One cause of dead letters: look at it, take it, note, resolve.")
GroupId = Annotated[str, typer.Argument(metavar="GROUP", help="Its id, or enough of either end of it.")]
_BARS = " ▁▂▃▄▅▆▇█"


@DLQ.verb(
    "groups", examples=("remand dlq groups", "remand dlq groups --order largest", "remand dlq groups --all")
)
@with_options(asked=filter_of(GroupFilter, but=("states",), all="Resolved ones, too."))
def list_groups(
    cli: Cli,
    asked: GroupFilter,
    after: After = None,
    limit: Limit = 50,
    cursor: Annotated[str | None, typer.Option("--cursor", hidden=True)] = None,
) -> None:
    """List the causes of dead letters: how many, since when, whose they are."""
    groups.fold(cli.database)
    page = groups.list_page(cli.database, asked, limit=limit, after=after or cursor)
    trends = groups.trends(cli.database, [group.id for group in page.items], now())
    cli.out.answer_page(
        page.each(lambda group: GroupLine(**fields_of(group), trend=trends[group.id])),
        _listing(page.items, trends) if page.items else "nothing is dead",
    )


def _listing(listed: Sequence[LetterGroup], trends: dict[Any, list[int]]) -> RenderableType:
    at = now()
    ends = short_ids(group.id for group in listed)
    return table(
        "group", "open", "last", "24 hours", "state", "template and step", "cause",
        rows=[
            (
                ends[group.id],
                str(group.open_letters),
                age(group.last_at, at),
                bars(trends[group.id]),
                Text.assemble(state(str(group.state)), f" {group.owner}" if group.owner else ""),
                f"{group.ref} {group.step}",
                f"{group.error_class.rpartition('.')[2]}: {group.message}",
            )
            for group in listed
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
    shown = groups.show(cli.engine, groups.find_group(cli.database, group).id)
    cli.out.answer(
        shown,
        _heading(shown),
        *_hints(shown.suggestions),
        *_notes(shown.notes),
        Text(),
        _possible(shown),
    )


def _heading(group: GroupShown) -> RenderableType:
    at = now()
    share = "–" if group.hit_share is None else f"{group.hit_share:.1%} of the template's, last 24 h"
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
            ("24 hours", bars(group.trend)),
            ("came back", f"{group.reopenings} times" if group.reopenings else None),
            ("resolved", resolved),
        ]
    )  # fmt: skip


def _hints(hints: Sequence[Suggestion]) -> list[RenderableType]:
    if not hints:
        return []
    return [Text("\nwhat may be behind it", style="bold"), *(Text(f"  {hint.text}") for hint in hints)]


def _notes(notes: list[Note]) -> list[RenderableType]:
    if not notes:
        return []
    at = now()
    return [
        Text("\nnotes", style="bold"),
        *(Text(f"  {age(note.at, at)} ago {note.author}: {note.text}") for note in notes),
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


def _find(cli: Cli, typed: str) -> Target:
    return Target((groups.find_group(cli.database, typed).id,))


def _answer(cli: Cli, did: Done) -> None:
    if did.verb.name == "note":
        note = NoteMade(did.key[0], did.arguments["by"], did.arguments["text"])
        cli.out.answer(note, f"noted on group {short(note.id)}")
    else:
        _changed(cli, did.value)


make_commands(GROUP, "group", takes=[("group", GroupId)], find=_find, answer=_answer)


def _changed(cli: Cli, group: LetterGroup) -> None:
    owner = f" with {group.owner}" if group.owner else ""
    summary = Text.assemble(f"group {short(group.id)}: ", state(str(group.state)), owner)
    open_letters = counted(group.open_letters, "open letter")
    cli.out.answer(group, Text.assemble(summary, f" · {open_letters} as last counted"))
