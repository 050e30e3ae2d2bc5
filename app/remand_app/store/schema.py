"""The schema as a whole: migrate it, and refuse to work with one that this code does not know."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import sqlalchemy as sa

from remand_app.domain.errors import InputInvalid, SchemaMissing, SchemaTooNew, SchemaTooOld
from remand_app.store import suitability
from remand_app.store.database import Database
from remand_app.store.tables import SCHEMA
from remand_migrations.order import VERSION_TABLE, VERSIONS, is_before, revisions

if TYPE_CHECKING:
    from remand_migrations.plan import Planned

Plan: TypeAlias = "list[Planned]"


@dataclass(frozen=True, slots=True)
class SchemaState:
    """The schema of a database."""

    revision: str
    serves: str | None = None
    """The oldest code that goes on beside it; None: the schema is older than that word."""

    def suits(self, known: Collection[str]) -> bool:
        """Return whether code that knows these revisions goes on beside it."""
        return self.revision in known or self.serves in known


def head(places: tuple[Path, ...] = (VERSIONS,)) -> str:
    """Return the newest revision this code knows."""
    return revisions(places)[-1]


def resolve(revision: str, places: tuple[Path, ...] = (VERSIONS,)) -> str | None:
    """Return the revision that a name means: "head", "base" (None: no schema), or a revision of this code.

    Raises:
        InputInvalid: this code has no such revision.
    """
    if revision in ("head", "base"):
        return head(places) if revision == "head" else None
    if revision not in revisions(places):
        raise InputInvalid(
            f"there is no revision {revision!r}",
            hint=f"known are head, base, {', '.join(reversed(revisions(places)))}",
        )
    return revision


def current(database: Database) -> str | None:
    """Return the revision of the database, None when there is no schema."""
    with database.begin() as connection:
        return current_of(connection)


def migrate(
    database: Database,
    revision: str = "head",
    *,
    say: Callable[[str], None] = lambda _: None,
    places: tuple[Path, ...] = (VERSIONS,),
) -> None:
    """Bring the schema to a revision; two at once run one after the other.

    Transaction: one for each revision. A schema that is newer than this code, and serves it, stays as it is,
    unless a revision is named. `say` gets a line for each step; `places`: the folders of all revisions, to
    rehearse one.

    Raises:
        SchemaTooNew: the database is ahead of this code.
        DatabaseUnsuited: it could not hold every text, or the server is too old.
        RightMissing: the role may not create or change it.
        Busy: others held its tables for minutes.
    """
    from remand_migrations import runner  # noqa: PLC0415 - Alembic costs more than all else a command needs

    suitability.check(database)
    if goes_on_beside(database, revision, places):
        return
    target = resolve(revision, places)
    with database.session() as connection:
        runner.run(connection, current_of, target, say, places)


def plan(database: Database, revision: str = "head", places: tuple[Path, ...] = (VERSIONS,)) -> Plan:
    """Return what `migrate` would run, in order, and what it locks. Raises as `migrate`. Transaction: own."""
    from remand_migrations import plan as plans  # noqa: PLC0415 - as above

    if goes_on_beside(database, revision, places):
        return []
    target = resolve(revision, places)
    with database.begin() as connection:
        return plans.plan(connection, current_of(connection), target, places)


def goes_on_beside(database: Database, revision: str, places: tuple[Path, ...] = (VERSIONS,)) -> bool:
    """Return whether the database is newer than this code but this code can still work with it.

    Raises:
        SchemaTooNew: the code must be upgraded.
    """
    with database.begin() as connection:
        state = state_of(connection)
    if state is None or state.revision in revisions(places):
        return False
    if revision != "head" or not state.suits(revisions(places)):
        raise _too_new(state, head(places))
    return True


def current_of(connection: sa.Connection) -> str | None:
    """Return the revision as seen by a connection, None when there is no schema."""
    state = state_of(connection)
    return None if state is None else state.revision


def state_of(connection: sa.Connection) -> SchemaState | None:
    """Return what the database says of its schema, None when there is none. Transaction: joins."""
    if connection.scalar(sa.text("select to_regclass('remand.schema_version')")) is None:
        return None
    # By its name in the row: revisions before 0003 have no such column.
    row = connection.execute(
        sa.text(
            f"""
            select version_num, to_jsonb(version) -> 'serves' ->> -1 as serves
              from {SCHEMA}.{VERSION_TABLE} version
            """
        )
    ).first()
    return None if row is None else SchemaState(row.version_num, row.serves)


def check(database: Database) -> str:
    """Make sure that code and schema fit; return the schema's revision, which may be newer.

    Raises:
        SchemaMissing: nothing was migrated yet.
        SchemaTooOld: the database must be migrated.
        SchemaTooNew: the code must be upgraded.
        DatabaseUnsuited: the database could not hold every text.
    """
    suitability.check(database)
    with database.begin() as connection:
        state = state_of(connection)
    if state is None:
        raise SchemaMissing("the database has no schema 'remand'", hint="run: remand migrate")
    if not state.suits(revisions()):
        raise _too_new(state, head())
    if is_before(state.revision, head()):
        raise SchemaTooOld(
            f"the database is at revision {state.revision}, this code needs {head()}",
            hint="run: remand migrate",
        )
    return state.revision


def _too_new(state: SchemaState, newest: str) -> SchemaTooNew:
    return SchemaTooNew(
        f"the database is at revision {state.revision}, which this code (up to {newest}) does not know",
        hint="upgrade Remand on this machine, or point it at another database",
    )
