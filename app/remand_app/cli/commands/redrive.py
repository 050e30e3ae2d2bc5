"""`remand dlq redrive`: plan, start, status, list, items, pause, resume, cancel; many letters at once."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from typing import Annotated
from uuid import UUID

import typer
from rich.text import Text

from remand_app.cli.commands import redrive_options as options
from remand_app.cli.context import After, By, Cli, Group, Limit, Reason
from remand_app.cli.option_groups import with_options
from remand_app.cli.render import redrive as shown
from remand_app.cli.render.output import short, state
from remand_app.cli.render.wording import command, next_steps
from remand_app.cli.verb_commands import Target, make_commands
from remand_app.domain.dead_letter_filter import LetterFilter
from remand_app.domain.errors import InputInvalid
from remand_app.domain.redrive import ACTIVE, ItemState, Redrive, RedriveState, RedriveVerb
from remand_app.engine import redrive as engine
from remand_app.engine.operate import Who
from remand_app.engine.redrive import Forecast, Options, Plan

GROUP = Group("dlq redrive", "Deal with many dead letters at once: plan, canary, rate, result of each.")
LOOK_SECONDS = 1.0
Planned = Annotated[
    str | None, typer.Option("--plan", metavar="REDRIVE", help="Start this plan, as it was planned.")
]
OnlyPlan = Annotated[bool, typer.Option("--dry-run", help="Only plan: show scope and forecast.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
RedriveId = Annotated[str, typer.Argument(metavar="REDRIVE", help="Its id, or enough of either end of it.")]


def _procedure(
    _: Cli,
    verb: options.VerbOption = RedriveVerb.REQUEUE,
    canary: options.Canary = None,
    success_share: options.Share = 1.0,
    rate: options.Rate = None,
    include_claimed: options.Claimed = False,
    to_queue: options.ToQueue = None,
    priority: options.Priority = None,
    not_before: options.Begins = None,
    once_live: options.OnceLive = None,
) -> Options:
    return Options(
        verb=verb,
        canary=options.stages(canary),
        success_share=success_share,
        rate_per_second=rate,
        include_claimed=include_claimed,
        queue=to_queue,
        priority=priority,
        not_before=options.instant(not_before),
        code_version=once_live,
    )


@GROUP.verb(
    "plan",
    exits=(4,),
    examples=(
        "remand dlq redrive plan --template payments/order --canary 1,10",
        "remand dlq redrive plan --group 7be301 --rate 20 --json",
        "remand dlq redrive plan --all",
    ),
)
@with_options(letters=options.named, chosen=options.chosen, how=_procedure)
def plan(
    cli: Cli,
    letters: tuple[UUID, ...],
    chosen: LetterFilter,
    how: Options,
    *,
    all: options.All = False,
    reason: Reason = None,
    by: By = None,
) -> None:
    """Fix the exact set of letters and say what to expect; nothing is done with any.

    Start it within a day: remand dlq redrive start --plan REDRIVE.
    """
    made = engine.plan(cli.engine, replace(chosen, ids=letters), cli.who(by, reason), how, everything=all)
    _show_plan(cli, made, next_steps(command("remand dlq redrive start --plan", made.redrive.id)))


@GROUP.verb(
    "start",
    exits=(4, 5),
    examples=(
        'remand dlq redrive start --template payments/order --canary 1,10 --reason "gateway is up again"',
        'remand dlq redrive start --group 7be301 --rate 20 --yes --reason "fixed in 2.4"',
        'cat letters.txt | remand dlq redrive start - --yes --reason "checked by hand"',
        "remand dlq redrive start --plan 51c09e",
        "remand dlq redrive start --all --dry-run",
    ),
)
@with_options(letters=options.named, chosen=options.chosen, how=_procedure)
def start(
    cli: Cli,
    letters: tuple[UUID, ...],
    chosen: LetterFilter,
    how: Options,
    *,
    planned: Planned = None,
    all: options.All = False,
    dry_run: OnlyPlan = False,
    yes: Yes = False,
    reason: Reason = None,
    by: By = None,
) -> None:
    """Plan, show scope and forecast, ask, and start: acts on exactly the letters that were shown.

    A reason is needed: it is recorded with every letter.
    """
    if planned is not None:
        redrive = engine.find(cli.engine, planned)
        _warn(cli, engine.forecast(cli.engine, redrive.id))
        _started(cli, engine.start(cli.engine, redrive.id, _with_reason(cli, by, reason or redrive.reason)))
        return
    made = engine.plan(cli.engine, replace(chosen, ids=letters), cli.who(by, reason), how, everything=all)
    if dry_run:
        _show_plan(cli, made)
        return
    who = _with_reason(cli, by, reason)
    if yes:
        _warn(cli, made.forecast)
    else:
        _ask(cli, made)
    _started(cli, engine.start(cli.engine, made.redrive.id, who))


def _with_reason(cli: Cli, by: str | None, reason: str | None) -> Who:
    if not (reason or "").strip():
        raise InputInvalid("why? a redrive needs a reason", hint='--reason "the gateway is up again"')
    return cli.who(by, reason)


def _show_plan(cli: Cli, made: Plan, *then: Text) -> None:
    value = {"redrive": made.redrive, "forecast": made.forecast.to_dict()}
    cli.out.answer(value, *shown.planned(made), *((Text(), *then) if then else ()))


def _ask(cli: Cli, made: Plan) -> None:
    for part in shown.planned(made):
        cli.out.errors.print(part)
    if not sys.stdin.isatty():
        raise InputInvalid(
            "nobody can be asked here whether this is meant", hint="say --yes, or look first: --dry-run"
        )
    verb = made.redrive.verb.replace("_", " ")
    typer.confirm(f"{verb} {made.redrive.waiting} letters?", abort=True, err=True)


def _warn(cli: Cli, forecast: Forecast) -> None:
    """Say what speaks against it though nobody is asked."""
    for part in shown.warnings(forecast):
        cli.out.errors.print(part)


def _started(cli: Cli, redrive: Redrive) -> None:
    _answer(cli, redrive, command("remand dlq redrive status --watch", short(redrive.id)))


def _answer(cli: Cli, redrive: Redrive, *then: Text) -> None:
    cli.out.answer(
        redrive,
        Text.assemble(f"redrive {redrive.id}: ", state(redrive.state), f" · {shown.line(redrive)}"),
        *([next_steps(*then)] if then else []),
    )


@GROUP.verb(
    "status",
    exits=(4,),
    examples=("remand dlq redrive status 51c09e", "remand dlq redrive status 51c09e --watch"),
)
def status(
    cli: Cli,
    redrive: RedriveId,
    watch: Annotated[bool, typer.Option("--watch", help="Until it stands still or is over.")] = False,
) -> None:
    """Show how far a redrive is, how fast it goes, and what failed again."""
    stored = engine.find(cli.engine, redrive)
    if watch:
        _watch(cli, stored.id)
    progress = engine.progress(cli.engine, stored.id)
    cli.out.answer(progress.to_dict(), *shown.standing(progress))


def _watch(cli: Cli, redrive_id: UUID) -> None:
    last = ""
    while True:
        redrive = engine.get(cli.engine, redrive_id)
        line = f"{redrive.state} · {shown.line(redrive)}"
        if line != last:
            cli.out.say(line, style="dim")
            last = line
        if redrive.state not in ACTIVE:
            return
        time.sleep(LOOK_SECONDS)


@GROUP.verb("list", examples=("remand dlq redrive list", "remand dlq redrive list --state running --json"))
def list_(
    cli: Cli,
    states: Annotated[
        list[RedriveState] | None,
        typer.Option("--state", help="Only these; repeatable. Default: all but plans."),
    ] = None,
    after: After = None,
    limit: Limit = 50,
) -> None:
    """List redrives, newest first."""
    page = engine.list_page(
        cli.engine, states=[str(state) for state in states or ()], after=after, limit=limit
    )
    cli.out.answer_page(page, shown.listing(page.items) if page.items else "no redrives")


@GROUP.verb(
    "items",
    exits=(4,),
    examples=("remand dlq redrive items 51c09e --state failed", "remand dlq redrive items 51c09e --json"),
)
def items(
    cli: Cli,
    redrive: RedriveId,
    states: Annotated[
        list[ItemState] | None, typer.Option("--state", help="Only these; repeatable. Default: all.")
    ] = None,
    after: After = None,
    limit: Limit = 100,
) -> None:
    """Show what became of each letter, with the reason."""
    stored = engine.find(cli.engine, redrive)
    page = engine.items_page(
        cli.engine, stored.id, states=[str(state) for state in states or ()], after=after, limit=limit
    )
    cli.out.answer_page(page, shown.item_table(page.items) if page.items else "no such letters")


def _find(cli: Cli, redrive: str) -> Target:
    return Target((engine.find(cli.engine, redrive).id,))


make_commands(
    GROUP,
    "redrive",
    takes=[("redrive", RedriveId)],
    find=_find,
    answer=lambda cli, did: _answer(cli, did.value),
)
