"""`remand demo-outage`: a service goes down and comes back, once without breakers and budgets and once with.

It exits with an error when a goal is missed, so it is also a test.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from remand_app.cli.context import ROOT, START, Cli
from remand_app.cli.render.output import table
from remand_app.demo import environment
from remand_app.demo.checks import DemoFailed
from remand_app.demo.outage_figures import FEWER_CALLS, Figures, missed_goals
from remand_app.demo.outage_run import Moment, Plan, Tell, play

_PLAN = Plan()
_SAID = {
    "starting": "servers, workers and the service start",
    "up": "the service is up",
    "down": "the service is down",
    "back": "the service is back",
}


@ROOT.verb(
    "demo-outage",
    panel=START,
    exits={1: "a goal was missed; says which"},
    examples=("remand demo-outage", "remand demo-outage --json", "remand demo-outage --workflows 200"),
)
def demo_outage(
    cli: Cli,
    workflows: Annotated[
        int, typer.Option("--workflows", min=50, max=100_000, help="How many come.")
    ] = _PLAN.workflows,
    down: Annotated[
        float, typer.Option("--down", min=1, max=600, metavar="SECONDS", help="How long the service is down.")
    ] = _PLAN.down_seconds,
    rate: Annotated[
        float, typer.Option("--rate", min=1, max=1000, help="The breaker's release_per_second.")
    ] = _PLAN.release_per_second,
    seed: Annotated[
        int, typer.Option("--seed", help="Of the instants at which workflows come.")
    ] = _PLAN.seed,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the folder with logs and data.")] = False,
) -> None:
    """Take a service down under load and bring it back, with breakers and budgets off, and with them on.

    Everything runs embedded in a new temporary folder and ends with the demo; your settings are not read.
    What is shown was counted by the service itself and in Postgres. With --json, progress goes to
    standard error, and standard output is one object.
    """
    begun = time.monotonic()
    plan = Plan(workflows=workflows, down_seconds=down, release_per_second=rate, seed=seed)
    console = cli.out.errors if cli.out.as_json else cli.out.console
    with environment.interruptible(), environment.folder("remand-outage-", keep=keep) as folder:
        bare = _watched(console, "off", lambda tell: play(plan, folder / "off", guarded=False, tell=tell))
        guarded = _watched(console, "on", lambda tell: play(plan, folder / "on", guarded=True, tell=tell))
        console.print(_compared(bare, guarded, plan))
        summary = _summary(bare, guarded, plan, time.monotonic() - begun)
        if missed := missed_goals(bare, guarded, plan.most_per_second):
            raise DemoFailed(missed, summary)
    cli.out.answer(summary, _concluded(summary))


def _watched(console: Console, which: str, run: Callable[[Tell], Figures]) -> Figures:
    """Run with its progress shown: a line that changes in place, or a line for each phase."""
    console.print(Text(f"\nBreakers and retry budgets {which}", style="bold"))
    if not console.is_terminal:
        shown: set[str] = set()

        def tell(moment: Moment) -> None:
            if moment.phase not in shown:
                shown.add(moment.phase)
                console.print(_line(moment))

        return run(tell)
    with Live(console=console, auto_refresh=False) as live:
        return run(lambda moment: live.update(_line(moment), refresh=True))


def _line(moment: Moment) -> Text:
    counted = ", ".join(f"{count} {state}" for state, count in sorted(moment.states.items()))
    return Text(f"  {_SAID[moment.phase]}; {moment.submitted} workflows{': ' if counted else ''}{counted}")


def _compared(bare: Figures, guarded: Figures, plan: Plan) -> RenderableType:
    rows: Sequence[tuple[str, str, str]] = [
        (name, _shown(getattr(bare, field)), _shown(getattr(guarded, field)))
        for field, name in {
            "workflows": "workflows",
            "complete": "complete",
            "dead_letters": "in the dead letter queue",
            "lost": "lost",
            "calls_while_down": f"calls to the dead service in {plan.down_seconds:g} s",
            "failed_attempts": "attempts used up",
            "most_attempts": "most attempts of one step",
            "peak_per_second": f"most calls in a second afterwards (released: {plan.release_per_second:g})",
            "drained_seconds": "seconds from recovery to drained",
        }.items()
    ]
    moves = " ".join(move.event for move in guarded.moves)
    return table("", "off", "on", rows=[*rows, ("moves of the breaker", "", moves)])


def _shown(value: float) -> str:
    return f"{value:g}"


def _concluded(summary: Mapping[str, Any]) -> Text:
    return Text(
        f"\n{summary['fewer_calls']:g} times fewer calls to the dead service, nothing lost, all of it in"
        f" {summary['seconds']:g} s"
    )


def _summary(bare: Figures, guarded: Figures, plan: Plan, seconds: float) -> dict[str, Any]:
    return {
        "off": bare.to_dict(),
        "on": guarded.to_dict(),
        "fewer_calls": round(bare.calls_while_down / max(1, guarded.calls_while_down), 1),
        "goals": {"fewer_calls": FEWER_CALLS, "lost": 0, "peak_per_second": plan.most_per_second},
        "plan": plan,
        "seconds": round(seconds, 1),
    }
