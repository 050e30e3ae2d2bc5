"""`remand retention`: how long finished data is kept, and what is deleted next."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType

from remand_app.cli.context import ROOT, RUN, Cli
from remand_app.cli.render.output import age, now, table
from remand_app.domain.page import Page
from remand_app.engine.sweeps.prune import LOOKED_AT, Kept, outlook


@ROOT.verb("retention", panel=RUN, examples=("remand retention", "remand retention --json"))
def retention(cli: Cli) -> None:
    """List what is deleted when it is over and old: for how many days it is kept, and what is due.

    The prune sweep deletes it. Workflows are no part of it: they are archived.
    """
    kept = outlook(cli.engine)
    cli.out.answer_page(Page.whole(kept), _listing(kept))


def _listing(kept: Sequence[Kept]) -> RenderableType:
    at = now()
    return table(
        "what", "setting", "days", "oldest that ends", "due",
        rows=[
            (
                entry.table.partition(",")[0],
                f"retention.{entry.setting}" if entry.setting else "–",
                "for ever" if entry.days is None else str(entry.days),
                "–" if entry.oldest_at is None or entry.oldest_at > at else f"{age(entry.oldest_at, at)} ago",
                _counted(entry.due),
            )
            for entry in kept
        ],
    )  # fmt: skip


def _counted(due: int) -> str:
    if due >= LOOKED_AT:
        return f"{LOOKED_AT} or more"
    return str(due or "–")
