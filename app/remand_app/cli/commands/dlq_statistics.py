"""`remand dlq stats`, `triage`, `watch` and `remand top`: figures, and what to look at first."""

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
from remand_app.cli.commands.dlq_groups import bars
from remand_app.cli.context import ROOT, RUN, After, Cli, Limit
from remand_app.cli.render.output import age, facts, now, short_ids, span, state, table
from remand_app.domain.dead_letter_filter import LetterFilter
from remand_app.engine.worker_limits import live_workers
from remand_app.resources import groups
from remand_app.resources.breakers import breakers
from remand_app.resources.groups import GroupFilter
from remand_app.resources.letters import LetterRow, triage_page
from remand_app.resources.overview import Count, Statistics, live_by_state, statistics
from remand_app.resources.queues import Queue, queues
from remand_app.resources.values import fields_of

_COUNTED = 10_000
Every = Annotated[float, typer.Option("--every", min=0.2, max=3600, help="Seconds between two looks.")]
Times = Annotated[int | None, typer.Option("--times", min=1, help="End after so many looks.")]


@DLQ.verb("stats", examples=("remand dlq stats", "remand dlq stats --namespace payments --json"))
def stats(
    cli: Cli,
    namespace: Annotated[str | None, typer.Option("--namespace", help="Only of this namespace.")] = None,
) -> None:
    """Show how many letters there are, of what, how full the dead queues are, how fast they are closed."""
    figures = statistics(cli.engine, namespace=namespace)
    cli.out.answer(figures, *_figures(figures))


def _figures(figures: Statistics) -> list[RenderableType]:
    oldest = "–" if figures.oldest_open_at is None else f"{age(figures.oldest_open_at, now())} ago"
    mean = "–" if figures.mean_seconds_to_close is None else span(figures.mean_seconds_to_close)
    return [
        facts(
            [
                ("open", f"{figures.open}, of them {figures.unclaimed} with nobody; the oldest {oldest}"),
                ("ever", f"{figures.opened} opened, {figures.closed} closed; mean time to close {mean}"),
                ("24 hours", bars(figures.opened_by_hour)),
                *(
                    (
                        f"queue {queue.name}",
                        f"{queue.open} of {queue.limit}{', nearly full' if queue.is_nearly_full else ''}",
                    )
                    for queue in figures.dead_queues
                ),
            ]
        ),
        Text(),
        *(
            _counts(title, counts)
            for title, counts in (
                ("reason", figures.by_reason),
                ("category", figures.by_category),
                ("policy", figures.by_policy),
                ("status", figures.by_status),
                ("template", figures.by_template),
            )
            if counts
        ),
    ]


def _counts(title: str, counts: Sequence[Count]) -> RenderableType:
    return table(
        title, "open", "kept", "ever", "closed", "mean time",
        rows=[
            (
                count.name,
                str(count.open),
                str(count.now),
                str(count.ever),
                str(count.closed),
                "–" if count.mean_seconds_to_close is None else span(count.mean_seconds_to_close),
            )
            for count in counts
        ],
    )  # fmt: skip


@DLQ.verb("triage", examples=("remand dlq triage", "remand dlq triage --limit 5 --json"))
def triage(
    cli: Cli,
    template: Annotated[str | None, typer.Option("--template", help="Only of this template.")] = None,
    after: After = None,
    limit: Limit = 20,
    cursor: Annotated[str | None, typer.Option("--cursor", hidden=True)] = None,
) -> None:
    """List what to look at first: by the weight of the reason and by age."""
    wanted = LetterFilter() if template is None else LetterFilter.of_template(template)
    page = triage_page(cli.database, wanted, after=after or cursor, limit=limit)
    cli.out.answer_page(page, _urgent(page.items) if page.items else "nothing is dead")


def _urgent(rows: Sequence[LetterRow]) -> RenderableType:
    at = now()
    ends = short_ids(row.id for row in rows)
    return table(
        "letter", "age", "reason", "status", "with", "template and step", "error",
        rows=[
            (
                ends[row.id],
                age(row.opened_at, at),
                str(row.reason),
                state(str(row.status)),
                row.claimed_by or "–",
                f"{row.ref} {row.step}",
                f"{row.error_class.rpartition('.')[2]}: {row.error_message.partition(chr(10))[0]}",
            )
            for row in rows
        ],
        folds=False,
    )  # fmt: skip


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
