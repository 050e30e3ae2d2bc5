"""Sentences that several nouns share: what a workflow waits for, and what to do next."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from rich.text import Text

from remand_app.cli.render.output import ahead, short, state

if TYPE_CHECKING:
    from remand_app.engine.operate import Decided


def command(*words: object) -> Text:
    """Return a command line as a person would type it."""
    return Text(" ".join(str(word) for word in words), style="bold cyan")


def next_steps(*lines: Text) -> Text:
    """Return the commands that make sense now, one a line."""
    return Text("\n").join(Text.assemble(("→ ", "bold"), line) for line in lines)


def counted(number: int, thing: str) -> str:
    """Return "1 step", "3 steps"."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def held_by(name: str, breaker_state: str | None, probe_at: datetime | None) -> str:
    """Return that a breaker keeps a step back, and until when."""
    match breaker_state:
        case "open" if probe_at is not None:
            return f"held by breaker {name} until {probe_at:%H:%M:%S} UTC ({ahead(probe_at)})"
        case "open":
            return f"held by breaker {name} until it is closed by hand"
        case "half_open":
            return f"held by breaker {name} until its probes have succeeded"
        case _:
            return f"held by breaker {name}, which lets go of what it held in turn"


def decided(what: str, answer: Decided) -> Text:
    """Return what a verb did."""
    if not answer.changed:
        return Text.assemble(f"{what}: ", state(str(answer.before)), ", as it was")
    closed = f" · closed dead letter {short(answer.closed_letter)}" if answer.closed_letter else ""
    return Text.assemble(f"{what}: ", state(str(answer.before)), " → ", state(str(answer.after)), closed)


def follow(workflow_id: UUID) -> Text:
    """Return how to follow a workflow that goes on."""
    return next_steps(command("remand workflow wait", short(workflow_id)))
