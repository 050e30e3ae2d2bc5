"""`remand partitions`: list, create, check. The months, weeks or days that divide the live tables."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from remand_app.cli.context import Cli, Group
from remand_app.cli.render.check_report import Finding, show
from remand_app.cli.render.output import size, state, table
from remand_app.cli.render.wording import command, next_steps
from remand_app.domain.partition_check import MANY, DefaultRows
from remand_app.engine.partitions import Listed, faults, listed
from remand_app.engine.sweeps.partitions import partitions
from remand_app.resources.partitions import Patience

GROUP = Group("partitions", "See by which periods the live tables are divided; create those to come.")
_ANY_NUMBER = 2**31 - 2


@GROUP.verb("list", examples=("remand partitions list", "remand partitions list --json"))
def list_(cli: Cli) -> None:
    """List the periods: bounds, size, how many workflows, how many of them are under way."""
    listing = listed(cli.engine)
    cli.out.answer(
        listing,
        _listing(listing),
        *(_default(partition) for partition in listing.default if _default(partition)),
    )


@GROUP.verb("create", exits=(5,), examples=("remand partitions create", "remand partitions create --hold 30"))
def create(
    cli: Cli,
    hold: Annotated[
        float | None,
        typer.Option(
            "--hold",
            min=0.1,
            max=3600,
            metavar="SECONDS",
            help="Let live work wait so long, and move however many rows lie in the default partitions.",
        ),
    ] = None,
) -> None:
    """Create the periods that are missing, as the sweep does: the one of now, and those ahead."""
    patience = Patience() if hold is None else Patience(hold_seconds=hold, most_rows=_ANY_NUMBER)
    made = partitions(cli.engine, patience)
    shown = [Text(f"created remand.{name}") for name in made] or [Text("nothing was missing")]
    cli.out.answer({"created": made}, *shown, next_steps(command("remand partitions check")))


@GROUP.verb(
    "check",
    exits={1: "something is wrong that must be put right"},
    examples=("remand partitions check", "remand partitions check --json"),
)
def check(cli: Cli) -> None:
    """Look for gaps, overlaps, tables that do not fit together, and rows that lie outside every period."""
    show(cli.out, check_partitions(cli))


def check_partitions(cli: Cli) -> list[Finding]:
    """Return what is wrong with the partitions, or that nothing is."""
    findings = [Finding(fault.code, fault.level, fault.meaning, fault.remedy) for fault in faults(cli.engine)]
    if findings:
        return findings
    periods = listed(cli.engine).periods
    summary = f"{len(periods)} periods without a gap, the last one ends on {periods[-1].ends_at:%Y-%m-%d}"
    return [Finding("partitions", "ok", summary)]


def _listing(listing: Listed) -> RenderableType:
    return table(
        "period", "from", "until", "attached", "workflows", "live", "size",
        rows=[
            (
                period.name,
                f"{period.starts_at:%Y-%m-%d}",
                f"{period.ends_at:%Y-%m-%d}",
                state("ok") if period.attached else Text(f"only {', '.join(period.tables)}", style="red"),
                f"~{period.workflows}",
                str(listing.live.get(period.name, "–")),
                size(period.bytes),
            )
            for period in listing.periods
        ],
    )  # fmt: skip


def _default(partition: DefaultRows) -> str:
    parts = [
        f"{'more than ' if rows > MANY else ''}{min(rows, MANY)} {what}"
        for rows, what in (
            (partition.behind, "older than the end of the last period"),
            (partition.beyond, "later"),
        )
        if rows
    ]
    return f"default partition of {partition.table}: rows {' and '.join(parts)}" if parts else ""
