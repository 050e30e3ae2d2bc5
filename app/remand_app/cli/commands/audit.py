"""`remand audit`: list. Who decided what, when and why."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.text import Text

from remand_app.cli.context import After, Cli, Group, Limit
from remand_app.cli.filter_options import filter_of
from remand_app.cli.option_groups import with_options
from remand_app.cli.render.output import age, now, short, table
from remand_app.resources.audit import AuditFilter, Written, list_page

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
@with_options(asked=filter_of(AuditFilter, but=("kind",)))
def list_(cli: Cli, asked: AuditFilter, after: After = None, limit: Limit = 50) -> None:
    """List decisions, newest first: by whom, through which door, and what changed."""
    page = list_page(cli.database, asked, after=after, limit=limit)
    cli.out.answer_page(
        page, _listing(page.items) if page.items else Text("nobody decided anything like that")
    )


def _listing(entries: Sequence[Written]) -> RenderableType:
    at = now()
    return table(
        "at", "by", "via", "verb", "subject", "reason",
        rows=[
            (f"{age(entry.at, at)} ago", entry.by, entry.via, entry.verb, _subject(entry), entry.reason or "")
            for entry in entries
        ],
    )  # fmt: skip


def _subject(entry: Written) -> str:
    if entry.workflow_id is None:
        return entry.subject
    # A step's subject is its workflow's id and its name: the end of the id is enough for further commands.
    return entry.subject.replace(str(entry.workflow_id), short(entry.workflow_id))
