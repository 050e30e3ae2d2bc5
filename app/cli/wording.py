"""Own the sentences that several nouns say: what a workflow waits for, and what to do next."""

from __future__ import annotations

from uuid import UUID

from rich.text import Text

from app.cli.output import short, state
from app.engine.operate import Decided


def command(*words: object) -> Text:
    """Return a command line as a person would type it."""
    return Text(" ".join(str(word) for word in words), style="bold cyan")


def next_steps(*lines: Text) -> Text:
    """Return the commands that make sense now, one a line."""
    return Text("\n").join(Text.assemble(("→ ", "bold"), line) for line in lines)


def decided(what: str, answer: Decided) -> Text:
    """Return what a verb did."""
    if not answer.changed:
        return Text.assemble(f"{what}: ", state(str(answer.before)), ", as it was")
    closed = f" · closed dead letter {short(answer.closed_letter)}" if answer.closed_letter else ""
    return Text.assemble(f"{what}: ", state(str(answer.before)), " → ", state(str(answer.after)), closed)


def follow(workflow_id: UUID) -> Text:
    """Return how to follow a workflow that goes on."""
    return next_steps(command("remand workflow wait", short(workflow_id)))
