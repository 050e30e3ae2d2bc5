"""The root of the command line: the options that may stand before a command."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

import remand_app as product
from remand_app.cli.verbs import ROOT
from remand_app.cli.words import GlobalOptions, Level

app = typer.Typer(
    name="remand",
    cls=Level,
    help=ROOT.about,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"remand {product.__version__}\n")
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
    ctx.obj = GlobalOptions(json, config, owns_process=bool(ctx.obj))
