"""`remand audit`: list. Who decided what, when and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from app.cli.arguments import read_since
from app.cli.context import After, Cli, Group, Limit
from app.cli.render.output import age, now, short, table
from app.resources.audit import Filter, Written, list_page
from app.resources.workflows import find_workflow_id

GROUP = Group("audit", "See who decided what, when and why.")


@GROUP.verb(
    "list",
    exits=(4,),
    examples=(
        "remand audit list --since 24h",
        "remand audit list --by grace --verb step.retry",
        "remand audit list --workflow 9f2c --json",
    ),
)
def list_(
    cli: Cli,
    by: Annotated[str | None, typer.Option("--by", help="Decided by whom.")] = None,
    verb: Annotated[
        str | None, typer.Option("--verb", help="What was decided: step.retry; or a noun: step.")
    ] = None,
    subject: Annotated[str | None, typer.Option("--subject", help="Id or name of what it was about.")] = None,
    workflow: Annotated[str | None, typer.Option("--workflow", help="About this workflow; its id.")] = None,
    since: Annotated[str | None, typer.Option("--since", help="24h, 2026-11-27T08:00.")] = None,
    after: After = None,
    limit: Limit = 50,
) -> None:
    """List decisions, newest first: by whom, through which door, and what changed."""
    wanted = Filter(
        by=by,
        verb=verb,
        subject=subject,
        workflow_id=find_workflow_id(cli.database, workflow) if workflow else None,
        since=read_since(since, now()) if since else None,
    )
    page = list_page(cli.database, wanted, after=after, limit=limit)
    cli.out.answer_page(
        page, _listing(page.items) if page.items else Text("nobody decided anything like that")
    )


def _listing(found: Sequence[Written]) -> RenderableType:
    at = now()
    return table(
        "at", "by", "via", "verb", "subject", "reason",
        rows=[
            (f"{age(one.at, at)} ago", one.by, one.via, one.verb, _subject(one), one.reason or "")
            for one in found
        ],
    )  # fmt: skip


def _subject(one: Written) -> str:
    if one.workflow_id is None:
        return one.subject
    # A step's subject is its workflow's id and its name: the end of the id is enough for further commands.
    return one.subject.replace(str(one.workflow_id), short(one.workflow_id))
