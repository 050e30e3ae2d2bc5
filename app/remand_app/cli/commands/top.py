"""`remand top` and `remand dlq watch`: how things stand, again and again."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Group as Stacked
from rich.console import RenderableType
from rich.live import Live
from rich.text import Text

from remand_app.cli.commands.dlq import GROUP as DLQ
from remand_app.cli.context import ROOT, RUN, Cli
from remand_app.cli.render.output import age, facts, now, short_ids, span, table
from remand_app.engine.worker_limits import live_workers
from remand_app.resources import groups
from remand_app.resources.breakers import breakers
from remand_app.resources.groups import GroupFilter
from remand_app.resources.overview import Statistics, live_by_state, statistics
from remand_app.resources.queues import Queue, queues
from remand_app.resources.values import fields_of

_COUNTED = 10_000
Every = Annotated[float, typer.Option("--every", min=0.2, max=3600, help="Seconds between two looks.")]
Times = Annotated[int | None, typer.Option("--times", min=1, help="End after so many looks.")]


@DLQ.verb("watch", examples=("remand dlq watch", "remand dlq watch --every 10"))
def watch(cli: Cli, every: Every = 2.0, times: Times = None) -> None:
    """Show the causes of dead letters and their figures again and again, until Ctrl-C."""

    def look() -> tuple[dict[str, Any], RenderableType]:
        figures = statistics(cli.engine)
        causes = groups.list_page(cli.database, GroupFilter(order="largest"), limit=15).items
        return fields_of(figures), Stacked(_summary(figures), _causes(causes))

    _again(cli, look, every, times)


@ROOT.verb("top", panel=RUN, examples=("remand top", "remand top --times 1"))
def top(cli: Cli, every: Every = 2.0, times: Times = None) -> None:
    """Show how everything stands, again and again, until Ctrl-C: queues, workers, breakers, dead letters."""

    def look() -> tuple[dict[str, Any], RenderableType]:
        figures = statistics(cli.engine)
        found_queues = queues(cli.engine)
        workers = live_workers(cli.engine)
        gating = [breaker for breaker in breakers(cli.engine) if breaker.is_gating]
        states = live_by_state(cli.database, _COUNTED)
        causes = groups.list_page(cli.database, GroupFilter(order="largest"), limit=8).items
        value = {
            "open_letters": figures.open,
            "workers": len(workers),
            "breakers": gating,
            "queues": found_queues,
            "workflows": {str(name): count for name, count in states.items()},
            "causes": causes,
        }
        shown = Stacked(
            _summary(figures),
            facts(
                [
                    ("workers", str(len(workers)) if workers else Text("none is alive", style="red")),
                    ("workflows", ", ".join(f"{count} {name}" for name, count in states.items()) or "none"),
                    (
                        "breakers",
                        ", ".join(f"{breaker.name} {breaker.state}" for breaker in gating) or "all closed",
                    ),
                ]
            ),
            Text(),
            _queues(found_queues),
            Text(),
            _causes(causes),
        )
        return value, shown

    _again(cli, look, every, times)


def _summary(figures: Statistics) -> RenderableType:
    style = "bold red" if figures.open else "bold green"
    return Text.assemble((f"{figures.open} dead letters open", style), f" · {now():%H:%M:%S} UTC")


def _queues(queues: Sequence[Queue]) -> RenderableType:
    busy = [
        queue
        for queue in queues
        if queue.due or queue.waiting or queue.claimed or queue.held or queue.is_paused
    ]
    if not busy:
        return Text("no work waits anywhere", style="dim")
    return table(
        "queue", "ready", "to decide", "runs", "waits", "held", "oldest", "workers",
        rows=[
            (
                f"{queue.queue}{' (paused)' if queue.is_paused else ''}",
                str(queue.ready),
                str(queue.failed),
                str(queue.claimed),
                str(queue.waiting),
                str(queue.held),
                "–" if queue.oldest_seconds is None else span(queue.oldest_seconds),
                str(len(queue.workers)),
            )
            for queue in busy
        ],
    )  # fmt: skip


def _causes(causes: Sequence[groups.Group]) -> RenderableType:
    if not causes:
        return Text("nothing is dead", style="dim")
    at = now()
    ends = short_ids(cause.id for cause in causes)
    return table(
        "group", "open", "last", "with", "template and step", "cause",
        rows=[
            (
                ends[cause.id],
                str(cause.open_letters),
                age(cause.last_at, at),
                cause.owner or "–",
                f"{cause.ref} {cause.step}",
                f"{cause.error_class.rpartition('.')[2]}: {cause.message}",
            )
            for cause in causes
        ],
        folds=False,
    )  # fmt: skip


def _again(
    cli: Cli, look: Callable[[], tuple[Mapping[str, Any], RenderableType]], every: float, times: int | None
) -> None:
    value, shown = look()
    if cli.out.as_json or not sys.stdout.isatty() or times == 1:
        # No live display is wanted: print once, as for a program.
        cli.out.answer(value, shown)
        return
    with Live(shown, console=cli.out.console, screen=True, auto_refresh=False) as live:
        looks = 1
        while times is None or looks < times:
            time.sleep(every)
            live.update(look()[1], refresh=True)
            looks += 1
