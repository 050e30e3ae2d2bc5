"""Entry point of `remand`: puts the nouns together and turns what went wrong into an exit code."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from app import __version__
from app.cli import dlq, errors, migrate, server, step, submit, template, up, workflow
from app.cli.context import ROOT, Globals
from app.cli.output import Output
from app.telemetry import configure_logging

app = ROOT.app
for _noun in (workflow, step, dlq, template):
    app.add_typer(_noun.GROUP.app)
_COMMANDS_OF_THE_ROOT = (up, migrate, server, submit)

USAGE_ERROR: Any = typer.BadParameter.__mro__[2]
"""The base of all usage errors; typer does not export it."""


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"remand {__version__}\n")
        raise typer.Exit


@app.callback()
def _globals(
    ctx: typer.Context,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
    config: Annotated[Path | None, typer.Option("--config", metavar="PATH", help="Settings file.")] = None,
    version: Annotated[  # noqa: ARG001 - its callback does the work
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which version this is.")
    ] = False,
) -> None:
    ctx.obj = Globals(json, config)


def run(arguments: Sequence[str]) -> int:
    """Run one command line in this process and return its exit code."""
    out = Output(as_json="--json" in arguments)
    try:
        code = app(args=list(arguments), prog_name="remand", standalone_mode=False)
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


def main() -> None:
    """Run the command line of this process."""
    _prepare_process()
    sys.exit(run(sys.argv[1:]))


def _prepare_process() -> None:
    # What happened to the user's command is its answer; lines of the engine appear when something is wrong.
    configure_logging("WARNING")
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
    # A user's handlers are found in the working directory; last, so that they hide nothing of ours.
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)


def _usage(error: Any, out: Output) -> int:
    ctx = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        out.errors.print(error.format_message())
        return int(error.exit_code)
    path = ctx.command_path if ctx is not None else "remand"
    errors.show("USAGE", error.format_message(), f"see: {path} --help", {}, out)
    return int(error.exit_code)
