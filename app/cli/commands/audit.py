"""`remand audit`: list. Who decided what, when and why."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.text import Text

from app.cli.context import After, Cli, Group, Limit
from app.cli.filter_options import filter_of
from app.cli.option_groups import with_options
from app.cli.render.output import age, now, short, table
from app.resources.audit import AuditFilter, Written, list_page

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
