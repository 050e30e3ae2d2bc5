"""`remand breaker`: list, show, open, close, reset. A breaker holds work back while a dependency is down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.text import Text

from app.cli.context import Cli, Group
from app.cli.render.output import age, ahead, facts, now, span, state, table
from app.cli.render.wording import command, counted, next_steps
from app.cli.verb_commands import Done, Target, make_commands
from app.domain.page import Page
from app.domain.states import BreakerState
from app.resources import breakers
from app.resources.breakers import Breaker, BreakerChanged, BreakerShown, PastMove

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
    found = breakers.breakers(cli.engine, unmoved=all)
    cli.out.answer_page(
        Page.whole(found),
        *([_listing(found)] if found else []),
        *([] if any(one.is_gating for one in found) else [_all_closed()]),
    )


def _listing(found: Sequence[Breaker]) -> RenderableType:
    at = now()
    return table(
        "name", "state", "for", "next", "failed", "held", "reason",
        rows=[
            (
                one.name,
                state(_stands(one)),
                age(one.state_since, at),
                _next(one),
                f"{one.failures} of {one.attempts}" if one.attempts else "",
                str(one.held or ""),
                one.reason or "",
            )
            for one in found
        ],
    )  # fmt: skip


def _all_closed() -> Text:
    return Text.assemble(("all closed", "green"), ": no dependency is held back; --all lists those watched")


def _stands(one: Breaker) -> str:
    return "releasing" if one.is_gating and one.state is BreakerState.CLOSED else str(one.state)


def _next(one: Breaker) -> str:
    match one.state:
        case BreakerState.OPEN:
            return "closed by hand" if one.probe_at is None else f"probe {ahead(one.probe_at)}"
        case BreakerState.HALF_OPEN:
            return f"{counted(one.passed, 'probe')} out" if one.passed else "a probe, once there is work"
        case BreakerState.CLOSED:
            return f"{one.release_per_second:g}/s go out" if one.release_per_second else ""


@GROUP.verb("show", exits=(4,), examples=("remand breaker show payments-api",))
def show(cli: Cli, name: BreakerName) -> None:
    """Show a breaker: its rules, what it counted, what it holds, its last moves with who and why."""
    one = breakers.show_breaker(cli.engine, name)
    cli.out.answer(
        one,
        _heading(one),
        *([Text(), _moves(one.moves)] if one.moves else []),
        *_what_next(one),
    )


def _heading(one: BreakerShown) -> RenderableType:
    window = span(one.settings["window_seconds"])
    since = (
        f" for {age(one.state_since)}, by {one.by}: {one.reason or 'no reason given'}"
        if one.state_since is not None
        else ": it never moved"
    )
    return facts(
        [
            ("breaker", one.name),
            ("state", Text.assemble(state(_stands(one)), since)),
            ("next", _next(one)),
            ("counted", f"{one.failures} of {counted(one.attempts, 'attempt')} failed within {window}"),
            ("holds", counted(one.held, "step") if one.held else None),
            ("let through", f"{counted(one.passed, 'step')} not ended yet" if one.passed else None),
            *_rules(one.settings, window),
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
                f"{age(one.at, at)} ago",
                one.event,
                state(one.from_state),
                state(one.to_state),
                one.by,
                one.reason or "",
            )
            for one in moves
        ],
    )  # fmt: skip


def _what_next(one: Breaker) -> list[RenderableType]:
    if not one.is_gating:
        return []
    verb = "reset" if one.state is BreakerState.CLOSED else "close"
    return [Text(), next_steps(command(f"remand breaker {verb}", one.name))]


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
            seconds = did.given.get("seconds")
            return "until it is closed by hand" if seconds is None else f"a probe in {span(seconds)}"
        case "close":
            rate = breakers.find_breaker(cli.engine, did.value.name).release_per_second
            told = "was closed already" if did.value.before is did.value.after else "it holds nothing"
            return f"{rate:g} steps a second go out" if rate else told
        case _:
            return "what it held is out"


make_commands(GROUP, "breaker", takes=[("name", BreakerName)], find=_find, answer=_answer)
