"""`remand migrate`: bring the schema to a revision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from remand_app.cli.context import ROOT, RUN, Cli
from remand_app.cli.render.output import size, table
from remand_app.connections import database_of
from remand_app.engine.startup import await_database
from remand_app.resources.database import Database, schema, suitability


@ROOT.verb(
    "migrate",
    panel=RUN,
    examples=("remand migrate", "remand migrate --plan", "remand migrate --revision 0001"),
)
def migrate(
    cli: Cli,
    revision: Annotated[
        str, typer.Option("--revision", help="Where to go; `base` removes everything.")
    ] = "head",
    dry: Annotated[bool, typer.Option("--dry", help="Say what would happen, change nothing.")] = False,
    plan: Annotated[
        bool, typer.Option("--plan", help="Say of each revision what it does and locks, change nothing.")
    ] = False,
) -> None:
    """Create or upgrade the schema `remand` in the database. Safe to repeat and to run twice at once."""
    database = Database(database_of(cli.given))
    try:
        is_dry = dry or plan
        await_database(database, cli.given, writes=not is_dry)
        suitability.check(database)
        before = schema.current(database)
        target = before if schema.goes_on_beside(database, revision) else schema.resolve(revision)
        planned = schema.plan(database, revision) if plan else None
        if not is_dry:
            schema.migrate(database, revision, say=cli.out.say)
    finally:
        database.dispose()
    answer: dict[str, object] = {
        "from": before, "to": target, "changed": before != target and not is_dry, "dry": is_dry,
    }  # fmt: skip
    if planned is not None:
        answer["plan"] = planned
    cli.out.answer(answer, *_plan_lines(planned or []), _line(before, target, dry=is_dry))


def _plan_lines(planned: schema.Plan) -> Iterator[RenderableType]:
    for revision in planned:
        where = "in a transaction" if revision.in_transaction else "beside live work, without a transaction"
        yield Text(f"{revision.revision}  {revision.does}")
        if revision.is_undone:
            yield Text(f"      is undone, {where}; stop the code that needs it before")
            continue
        yield Text(f"      {where}; code of {revision.serves} and later goes on beside it")
        rows = [(lock.table, lock.mode, f"{lock.rows}", size(lock.bytes)) for lock in revision.locks or ()]
        if rows:
            yield table("locks", "mode", "rows, about", "size", rows=rows)
        else:
            yield Text("      locks nothing that is there")


def _line(before: str | None, target: str | None, *, dry: bool) -> str:
    if before == target:
        return f"the schema is at revision {target or 'none'} already"
    verb = "would go" if dry else "went"
    return f"the schema {verb} from revision {before or 'none'} to {target or 'none'}"
