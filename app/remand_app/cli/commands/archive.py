"""`remand archive`: run, status, restore, export, drop. Keeps finished workflows apart from live work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from remand_app.cli.context import After, By, Cli, Group, Limit, Reason
from remand_app.cli.exits import EXIT_CODES
from remand_app.cli.render.output import now, size, table
from remand_app.cli.render.wording import command, counted, next_steps
from remand_app.domain.archive import Stay, Way
from remand_app.domain.page import Page
from remand_app.engine.archive import ArchiveResult, Deferral, Planned, plan, run
from remand_app.engine.archive_export import Exported, drop, export, unexported
from remand_app.engine.archive_restore import Restored, restore, restore_period
from remand_app.resources.archive import ArchiveRun, ArchiveStatus, runs, status
from remand_app.resources.workflows import find_workflow

GROUP = Group("archive", "Move finished workflows out of the way of live work, and bring them back.")
_WAYS = {
    Way.PERIOD: "goes whole",
    Way.BATCH: "goes in batches",
    Way.RETIRE: "has gone: its empty partitions are dropped",
    Way.WAIT: "waits: too many ended a short while ago",
    Way.STAY: "stays: too many are kept, live or investigated",
}
_DEFERRED: Mapping[Deferral, str] = {
    "late": "others held its tables too long; look for an old transaction in pg_stat_activity",
    "changed": "its workflows were worked on all the time",
    "crowded": "more of it would have to move than may at once",
}
_STAYS = {
    Stay.LIVE: "have not ended",
    Stay.LETTER: "have an open dead letter",
    Stay.KEPT: "are kept by policy",
    Stay.RECENT: "ended, or came back, a short while ago",
}


@GROUP.verb(
    "run",
    exits={1: "a due period could not be taken; says which and why", 5: EXIT_CODES[5]},
    examples=("remand archive run --dry-run", "remand archive run"),
)
def run_(
    cli: Cli,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Only say what would go and what would stay: nothing is changed."),
    ] = False,
    by: By = None,
) -> None:
    """Archive what is due, as the sweep does; where `[archive] enabled` is false, too.

    It stops when `archive.budget_seconds` are over; run it again, or leave the rest to the sweep. A due
    period that others hold is named, left for the next run, and ends this one with 1.
    """
    if dry_run:
        planned = plan(cli.engine)
        cli.out.answer({"dry_run": True, "planned": planned}, *_planned(planned))
        return
    swept = run(cli.engine, by=cli.who(by, None).by)
    cli.out.answer({**_fields(swept), "moved": swept.moved}, *_swept(swept))
    if swept.deferred:
        raise typer.Exit(1)


@GROUP.verb("status", examples=("remand archive status", "remand archive status --json"))
def status_(
    cli: Cli,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="At most so many runs.")] = 10,
) -> None:
    """Show what the archive holds, by period, and what was moved last."""
    archive = status(cli.database, limit)
    older = [next_steps(command("remand archive runs"))] if len(archive.runs) == limit else []
    cli.out.answer(archive, *_status(archive), *older)


@GROUP.verb("runs", examples=("remand archive runs", "remand archive runs --limit 500 --json"))
def runs_(cli: Cli, after: After = None, limit: Limit = 50) -> None:
    """List what was moved into the archive and out of it, newest first."""
    page = runs(cli.database, after=after, limit=limit)
    cli.out.answer_page(page, _runs(page.items) if page.items else "nothing was archived yet")


@GROUP.verb(
    "restore",
    exits=(4, 5),
    examples=(
        'remand archive restore 019e11c2-32 --reason "audit asks"',
        "remand archive restore --period 2026_05",
    ),
)
def restore_(
    cli: Cli,
    workflow: Annotated[
        list[str] | None, typer.Argument(metavar="WORKFLOW...", help="Ids, or their beginnings.")
    ] = None,
    period: Annotated[
        str | None,
        typer.Option("--period", metavar="NAME", help="Everything of a period, as status names it."),
    ] = None,
    reason: Reason = None,
    by: By = None,
) -> None:
    """Bring workflows back to the live tables; they stay there for the retention once more."""
    if bool(workflow) == bool(period):
        raise typer.BadParameter("name workflows, or a period with --period, and not both")
    who = cli.who(by, reason)
    if period:
        done = restore_period(cli.engine, period, who)
    else:
        done = restore(cli.engine, [find_workflow(cli.database, typed).id for typed in workflow or ()], who)
    cli.out.answer(done, _restored(done))


@GROUP.verb(
    "export",
    exits=(4,),
    examples=(
        "remand archive export --to /backup/remand",
        "remand archive export 2026_05 --to /backup/remand",
    ),
)
def export_(
    cli: Cli,
    to: Annotated[
        Path, typer.Option("--to", metavar="DIRECTORY", help="Where a directory for each is made.")
    ],
    period: Annotated[
        list[str] | None,
        typer.Argument(metavar="PERIOD...", help="As status names them; none: all not yet exported."),
    ] = None,
    by: By = None,
) -> None:
    """Write periods of the archive to files: gzipped lines of JSON, a file for each table, and a manifest.

    A directory that has a period's name is complete: it gets its name last.
    """
    who = cli.who(by, None)
    done = [export(cli.engine, name, to, who) for name in period or unexported(cli.engine)]
    cli.out.answer_page(
        Page.whole(done),
        *(_exported(exported) for exported in done),
        *([] if done else ["nothing to export"]),
    )


@GROUP.verb(
    "drop",
    exits=(4, 5),
    examples=('remand archive drop 2024_05 --reason "exported, and three years old"',),
)
def drop_(
    cli: Cli,
    period: Annotated[str, typer.Argument(metavar="PERIOD", help="As status names it.")],
    reason: Reason = None,
    by: By = None,
) -> None:
    """Drop a period of the archive that was exported as it stands, or is past `archive.keep_days`.

    Its workflows are found no more, and their identities are free again.
    """
    done = drop(cli.engine, period, cli.who(by, reason))
    freed = f"{size(done.bytes)} are free"
    cli.out.answer(
        done, f"period {period} is dropped: {counted(done.workflows, 'workflow')}, {freed}; {done.why}"
    )


def _exported(exported: Exported) -> str:
    return f"period {exported.period}: {counted(exported.workflows, 'workflow')} written to {exported.place}"


def _fields(swept: ArchiveResult) -> dict[str, object]:
    return {name: getattr(swept, name) for name in ArchiveResult.__slots__}


def _planned(planned: Sequence[Planned]) -> list[RenderableType]:
    if not planned:
        return ["nothing is due"]
    shown = table(
        "period", "from", "until", "what becomes of it", "would go", "would stay",
        rows=[
            (
                period.period,
                _day(period.starts_at),
                _day(period.ends_at),
                _WAYS[period.way],
                str(period.go),
                _staying(period),
            )
            for period in planned
        ],
    )  # fmt: skip
    return [shown, next_steps(command("remand archive run"))]


def _staying(period: Planned) -> str:
    return ", ".join(f"{count} {_STAYS[why]}" for why, count in period.stay.items())


def _swept(swept: ArchiveResult) -> list[RenderableType]:
    if not swept.is_alone:
        return ["another run is under way: it does what there is to do"]
    summary = f"{counted(swept.workflows, 'workflow')} archived"
    if swept.periods:
        summary += f", {counted(swept.periods, 'period')} as a whole"
    if swept.stayed:
        summary += f", {counted(swept.stayed, 'workflow')} stayed live"
    left = [
        Text(f"period {name} was not taken: {_DEFERRED[why]}", "yellow")
        for name, why in swept.deferred.items()
    ]
    if swept.is_finished:
        return [summary, *left, *([next_steps(command("remand archive run"))] if left else [])]
    return [summary, *left, "its time is over and more is left", next_steps(command("remand archive run"))]


def _status(archive: ArchiveStatus) -> list[RenderableType]:
    held = table(
        "period", "from", "until", "workflows", "steps", "size", "came", "exported", "verified",
        rows=[
            (
                period.period,
                _day(period.starts_at),
                _day(period.ends_at),
                str(period.workflows),
                str(period.steps),
                size(period.bytes),
                "whole" if period.moved_whole else "in batches",
                _day(period.exported_at),
                "yes" if period.verified else Text("not yet", style="yellow"),
            )
            for period in archive.periods
        ],
    )  # fmt: skip
    if not archive.runs:
        return ["nothing was archived yet", next_steps(command("remand archive run --dry-run"))]
    return [held, Text(), _runs(archive.runs)]


def _runs(moves: Sequence[ArchiveRun]) -> RenderableType:
    at = now()
    return table(
        "when", "what", "period", "how", "workflows", "stayed", "locked", "by",
        rows=[
            (
                f"{move.ended_at:{'%Y-%m-%d %H:%M' if (at - move.ended_at).days else '%H:%M:%S'}}",
                move.kind,
                move.period,
                move.path,
                str(move.workflows),
                str(move.stayed or ""),
                "" if move.lock_ms is None else f"{move.lock_ms:.0f} ms",
                move.by,
            )
            for move in moves
        ],
    )  # fmt: skip


def _restored(done: Restored) -> str:
    what = f"{counted(done.workflows, 'workflow')} came back"
    return what + (f", all of period {done.period}" if done.period else "")


def _day(instant: datetime | None) -> str:
    return "–" if instant is None else f"{instant:%Y-%m-%d}"
