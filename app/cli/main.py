"""Entry point of `remand`: puts the nouns together and turns what went wrong into an exit code."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from app import __version__
from app.cli import (
    archive,
    audit,
    breaker,
    classify,
    config,
    dead_queue,
    demo,
    demo_outage,
    dlq_verbs,
    doctor,
    letter_figures,
    letter_groups,
    migrate,
    notify,
    partitions,
    queue,
    redrive,
    retention,
    serve,
    server,
    stale,
    step,
    submit,
    sweeps,
    template,
    token,
    up,
    user,
    workflow_verbs,
)
from app.cli.context import EXPLAIN, ROOT, RUN, WORK, Globals
from app.cli.line import run
from app.telemetry import configure_logging

app = ROOT.app
for _noun, _panel in (
    (workflow_verbs, WORK),
    (step, WORK),
    (dlq_verbs, WORK),
    (queue, WORK),
    (breaker, WORK),
    (template, WORK),
    (user, RUN),
    (token, RUN),
    (partitions, RUN),
    (archive, RUN),
    (notify, RUN),
    (config, EXPLAIN),
    (audit, EXPLAIN),
):
    app.add_typer(_noun.GROUP.app, rich_help_panel=_panel)
dlq_verbs.GROUP.app.add_typer(redrive.GROUP.app, name="redrive")
dlq_verbs.GROUP.app.add_typer(dead_queue.GROUP.app, name="queue")
dlq_verbs.GROUP.app.add_typer(letter_groups.GROUP.app, name="group")
_COMMANDS_OF_THE_ROOT = (
    up, demo, demo_outage, submit, migrate, server, serve, letter_figures, sweeps, stale, retention, doctor,
    classify,
)  # fmt: skip
_ORDER = (
    "up", "demo", "demo-outage", "submit", "migrate", "worker", "beat", "serve", "top", "sweeps", "stale",
    "retention", "doctor", "classify",
)  # fmt: skip
app.registered_commands.sort(key=lambda one: _ORDER.index(one.name or ""))


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
