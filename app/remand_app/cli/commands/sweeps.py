"""`remand sweeps`: whether each sweep runs, and whether its runs succeed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from remand_app.cli.context import ROOT, RUN, Cli
from remand_app.cli.render.output import age, now, span, table
from remand_app.cli.render.wording import counted
from remand_app.domain.page import Page
from remand_app.resources import sweeps as resource
from remand_app.resources.sweeps import Sweep, SweepState

_STYLE = {SweepState.FAILING: "red", SweepState.OVERDUE: "yellow", SweepState.NEVER: "dim"}


@ROOT.verb("sweeps", panel=RUN, examples=("remand sweeps", "remand sweeps --json"))
def sweeps(cli: Cli) -> None:
    """List the sweeps: when each last went well, what it moved, since when it fails, whether it is overdue.

    Overdue: it has not gone well for three intervals. `remand beat` rings them, a worker of the queue
    remand.maintenance runs them.
    """
    listed = resource.sweeps(cli.engine)
    cli.out.answer_page(
        Page.whole(listed),
        _listing(listed),
        *(_failure(sweep) for sweep in listed if sweep.state is SweepState.FAILING),
    )


def _listing(listed: Sequence[Sweep]) -> RenderableType:
    at = now()
    return table(
        "sweep", "state", "every", "went well", "took", "moved", "runs", "failed",
        rows=[
            (
                sweep.name,
                Text(_words(sweep), style=_STYLE.get(sweep.state, "green")),
                span(sweep.interval_seconds),
                "never" if sweep.age_seconds is None else f"{span(sweep.age_seconds)} ago",
                f"{sweep.last_duration_seconds:.3f} s" if sweep.runs else "",
                _moved(sweep, at),
                str(sweep.runs or ""),
                str(sweep.failures or ""),
            )
            for sweep in listed
        ],
    )  # fmt: skip


def _words(sweep: Sweep) -> str:
    late = ", overdue" if sweep.is_overdue and sweep.state is not SweepState.OVERDUE else ""
    return str(sweep.state).replace("_", " ") + late


def _moved(sweep: Sweep, at: Any) -> str:
    if sweep.last_moved_at is None:
        return ""
    return f"{sweep.last_moved}, {age(sweep.last_moved_at, at)} ago"


def _failure(sweep: Sweep) -> Text:
    times = counted(sweep.failures_in_a_row, "time")
    return Text.assemble(
        (f"{sweep.name} ", "bold"),
        f"has failed {times} since {age(sweep.failing_since)} ago: ",
        (f"{sweep.last_error}: {sweep.last_error_message}", "red"),
    )
