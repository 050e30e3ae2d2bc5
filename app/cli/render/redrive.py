"""How redrives look on a terminal: what a plan promises, how far one is, what became of each letter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from rich.console import RenderableType
from rich.text import Text

from app.cli.render.output import age, facts, now, short, short_ids, span, state, table
from app.cli.render.wording import counted
from app.domain.redrive import Item, NewError, Redrive
from app.engine.redrive import Forecast, Plan, Progress, Wait


def planned(plan: Plan) -> list[RenderableType]:
    """Return scope, options and forecast of a plan."""
    one = plan.redrive
    left_out = [
        counted(number, word)
        for number, word in ((one.skipped, "letter left out"), (one.not_found, "id not found"))
        if number
    ]
    return [
        facts(
            [
                ("redrive", str(one.id)),
                ("scope", one.described),
                ("letters", " · ".join([str(one.waiting), *left_out])),
                ("verb", one.verb.replace("_", " ")),
                *_options(one),
                ("expected", _expected(plan.forecast)),
            ]
        ),
        Text(),
        _groups(plan.forecast),
        *_against(plan.forecast),
    ]


def warnings(forecast: Forecast) -> list[RenderableType]:
    """Return what speaks against a plan; nothing where nothing does."""
    return [] if all(one.is_fine for one in forecast.checks) else _against(forecast)


def _options(one: Redrive) -> list[tuple[str, str | None]]:
    canary = " then ".join(map(str, one.canary))
    begins = [
        *([f"at {one.not_before:%Y-%m-%d %H:%M:%S} UTC"] if one.not_before else []),
        *([f"once every live worker runs {one.code_version}"] if one.code_version else []),
    ]
    return [
        ("begins", " and ".join(begins) or None),
        ("canary", f"{canary}, {one.success_share:.0%} must succeed" if canary else None),
        ("rate", f"{one.rate_per_second:g} a second" if one.rate_per_second else None),
        ("queue", one.queue),
        ("priority", None if one.priority is None else str(one.priority)),
        ("claimed", "those of others, too" if one.include_claimed else None),
    ]


def _expected(forecast: Forecast) -> str:
    share = forecast.expected_share
    return "nothing like it was requeued before" if share is None else f"{share:.0%} by past requeues"


def _groups(forecast: Forecast) -> RenderableType:
    ends = short_ids(one.group_id for one in forecast.groups)
    return table(
        "group", "letters", "requeued before", "step", "error",
        rows=[
            (
                ends[one.group_id],
                str(one.letters),
                "–" if one.share is None else f"{one.succeeded} of {one.succeeded + one.failed} well",
                one.step,
                one.error.partition("\n")[0],
            )
            for one in forecast.groups
        ],
        folds=False,
    )  # fmt: skip


def _against(forecast: Forecast) -> list[RenderableType]:
    found = [one for one in forecast.checks if not one.is_fine]
    if not found:
        asked = f"{len(forecast.checks)} questions" + _sampled(forecast)
        return [Text(f"\nnothing speaks against it ({asked})", style="green")]
    lines: list[RenderableType] = [Text(f"\nwhat speaks against it{_sampled(forecast)}", style="bold")]
    for one in found:
        lines.append(Text(f"  {one.question} not {one.against} of {one.asked}", style="yellow"))
        lines += [
            Text(f"    {short(each.letter_id)} {each.why.partition(chr(10))[0]}") for each in one.examples
        ]
    return lines


def _sampled(forecast: Forecast) -> str:
    if forecast.sampled >= forecast.letters:
        return ""
    return f"; inputs and workflows of a sample of {forecast.sampled}"


def standing(told: Progress) -> list[RenderableType]:
    """Return where a redrive stands."""
    one, at = told.redrive, now()
    share = told.success_share
    return [
        facts(
            [
                ("redrive", str(one.id)),
                ("state", Text.assemble(state(one.state), f" for {age(one.state_since, at)}")),
                ("why", one.stop_reason),
                ("scope", one.described),
                ("verb", one.verb.replace("_", " ")),
                ("started", f"{age(one.started_at, at)} ago by {one.started_by}" if one.started_at else None),
                ("reason", one.reason),
                *_options(one),
                ("letters", line(one)),
                ("succeed", None if share is None else f"{share:.0%} of those ended"),
                ("goes", _pace(told)),
            ]
        ),
        *_waits(told.waits),
        *_errors(told.new_errors),
    ]


def _waits(found: Sequence[Wait]) -> list[RenderableType]:
    if not found:
        return []
    at = now()
    lines: list[RenderableType] = [Text("\nit waits", style="bold")]
    for one in found:
        due = None if one.until is None or one.then is None else _when(one.then, one.until, at)
        lines.append(Text(f"  {counted(one.letters, 'letter')}: " + "; ".join(filter(None, (one.why, due)))))
        if one.verb:
            lines.append(Text(f"    {one.verb}", style="cyan"))
    return lines


def _when(then: str, until: datetime, at: datetime) -> str:
    return f"{then} at the next sweep" if until <= at else f"{then} in {span((until - at).total_seconds())}"


def _pace(told: Progress) -> str | None:
    if told.eta_seconds is None:
        return None
    return f"{told.per_second:.1f} a second, the last one in {span(told.eta_seconds)}"


def _errors(errors: Sequence[NewError]) -> list[RenderableType]:
    if not errors:
        return []
    return [
        Text("\nfailed again with", style="bold"),
        *(Text(f"  {one.count} × {one.error} (letter {short(one.letter_id)})") for one in errors),
    ]


def line(one: Redrive) -> str:
    """Return the counts of a redrive in one line."""
    counts = (
        (one.waiting, "waiting"),
        (one.sent, "sent"),
        (one.succeeded, "succeeded"),
        (one.failed, "failed"),
        (one.skipped, "skipped"),
        (one.not_found, "not found"),
    )
    return f"{one.total}: " + (", ".join(f"{number} {word}" for number, word in counts if number) or "none")


def listing(found: Iterable[Redrive]) -> RenderableType:
    """Return redrives, one a line."""
    at, found = now(), list(found)
    ends = short_ids(one.id for one in found)
    return table(
        "id", "age", "state", "by", "verb", "letters", "scope",
        rows=[
            (
                ends[one.id],
                age(one.started_at or one.planned_at, at),
                state(one.state),
                one.started_by or one.planned_by,
                one.verb,
                line(one),
                one.described,
            )
            for one in found
        ],
    )  # fmt: skip


def item_table(found: Sequence[Item]) -> RenderableType:
    """Return letters of a redrive, one a line."""
    at = now()
    return table(
        "letter", "state", "age", "workflow", "reason",
        rows=[
            (
                str(one.letter_id),
                state(one.state),
                age(one.at, at),
                str(one.workflow_id or ""),
                one.reason or "",
            )
            for one in found
        ],
    )  # fmt: skip
