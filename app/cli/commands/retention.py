"""`remand retention`: how long finished data is kept, and what is deleted next."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType

from app.cli.context import ROOT, RUN, Cli
from app.cli.render.output import age, now, table
from app.domain.page import Page
from app.engine.sweeps.prune import LOOKED_AT, Kept, outlook


@ROOT.verb("retention", panel=RUN, examples=("remand retention", "remand retention --json"))
def retention(cli: Cli) -> None:
    """List what is deleted when it is over and old: for how many days it is kept, and what is due.

    The prune sweep deletes it. Workflows are no part of it: they are archived.
    """
    found = outlook(cli.engine)
    cli.out.answer_page(Page.whole(found), _listing(found))


def _listing(found: Sequence[Kept]) -> RenderableType:
    at = now()
    return table(
        "what", "setting", "days", "oldest that ends", "due",
        rows=[
            (
                one.table.partition(",")[0],
                f"retention.{one.setting}" if one.setting else "–",
                "for ever" if one.days is None else str(one.days),
                "–" if one.oldest_at is None or one.oldest_at > at else f"{age(one.oldest_at, at)} ago",
                _counted(one.due),
            )
            for one in found
        ],
    )  # fmt: skip


def _counted(due: int) -> str:
    if due >= LOOKED_AT:
        return f"{LOOKED_AT} or more"
    return str(due or "–")
