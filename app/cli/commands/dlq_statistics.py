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

from app.cli.commands.dlq import GROUP as DLQ
from app.cli.commands.dlq_groups import bars
from app.cli.context import ROOT, RUN, After, Cli, Limit
from app.cli.render.output import age, facts, now, short_ids, span, state, table
from app.domain.dead_letter_filter import LetterFilter
from app.engine.worker_limits import live_workers
from app.resources import groups
from app.resources.breakers import breakers
from app.resources.groups import GroupFilter
from app.resources.letters import LetterRow, triage_page
from app.resources.overview import Count, Statistics, live_by_state, statistics
from app.resources.queues import Queue, queues
from app.resources.values import fields_of

_COUNTED = 10_000
Every = Annotated[float, typer.Option("--every", min=0.2, max=3600, help="Seconds between two looks.")]
Times = Annotated[int | None, typer.Option("--times", min=1, help="End after so many looks.")]


@DLQ.verb("stats", examples=("remand dlq stats", "remand dlq stats --namespace payments --json"))
def stats(
    cli: Cli,
    namespace: Annotated[str | None, typer.Option("--namespace", help="Only of this namespace.")] = None,
) -> None:
    """Show how many letters there are, of what, how full the dead queues are, how fast they are closed."""
    told = statistics(cli.engine, namespace=namespace)
    cli.out.answer(told, *_figures(told))


def _figures(told: Statistics) -> list[RenderableType]:
    oldest = "–" if told.oldest_open_at is None else f"{age(told.oldest_open_at, now())} ago"
    mean = "–" if told.mean_seconds_to_close is None else span(told.mean_seconds_to_close)
    return [
        facts(
            [
                ("open", f"{told.open}, of them {told.unclaimed} with nobody; the oldest {oldest}"),
                ("ever", f"{told.opened} opened, {told.closed} closed; mean time to close {mean}"),
                ("24 hours", bars(told.opened_by_hour)),
                *(
                    (
                        f"queue {one.name}",
                        f"{one.open} of {one.limit}{', nearly full' if one.is_nearly_full else ''}",
                    )
                    for one in told.dead_queues
                ),
            ]
        ),
        Text(),
        *(
            _counts(title, found)
            for title, found in (
                ("reason", told.by_reason),
                ("category", told.by_category),
                ("policy", told.by_policy),
                ("status", told.by_status),
                ("template", told.by_template),
            )
            if found
        ),
    ]


def _counts(title: str, found: Sequence[Count]) -> RenderableType:
    return table(
        title, "open", "kept", "ever", "closed", "mean time",
        rows=[
            (
                one.name,
                str(one.open),
                str(one.now),
                str(one.ever),
                str(one.closed),
                "–" if one.mean_seconds_to_close is None else span(one.mean_seconds_to_close),
            )
            for one in found
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


def _urgent(found: Sequence[LetterRow]) -> RenderableType:
    at = now()
    ends = short_ids(one.id for one in found)
    return table(
        "letter", "age", "reason", "status", "with", "template and step", "error",
        rows=[
            (
                ends[one.id],
                age(one.opened_at, at),
                str(one.reason),
                state(str(one.status)),
                one.claimed_by or "–",
                f"{one.ref} {one.step}",
                f"{one.error_class.rpartition('.')[2]}: {one.error_message.partition(chr(10))[0]}",
            )
            for one in found
        ],
        folds=False,
    )  # fmt: skip


@DLQ.verb("watch", examples=("remand dlq watch", "remand dlq watch --every 10"))
def watch(cli: Cli, every: Every = 2.0, times: Times = None) -> None:
    """Show the causes of dead letters and their figures again and again, until Ctrl-C."""

    def look() -> tuple[dict[str, Any], RenderableType]:
        told = statistics(cli.engine)
        found = groups.list_page(cli.database, GroupFilter(order="largest"), limit=15).items
        return fields_of(told), Stacked(_summary(told), _causes(found))

    _again(cli, look, every, times)


@ROOT.verb("top", panel=RUN, examples=("remand top", "remand top --times 1"))
def top(cli: Cli, every: Every = 2.0, times: Times = None) -> None:
    """Show how everything stands, again and again, until Ctrl-C: queues, workers, breakers, dead letters."""

    def look() -> tuple[dict[str, Any], RenderableType]:
        told = statistics(cli.engine)
        found_queues = queues(cli.engine)
        workers = live_workers(cli.engine)
        gating = [one for one in breakers(cli.engine) if one.is_gating]
        states = live_by_state(cli.database, _COUNTED)
        found = groups.list_page(cli.database, GroupFilter(order="largest"), limit=8).items
        value = {
            "open_letters": told.open,
            "workers": len(workers),
            "breakers": gating,
            "queues": found_queues,
            "workflows": {str(name): count for name, count in states.items()},
            "causes": found,
        }
        shown = Stacked(
            _summary(told),
            facts(
                [
                    ("workers", str(len(workers)) if workers else Text("none is alive", style="red")),
                    ("workflows", ", ".join(f"{count} {name}" for name, count in states.items()) or "none"),
                    ("breakers", ", ".join(f"{one.name} {one.state}" for one in gating) or "all closed"),
                ]
            ),
            Text(),
            _queues(found_queues),
            Text(),
            _causes(found),
        )
        return value, shown

    _again(cli, look, every, times)


def _summary(told: Statistics) -> RenderableType:
    style = "bold red" if told.open else "bold green"
    return Text.assemble((f"{told.open} dead letters open", style), f" · {now():%H:%M:%S} UTC")


def _queues(found: Sequence[Queue]) -> RenderableType:
    busy = [one for one in found if one.due or one.waiting or one.claimed or one.held or one.is_paused]
    if not busy:
        return Text("no work waits anywhere", style="dim")
    return table(
        "queue", "ready", "to decide", "runs", "waits", "held", "oldest", "workers",
        rows=[
            (
                f"{one.queue}{' (paused)' if one.is_paused else ''}",
                str(one.ready),
                str(one.failed),
                str(one.claimed),
                str(one.waiting),
                str(one.held),
                "–" if one.oldest_seconds is None else span(one.oldest_seconds),
                str(len(one.workers)),
            )
            for one in busy
        ],
    )  # fmt: skip


def _causes(found: Sequence[groups.Group]) -> RenderableType:
    if not found:
        return Text("nothing is dead", style="dim")
    at = now()
    ends = short_ids(one.id for one in found)
    return table(
        "group", "open", "last", "with", "template and step", "cause",
        rows=[
            (
                ends[one.id],
                str(one.open_letters),
                age(one.last_at, at),
                one.owner or "–",
                f"{one.ref} {one.step}",
                f"{one.error_class.rpartition('.')[2]}: {one.message}",
            )
            for one in found
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
