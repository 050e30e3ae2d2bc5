"""`remand serve`: check who could sign in and what the server needs, then become the server."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from remand_app.cli.commands.worker import environment_of
from remand_app.cli.context import ROOT, RUN, Cli
from remand_app.cli.dashboard_address import address_of
from remand_app.engine.access import check_reach
from remand_app.engine.startup import await_database, patiently


@ROOT.verb("serve", panel=RUN, examples=("remand serve", "remand serve --host 0.0.0.0 --port 8484"))
def serve(
    cli: Cli,
    host: Annotated[
        str | None, typer.Option("--host", help="Address to listen on. Default: web.host, which is loopback.")
    ] = None,
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65_535, help="Default: web.port; 0: any free one.")
    ] = None,
) -> None:
    """Run the server of the API (/api/v1) and the dashboard (/) in this process.

    Everybody has to sign in. Beyond loopback it listens only once there is a user or a token.
    """
    await_database(cli.unchecked.database, cli.settings, writes=False)
    runtime = patiently(lambda: cli.runtime, cli.settings)
    web = runtime.settings.web
    host, port = host or web.host, web.port if port is None else port
    check_reach(runtime.engine, host)
    if port:
        cli.out.say(f"API and dashboard on {address_of(host, port)}")
    environment = {
        **os.environ,
        **environment_of(cli.settings, cli.config),
        "REMAND_WEB__HOST": host,
        "REMAND_WEB__PORT": str(port),
    }
    cli.close()
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, serve_command(), environment)  # noqa: S606 - no shell is the point


def serve_command() -> list[str]:
    """Return the command line of a server of the settings in its environment."""
    # -P: an `app` of the user's in the working directory is not ours.
    return [sys.executable, "-P", "-m", "remand_app.server"]
