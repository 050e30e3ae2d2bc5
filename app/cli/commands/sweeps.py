"""`remand sweeps`: whether each sweep runs, and whether its runs succeed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from app.cli.context import ROOT, RUN, Cli
from app.cli.render.output import age, now, span, table
from app.cli.render.wording import counted
from app.domain.page import Page
from app.resources import sweeps as resource
from app.resources.sweeps import Sweep, SweepState

_STYLE = {SweepState.FAILING: "red", SweepState.OVERDUE: "yellow", SweepState.NEVER: "dim"}


@ROOT.verb("sweeps", panel=RUN, examples=("remand sweeps", "remand sweeps --json"))
def sweeps(cli: Cli) -> None:
    """List the sweeps: when each last went well, what it moved, since when it fails, whether it is overdue.

    Overdue: it has not gone well for three intervals. `remand beat` rings them, a worker of the queue
    remand.maintenance runs them.
    """
    found = resource.sweeps(cli.engine)
    cli.out.answer_page(
        Page.whole(found),
        _listing(found),
        *(_failure(one) for one in found if one.state is SweepState.FAILING),
    )


def _listing(found: Sequence[Sweep]) -> RenderableType:
    at = now()
    return table(
        "sweep", "state", "every", "went well", "took", "moved", "runs", "failed",
        rows=[
            (
                one.name,
                Text(_words(one), style=_STYLE.get(one.state, "green")),
                span(one.interval_seconds),
                "never" if one.age_seconds is None else f"{span(one.age_seconds)} ago",
                f"{one.last_duration_seconds:.3f} s" if one.runs else "",
                _moved(one, at),
                str(one.runs or ""),
                str(one.failures or ""),
            )
            for one in found
        ],
    )  # fmt: skip


def _words(one: Sweep) -> str:
    late = ", overdue" if one.is_overdue and one.state is not SweepState.OVERDUE else ""
    return str(one.state).replace("_", " ") + late


def _moved(one: Sweep, at: Any) -> str:
    if one.last_moved_at is None:
        return ""
    return f"{one.last_moved}, {age(one.last_moved_at, at)} ago"


def _failure(one: Sweep) -> Text:
    times = counted(one.failures_in_a_row, "time")
    return Text.assemble(
        (f"{one.name} ", "bold"),
        f"has failed {times} since {age(one.failing_since)} ago: ",
        (f"{one.last_error}: {one.last_error_message}", "red"),
    )
