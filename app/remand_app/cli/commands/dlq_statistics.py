"""`remand dlq stats` and `triage`: figures of dead letters, and what to look at first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from remand_app.cli.commands.dlq import GROUP as DLQ
from remand_app.cli.commands.dlq_groups import bars
from remand_app.cli.context import After, Cli, Limit
from remand_app.cli.render.output import age, facts, now, short_ids, span, state, table
from remand_app.domain.dead_letter_filter import LetterFilter
from remand_app.resources.letters import LetterRow, triage_page
from remand_app.resources.overview import Count, Statistics, statistics


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
