"""Run one command line in this process: for the entry point, and for the demo, which shows the commands."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from typing import Any

import typer

from remand_app.cli import errors
from remand_app.cli.exits import BROKEN_PIPE, INTERRUPTED
from remand_app.cli.root import app
from remand_app.cli.streams import OutputLost, ReaderGone, show_lost
from remand_app.domain.printable import printable

USAGE_ERROR: Any = typer.BadParameter.__mro__[2]
"""The base of all usage errors; typer does not export it."""


def run(arguments: Sequence[str], *, owns_process: bool = False) -> int:
    """Run one command line and return its exit code; `owns_process`: it is all that this process does."""
    try:
        return _run(arguments, owns_process=owns_process)
    except ReaderGone:
        return BROKEN_PIPE
    except OutputLost as lost:
        show_lost(lost)
        return 1


def _run(arguments: Sequence[str], *, owns_process: bool) -> int:
    as_json = "--json" in arguments
    try:
        code = app(args=list(arguments), prog_name="remand", standalone_mode=False, obj=owns_process)
    except USAGE_ERROR as error:
        return _usage(error, as_json=as_json)
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except (ReaderGone, OutputLost):
        raise
    except Exception as error:  # noqa: BLE001 - the door: whatever a bug raises is shown, with an exit code
        from remand.redact import redact_text

        sys.stderr.write(printable(redact_text(traceback.format_exc())))
        message = f"{type(error).__name__}: {error}"
        errors.show("INTERNAL", message, "this is a bug: please report it", {}, as_json=as_json)
        return 1
    return code if isinstance(code, int) else 0


def _usage(error: Any, *, as_json: bool) -> int:
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        sys.stderr.write(f"{error.format_message()}\n")
        return int(error.exit_code)
    path = context.command_path if context is not None else "remand"
    errors.show("USAGE", error.format_message(), f"see: {path} --help", {}, as_json=as_json)
    return int(error.exit_code)
