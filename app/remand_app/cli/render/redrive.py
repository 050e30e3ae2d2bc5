"""How redrives look on a terminal: what a plan promises, how far one is, what became of each letter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from rich.console import RenderableType
from rich.text import Text

from remand_app.cli.render.output import age, facts, now, short, short_ids, span, state, table
from remand_app.cli.render.wording import counted
from remand_app.domain.redrive import Item, NewError, Redrive
from remand_app.engine.redrive import Forecast, Plan, Progress, Wait


def planned(plan: Plan) -> list[RenderableType]:
    """Return scope, options and forecast of a plan."""
    redrive = plan.redrive
    left_out = [
        counted(number, word)
        for number, word in ((redrive.skipped, "letter left out"), (redrive.not_found, "id not found"))
        if number
    ]
    return [
        facts(
            [
                ("redrive", str(redrive.id)),
                ("scope", redrive.described),
                ("letters", " · ".join([str(redrive.waiting), *left_out])),
                ("verb", redrive.verb.replace("_", " ")),
                *_options(redrive),
                ("expected", _expected(plan.forecast)),
            ]
        ),
        Text(),
        _groups(plan.forecast),
        *_against(plan.forecast),
    ]


def warnings(forecast: Forecast) -> list[RenderableType]:
    """Return what speaks against a plan; nothing where nothing does."""
    return [] if all(check.is_fine for check in forecast.checks) else _against(forecast)


def _options(redrive: Redrive) -> list[tuple[str, str | None]]:
    canary = " then ".join(map(str, redrive.canary))
    begins = [
        *([f"at {redrive.not_before:%Y-%m-%d %H:%M:%S} UTC"] if redrive.not_before else []),
        *([f"once every live worker runs {redrive.code_version}"] if redrive.code_version else []),
    ]
    return [
        ("begins", " and ".join(begins) or None),
        ("canary", f"{canary}, {redrive.success_share:.0%} must succeed" if canary else None),
        ("rate", f"{redrive.rate_per_second:g} a second" if redrive.rate_per_second else None),
        ("queue", redrive.queue),
        ("priority", None if redrive.priority is None else str(redrive.priority)),
        ("claimed", "those of others, too" if redrive.include_claimed else None),
    ]


def _expected(forecast: Forecast) -> str:
    share = forecast.expected_share
    return "nothing like it was requeued before" if share is None else f"{share:.0%} by past requeues"


def _groups(forecast: Forecast) -> RenderableType:
    ends = short_ids(group.group_id for group in forecast.groups)
    return table(
        "group", "letters", "requeued before", "step", "error",
        rows=[
            (
                ends[group.group_id],
                str(group.letters),
                "–" if group.share is None else f"{group.succeeded} of {group.succeeded + group.failed} well",
                group.step,
                group.error.partition("\n")[0],
            )
            for group in forecast.groups
        ],
        folds=False,
    )  # fmt: skip


def _against(forecast: Forecast) -> list[RenderableType]:
    against = [check for check in forecast.checks if not check.is_fine]
    if not against:
        asked = f"{len(forecast.checks)} questions" + _sampled(forecast)
        return [Text(f"\nnothing speaks against it ({asked})", style="green")]
    lines: list[RenderableType] = [Text(f"\nwhat speaks against it{_sampled(forecast)}", style="bold")]
    for check in against:
        lines.append(Text(f"  {check.question} not {check.against} of {check.asked}", style="yellow"))
        lines += [
            Text(f"    {short(example.letter_id)} {example.why.partition(chr(10))[0]}")
            for example in check.examples
        ]
    return lines


def _sampled(forecast: Forecast) -> str:
    if forecast.sampled >= forecast.letters:
        return ""
    return f"; inputs and workflows of a sample of {forecast.sampled}"


def standing(progress: Progress) -> list[RenderableType]:
    """Return where a redrive stands."""
    redrive, at = progress.redrive, now()
    share = progress.success_share
    return [
        facts(
            [
                ("redrive", str(redrive.id)),
                ("state", Text.assemble(state(redrive.state), f" for {age(redrive.state_since, at)}")),
                ("why", redrive.stop_reason),
                ("scope", redrive.described),
                ("verb", redrive.verb.replace("_", " ")),
                (
                    "started",
                    f"{age(redrive.started_at, at)} ago by {redrive.started_by}"
                    if redrive.started_at
                    else None,
                ),
                ("reason", redrive.reason),
                *_options(redrive),
                ("letters", line(redrive)),
                ("succeed", None if share is None else f"{share:.0%} of those ended"),
                ("goes", _pace(progress)),
            ]
        ),
        *_waits(progress.waits),
        *_errors(progress.new_errors),
    ]


def _waits(waits: Sequence[Wait]) -> list[RenderableType]:
    if not waits:
        return []
    at = now()
    lines: list[RenderableType] = [Text("\nit waits", style="bold")]
    for wait in waits:
        due = None if wait.until is None or wait.then is None else _when(wait.then, wait.until, at)
        lines.append(
            Text(f"  {counted(wait.letters, 'letter')}: " + "; ".join(filter(None, (wait.why, due))))
        )
        if wait.verb:
            lines.append(Text(f"    {wait.verb}", style="cyan"))
    return lines


def _when(then: str, until: datetime, at: datetime) -> str:
    return f"{then} at the next sweep" if until <= at else f"{then} in {span((until - at).total_seconds())}"


def _pace(progress: Progress) -> str | None:
    if progress.eta_seconds is None:
        return None
    return f"{progress.per_second:.1f} a second, the last one in {span(progress.eta_seconds)}"


def _errors(errors: Sequence[NewError]) -> list[RenderableType]:
    if not errors:
        return []
    return [
        Text("\nfailed again with", style="bold"),
        *(Text(f"  {error.count} × {error.error} (letter {short(error.letter_id)})") for error in errors),
    ]


def line(redrive: Redrive) -> str:
    """Return the counts of a redrive in one line."""
    counts = (
        (redrive.waiting, "waiting"),
        (redrive.sent, "sent"),
        (redrive.succeeded, "succeeded"),
        (redrive.failed, "failed"),
        (redrive.skipped, "skipped"),
        (redrive.not_found, "not found"),
    )
    return f"{redrive.total}: " + (
        ", ".join(f"{number} {word}" for number, word in counts if number) or "none"
    )


def listing(redrives: Iterable[Redrive]) -> RenderableType:
    """Return redrives, one a line."""
    at, redrives = now(), list(redrives)
    ends = short_ids(redrive.id for redrive in redrives)
    return table(
        "id", "age", "state", "by", "verb", "letters", "scope",
        rows=[
            (
                ends[redrive.id],
                age(redrive.started_at or redrive.planned_at, at),
                state(redrive.state),
                redrive.started_by or redrive.planned_by,
                redrive.verb,
                line(redrive),
                redrive.described,
            )
            for redrive in redrives
        ],
    )  # fmt: skip


def item_table(items: Sequence[Item]) -> RenderableType:
    """Return letters of a redrive, one a line."""
    at = now()
    return table(
        "letter", "state", "age", "workflow", "reason",
        rows=[
            (
                str(item.letter_id),
                state(item.state),
                age(item.at, at),
                str(item.workflow_id or ""),
                item.reason or "",
            )
            for item in items
        ],
    )  # fmt: skip
