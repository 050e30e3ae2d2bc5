"""Run one command line in this process: the entry point does, and the demo, which shows the verbs at work."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from typing import Any

import typer

from app.cli import errors
from app.cli.context import ROOT
from app.cli.output import Output

USAGE_ERROR: Any = typer.BadParameter.__mro__[2]
"""The base of all usage errors; typer does not export it."""


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    out = Output(as_json="--json" in arguments)
    try:
        code = ROOT.app(args=list(arguments), prog_name="remand", standalone_mode=False)
    except USAGE_ERROR as error:
        return _usage(error, out)
    except (typer.Abort, KeyboardInterrupt):
        return errors.INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the door: whatever a bug raises is shown, with an exit code
        traceback.print_exc()
        errors.show(
            "INTERNAL", f"{type(error).__name__}: {error}", "this is a bug: please report it", {}, out
        )
        return 1
    return code if isinstance(code, int) else 0


def _usage(error: Any, out: Output) -> int:
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        out.errors.print(error.format_message())
        return int(error.exit_code)
    path = context.command_path if context is not None else "remand"
    errors.show("USAGE", error.format_message(), f"see: {path} --help", {}, out)
    return int(error.exit_code)
