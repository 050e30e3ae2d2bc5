"""Show attempts: how each ended, how it was classified, what was decided and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from remand_app.cli.render.drawing import failure_line
from remand_app.cli.render.output import age, now, span, state, table
from remand_app.resources.steps import Attempt

Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Tracebacks, too.")]


def attempt_table(attempts: Sequence[Attempt]) -> RenderableType:
    """Return a line for each attempt."""
    at = now()
    return table(
        "attempts", "outcome", "started", "took", "failure", "policy", "then",
        rows=[
            (
                f"#{attempt.attempt}",
                state(attempt.outcome),
                f"{age(attempt.started_at, at)} ago" if attempt.started_at else "",
                _took(attempt),
                failure_line(attempt.failure) if attempt.failure else "",
                attempt.policy or "",
                _then(attempt),
            )
            for attempt in attempts
        ],
    )  # fmt: skip


def _took(attempt: Attempt) -> str:
    if attempt.started_at is None or attempt.ended_at is None:
        return ""
    return span(max(0.0, (attempt.ended_at - attempt.started_at).total_seconds()))


def _then(attempt: Attempt) -> str:
    match attempt.decision:
        case "retry" if attempt.due_at is not None and attempt.decided_at is not None:
            return f"again after {span(max(0.0, (attempt.due_at - attempt.decided_at).total_seconds()))}"
        case "dead":
            return "dead letter"
        case _:
            return ""


def explanations(attempts: Sequence[Attempt]) -> list[RenderableType]:
    """Return for each failed attempt which rule classified it, and what was decided why."""
    lines: list[RenderableType] = []
    for attempt in attempts:
        if attempt.failure is None:
            continue
        verdict = attempt.failure.classification
        lines.append(
            Text.assemble(
                (f"\n#{attempt.attempt} ", "bold"),
                f"{verdict.category} by rule {verdict.rule}: {verdict.explanation}",
            )
        )
        if attempt.explanation:
            lines.append(Text(f"   {attempt.explanation}", style="dim"))
    return lines


def traceback(attempt: Attempt) -> Text | None:
    """Return the traceback of a failed attempt."""
    if attempt.failure is None:
        return None
    return Text.assemble((f"\n#{attempt.attempt} traceback\n", "bold"), attempt.failure.traceback)
