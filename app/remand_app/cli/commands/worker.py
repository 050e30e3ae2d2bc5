"""`remand worker` and `remand beat`: check what they need, then become Celery."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from remand_app.cli.celery_main import beat_command, worker_command
from remand_app.cli.context import ROOT, RUN, Cli
from remand_app.config import Settings
from remand_app.config.sources import CONFIG_VARIABLE
from remand_app.domain.errors import DatabaseUnreachable
from remand_app.domain.queues import BUILT_IN
from remand_app.engine.publish import publish
from remand_app.engine.startup import await_broker, await_database, patiently
from remand_app.resources.templates import queues_of
from remand_app.runtime import Runtime, import_handlers
from remand_app.telemetry import log


@ROOT.verb(
    "worker",
    panel=RUN,
    examples=(
        "remand worker",
        "remand worker --queues steps,gpu --concurrency 4",
        "remand worker --queues retry.exponential,retry.linear,retry.immediate,retry.never --name retries",
    ),
)
def worker(
    cli: Cli,
    queues: Annotated[
        str | None,
        typer.Option("--queues", help="Comma separated. Default: all built-in ones and those of templates."),
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option("--concurrency", min=1, help="Processes; default: CPUs.")
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", help="Node name, of this one alone on its host. Default: one is found."),
    ] = None,
) -> None:
    """Run a Celery worker in this process, after a check of settings, schema, broker and handlers."""
    await_database(cli.unchecked.database, cli.settings)
    runtime = patiently(lambda: cli.runtime, cli.settings)
    await_broker(runtime.engine.bell, cli.settings)
    import_handlers(cli.settings.handlers)
    patiently(lambda: publish(runtime.engine.templates, cli.settings.templates), cli.settings)
    wanted = (
        [queue.strip() for queue in queues.split(",") if queue.strip()] if queues else all_queues(runtime)
    )
    if not wanted:
        raise typer.BadParameter("--queues names no queue")
    cli.out.say(f"worker on queues {', '.join(wanted)}")
    command = worker_command(wanted, concurrency=concurrency, name=name, log_level=cli.settings.log_level)
    _become(cli, command)


@ROOT.verb("beat", panel=RUN, examples=("remand beat",))
def beat(cli: Cli) -> None:
    """Run Celery beat in this process: it rings the sweeps. Two at once are harmless, none is not.

    Database and broker may be away when it starts: it rings as soon as it can.
    """
    try:
        cli.unchecked.check_schema()
    except DatabaseUnreachable as error:
        log("beat.unsure", error=error.message)
    cli.out.say("beat rings the sweeps")
    _become(cli, beat_command(log_level=cli.settings.log_level))


def all_queues(runtime: Runtime) -> list[str]:
    """Return the built-in queues and the step queues of all published templates."""
    named = queues_of(published.template for published in runtime.engine.templates.listed())
    return list(dict.fromkeys([*BUILT_IN, *named]))


def environment_of(settings: Settings, config: Path | None) -> dict[str, str]:
    """Return what a child needs to come to the same settings."""
    environment = {}
    if settings.database_url is not None and settings.broker_url is not None:
        environment = {
            "REMAND_DATABASE_URL": settings.database_url,
            "REMAND_BROKER_URL": settings.broker_url,
        }
    if config is not None:
        environment[CONFIG_VARIABLE] = str(config.absolute())
    return environment


def _become(cli: Cli, command: Sequence[str]) -> None:
    environment: Mapping[str, str] = {**os.environ, **environment_of(cli.settings, cli.config)}
    cli.close()
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(command[0], list(command), dict(environment))  # noqa: S606 - no shell is the point
