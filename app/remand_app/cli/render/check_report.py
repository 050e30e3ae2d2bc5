"""How `doctor` and `config check` show the outcome of a check: one line, with what to do about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import typer
from rich.text import Text

from remand_app.cli.render.output import Output, state

Level = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found; `todo` says what to do, where there is something."""

    subject: str
    level: Level
    message: str
    todo: str = ""
    is_environment: bool = False
    """True for what must be right before anything can run: settings, servers, schema."""


def show(out: Output, findings: Sequence[Finding]) -> None:
    """Print the findings and end with their exit code: 0 good, 3 the environment fails, 1 else."""
    out.answer({"ok": not _failed(findings), "findings": findings}, *(_line(finding) for finding in findings))
    failed = _failed(findings)
    if failed:
        raise typer.Exit(3 if any(finding.is_environment for finding in failed) else 1)


def _failed(findings: Iterable[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.level == "fail"]


def _line(finding: Finding) -> Text:
    parts: list[Any] = [
        state(finding.level),
        " " * (6 - len(finding.level)),
        (f"{finding.subject:<12}", "bold"),
        finding.message,
    ]
    if finding.todo:
        parts += [("\n                  → ", "bold"), finding.todo]
    return Text.assemble(*parts)
