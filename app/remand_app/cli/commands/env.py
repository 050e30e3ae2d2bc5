"""`remand env`: the settings that another program needs to reach this site, as shell assignments."""

from __future__ import annotations

import shlex

from remand_app.cli.context import ROOT, START, Cli
from remand_app.cli.dashboard_address import base_url
from remand_app.connections import with_urls


@ROOT.verb(
    "env",
    panel=START,
    examples=("remand env", "remand env > .env", "remand env --json"),
)
def env(cli: Cli) -> None:
    """Print where database and broker are, as `export` lines for a shell.

    With them in the environment a Celery app without a broker of its own, and so `remand.Client`, talks to
    this site; so do commands from another folder. Embedded servers keep their ports from start to start. The
    lines hold passwords.
    """
    settings = with_urls(cli.given)
    assert settings.database_url is not None
    assert settings.broker_url is not None
    values = {
        "REMAND_DATABASE_URL": settings.database_url,
        "REMAND_BROKER_URL": settings.broker_url,
        "CELERY_BROKER_URL": settings.broker_url,
    }
    address = base_url(settings)
    lines = [f"export {name}={shlex.quote(value)}" for name, value in values.items()]
    cli.out.answer_lines({**values, "dashboard_url": address}, [*lines, f"# API and dashboard: {address}"])
