"""A database that refuses what a test says, as somebody's trigger or a broken block would."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from remand_app.store.database import Database


@contextmanager
def refusing(database: Database, event: str, workflow_id: UUID) -> Iterator[None]:
    """Refuse an event on a table, such as "update on remand.steps", for the rows of one workflow."""
    database.call(
        "create function remand.refuse() returns trigger language plpgsql as $$ begin"
        f" if new.workflow_id = '{workflow_id}' then raise exception 'no such luck'; end if;"
        " return new; end $$;"
        f" create trigger refuse before {event} for each row execute function remand.refuse()"
    )
    try:
        yield
    finally:
        database.call("drop function remand.refuse cascade")
