"""`remand migrate`: bring the schema to a revision."""

from __future__ import annotations

from typing import Annotated

import typer

from app.cli.context import ROOT, RUN, Cli
from app.connections import database_of
from app.engine.startup import await_database
from app.store import schema, suitability
from app.store.session import Database


@ROOT.verb(
    "migrate",
    panel=RUN,
    examples=("remand migrate", "remand migrate --dry", "remand migrate --revision 0001"),
)
def migrate(
    cli: Cli,
    revision: Annotated[
        str, typer.Option("--revision", help="Where to go; `base` removes everything.")
    ] = "head",
    dry: Annotated[bool, typer.Option("--dry", help="Say what would happen, change nothing.")] = False,
) -> None:
    """Create or upgrade the schema `remand` in the database. Safe to repeat and to run twice at once."""
    database = Database(database_of(cli.given))
    try:
        await_database(database, cli.given, writes=not dry)
        suitability.check(database)
        before = schema.current(database)
        schema.check_not_newer(before)
        target = schema.resolve(revision)
        if not dry:
            schema.migrate(database, revision)
        told = {"from": before, "to": target, "changed": before != target and not dry, "dry": dry}
    finally:
        database.dispose()
    cli.out.answer(told, _line(before, target, dry=dry))


def _line(before: str | None, target: str | None, *, dry: bool) -> str:
    if before == target:
        return f"the schema is at revision {target or 'none'} already"
    verb = "would go" if dry else "went"
    return f"the schema {verb} from revision {before or 'none'} to {target or 'none'}"
