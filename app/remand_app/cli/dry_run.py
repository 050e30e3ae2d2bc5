"""`--dry-run` of the verbs: show what a verb would do. The verb's own code finds it out."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from rich.console import RenderableType
from rich.text import Text

from remand_app.cli.context import Cli
from remand_app.cli.render.output import short, state, table
from remand_app.engine import operate
from remand_app.engine.engine import Engine
from remand_app.engine.operate import Preview


def answer_dry_run(cli: Cli, workflow_id: UUID, verb: Callable[[Engine], object]) -> None:
    """Answer what a verb would do."""
    shown = operate.preview(cli.engine, workflow_id, verb)
    cli.out.answer({"dry_run": True, "workflow_id": workflow_id, **shown.to_dict()}, *_told(shown))


def _told(shown: Preview) -> list[RenderableType]:
    lines: list[RenderableType] = [
        Text.assemble("nothing was changed; it would go: workflow ", state(shown.before), " → ",
                      state(shown.after))
    ]  # fmt: skip
    if shown.changes:
        rows = [(change.step, state(change.before), state(change.after)) for change in shown.changes]
        lines.append(table("step", "now", "then", rows=rows))
    lines += [Text(text) for text in _further(shown)]
    return lines


def _further(shown: Preview) -> list[str]:
    lines = []
    if shown.runs_again:
        lines.append(f"would run: {', '.join(shown.runs_again)}")
    if shown.then:
        lines.append(f"if that goes well: {', '.join(shown.then)}")
    if shown.closes_letter is not None:
        lines.append(f"closes dead letter {short(shown.closes_letter)} as {shown.closed_as}")
    if shown.opens_letter is not None:
        lines.append(f"opens dead letter {short(shown.opens_letter)}")
    return lines
