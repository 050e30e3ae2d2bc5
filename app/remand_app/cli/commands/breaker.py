"""`remand breaker`: list, show, open, close, reset. A breaker holds work back while a dependency is down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.text import Text

from remand_app.cli.context import Cli, Group
from remand_app.cli.render.output import age, ahead, facts, now, span, state, table
from remand_app.cli.render.wording import command, counted, next_steps
from remand_app.cli.verb_commands import Done, Target, make_commands
from remand_app.domain.page import Page
from remand_app.domain.states import BreakerState
from remand_app.resources import breakers
from remand_app.resources.breakers import Breaker, BreakerChanged, BreakerShown, PastMove

GROUP = Group("breaker", "See which dependencies are down, hold their work back, or let it go.")
BreakerName = Annotated[
    str, typer.Argument(metavar="NAME", help="The dependency, as `remand breaker list --all` shows it.")
]


@GROUP.verb(
    "list", examples=("remand breaker list", "remand breaker list --all", "remand breaker list --json")
)
def list_(
    cli: Cli,
    all: Annotated[bool, typer.Option("--all", help="Dependencies whose breaker never moved, too.")] = False,
) -> None:
    """List the circuit breakers that ever moved: where each stands, what it counted and what it holds."""
    listed = breakers.breakers(cli.engine, unmoved=all)
    cli.out.answer_page(
        Page.whole(listed),
        *([_listing(listed)] if listed else []),
        *([] if any(breaker.is_gating for breaker in listed) else [_all_closed()]),
    )


def _listing(listed: Sequence[Breaker]) -> RenderableType:
    at = now()
    return table(
        "name", "state", "for", "next", "failed", "held", "reason",
        rows=[
            (
                breaker.name,
                state(_stands(breaker)),
                age(breaker.state_since, at),
                _next(breaker),
                f"{breaker.failures} of {breaker.attempts}" if breaker.attempts else "",
                str(breaker.held or ""),
                breaker.reason or "",
            )
            for breaker in listed
        ],
    )  # fmt: skip


def _all_closed() -> Text:
    return Text.assemble(("all closed", "green"), ": no dependency is held back; --all lists those watched")


def _stands(breaker: Breaker) -> str:
    return "releasing" if breaker.is_gating and breaker.state is BreakerState.CLOSED else str(breaker.state)


def _next(breaker: Breaker) -> str:
    match breaker.state:
        case BreakerState.OPEN:
            return "closed by hand" if breaker.probe_at is None else f"probe {ahead(breaker.probe_at)}"
        case BreakerState.HALF_OPEN:
            return (
                f"{counted(breaker.passed, 'probe')} out" if breaker.passed else "a probe, once there is work"
            )
        case BreakerState.CLOSED:
            return f"{breaker.release_per_second:g}/s go out" if breaker.release_per_second else ""


@GROUP.verb("show", exits=(4,), examples=("remand breaker show payments-api",))
def show(cli: Cli, name: BreakerName) -> None:
    """Show a breaker: its rules, what it counted, what it holds, its last moves with who and why."""
    breaker = breakers.show_breaker(cli.engine, name)
    cli.out.answer(
        breaker,
        _heading(breaker),
        *([Text(), _moves(breaker.moves)] if breaker.moves else []),
        *_what_next(breaker),
    )


def _heading(breaker: BreakerShown) -> RenderableType:
    window = span(breaker.settings["window_seconds"])
    since = (
        f" for {age(breaker.state_since)}, by {breaker.by}: {breaker.reason or 'no reason given'}"
        if breaker.state_since is not None
        else ": it never moved"
    )
    return facts(
        [
            ("breaker", breaker.name),
            ("state", Text.assemble(state(_stands(breaker)), since)),
            ("next", _next(breaker)),
            (
                "counted",
                f"{breaker.failures} of {counted(breaker.attempts, 'attempt')} failed within {window}",
            ),
            ("holds", counted(breaker.held, "step") if breaker.held else None),
            ("let through", f"{counted(breaker.passed, 'step')} not ended yet" if breaker.passed else None),
            *_rules(breaker.settings, window),
        ]
    )


def _rules(settings: Mapping[str, Any], window: str) -> list[tuple[str, str]]:
    failures, ratio = settings["failures"], settings["failure_ratio"]
    opens = f"{failures} failures within {window}, {ratio:.0%} of the attempts or more"
    first, last = span(settings["cool_down_seconds"]), span(settings["cool_down_cap_seconds"])
    probes = counted(settings["probes"], "good probe")
    return [
        ("opens after", opens if settings["enabled"] else "nothing: its settings disable it"),
        ("counts", ", ".join(settings["categories"])),
        (
            "tries again",
            f"after {first}, doubled up to {last}; {probes} close{'s' if settings['probes'] == 1 else ''} it",
        ),
        ("lets out", f"{settings['release_per_second']:g} steps a second, doubled after every {window}"),
    ]


def _moves(moves: Sequence[PastMove]) -> RenderableType:
    at = now()
    return table(
        "at", "event", "from", "to", "by", "reason",
        rows=[
            (
                f"{age(move.at, at)} ago",
                move.event,
                state(move.from_state),
                state(move.to_state),
                move.by,
                move.reason or "",
            )
            for move in moves
        ],
    )  # fmt: skip


def _what_next(breaker: Breaker) -> list[RenderableType]:
    if not breaker.is_gating:
        return []
    verb = "reset" if breaker.state is BreakerState.CLOSED else "close"
    return [Text(), next_steps(command(f"remand breaker {verb}", breaker.name))]


def _find(_: Cli, name: str) -> Target:
    return Target((name,))


def _answer(cli: Cli, did: Done) -> None:
    changed: BreakerChanged = did.value
    before, after = state(changed.before), state(changed.after)
    then = [command("remand breaker close", changed.name)] if did.verb.name == "open" else []
    cli.out.answer(
        changed,
        Text.assemble(f"breaker {changed.name}: ", before, " → ", after, f" · {_told(cli, did)}"),
        *([next_steps(*then)] if then else []),
    )


def _told(cli: Cli, did: Done) -> str:
    match did.verb.name:
        case "open":
            seconds = did.arguments.get("seconds")
            return "until it is closed by hand" if seconds is None else f"a probe in {span(seconds)}"
        case "close":
            rate = breakers.find_breaker(cli.engine, did.value.name).release_per_second
            otherwise = "was closed already" if did.value.before is did.value.after else "it holds nothing"
            return f"{rate:g} steps a second go out" if rate else otherwise
        case _:
            return "what it held is out"


make_commands(GROUP, "breaker", takes=[("name", BreakerName)], find=_find, answer=_answer)
