"""The schema as a whole: migrate it, and refuse to work with one that this code does not know."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import sqlalchemy as sa

import migrations
from app.domain.errors import InputInvalid, SchemaMissing, SchemaTooNew, SchemaTooOld
from app.store import suitability
from app.store.session import Database
from app.store.tables import SCHEMA

_PLACE = Path(migrations.__file__).parent


@cache
def _revisions() -> tuple[str, ...]:
    # Read off the files' names: Alembic costs more than all else a command needs.
    return tuple(sorted(path.name.partition("_")[0] for path in _PLACE.glob("versions/[0-9]*.py")))


def head() -> str:
    """Return the newest revision this code knows."""
    return _revisions()[-1]


def resolve(revision: str) -> str | None:
    """Return the revision that a name means: "head", "base" (None: no schema), or a revision of this code.

    Raises:
        InputInvalid: this code has no such revision.
    """
    if revision in ("head", "base"):
        return head() if revision == "head" else None
    if revision not in _revisions():
        raise InputInvalid(
            f"there is no revision {revision!r}",
            hint=f"known are head, base, {', '.join(reversed(_revisions()))}",
        )
    return revision


def current(database: Database) -> str | None:
    """Return the revision of the database, None when there is no schema."""
    with database.begin() as connection:
        return current_of(connection)


def migrate(database: Database, revision: str = "head") -> None:
    """Bring the schema to a revision; two at once wait for each other.

    Raises:
        SchemaTooNew: the database is ahead of this code.
        DatabaseUnsuited: it could not hold every text, or the server is too old.
        RightMissing: the role may not create or change it.
    """
    from alembic import command  # noqa: PLC0415 - see _revisions
    from alembic.config import Config  # noqa: PLC0415 - as above

    suitability.check(database)
    check_not_newer(current(database))
    config = Config()
    config.set_main_option("script_location", str(_PLACE))
    with database.begin() as connection:
        connection.execute(sa.text("select pg_advisory_xact_lock(hashtext('remand.migrate'))"))
        config.attributes["connection"] = connection
        if revision == "base" or revision < (current_of(connection) or ""):
            command.downgrade(config, revision)
        else:
            command.upgrade(config, revision)


def current_of(connection: sa.Connection) -> str | None:
    """Return the revision as seen by a connection, None when there is no schema."""
    if connection.scalar(sa.text("select to_regclass('remand.schema_version')")) is None:
        return None
    revision: str | None = connection.scalar(sa.text(f"select version_num from {SCHEMA}.schema_version"))
    return revision


def check(database: Database) -> None:
    """Make sure that code and schema fit.

    Raises:
        SchemaMissing: nothing was migrated yet.
        SchemaTooOld: the database must be migrated.
        SchemaTooNew: the code must be upgraded.
        DatabaseUnsuited: the database could not hold every text.
    """
    suitability.check(database)
    revision = current(database)
    if revision is None:
        raise SchemaMissing("the database has no schema 'remand'", hint="run: remand migrate")
    check_not_newer(revision)
    if revision != head():
        raise SchemaTooOld(
            f"the database is at revision {revision}, this code needs {head()}", hint="run: remand migrate"
        )


def check_not_newer(revision: str | None) -> None:
    """Refuse a revision that this code does not know.

    Raises:
        SchemaTooNew: the code must be upgraded.
    """
    if revision is not None and revision not in _revisions():
        raise SchemaTooNew(
            f"the database is at revision {revision}, which this code (up to {head()}) does not know",
            hint="upgrade Remand on this machine, or point it at another database",
        )
