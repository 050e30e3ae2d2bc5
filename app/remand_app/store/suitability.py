"""Check that a database is fit for use: its encoding, its server's version, and that it takes writes."""

from __future__ import annotations

from dataclasses import dataclass

from remand_app.domain.errors import DatabaseReadOnly, DatabaseUnsuited
from remand_app.store.connect import address
from remand_app.store.database import Database

OLDEST_POSTGRES = 15
_LOOK = """
select current_setting('server_version'),
       current_setting('server_version_num')::int / 10000,
       pg_catalog.pg_encoding_to_char(database.encoding),
       database.datname,
       pg_catalog.pg_is_in_recovery(),
       current_setting('default_transaction_read_only') = 'on'
  from pg_catalog.pg_database database
 where database.datname = current_database()
"""


@dataclass(frozen=True, slots=True)
class Suitability:
    """What a server says of itself and of the database."""

    version: str
    major: int
    encoding: str
    name: str
    is_standby: bool
    is_read_only: bool
    """By a setting of role, database, server or URL."""


def look(database: Database) -> Suitability:
    """Ask the server. Transaction: own."""
    return Suitability(*database.call(_LOOK)[0])


def check(database: Database) -> Suitability:
    """Make sure that the schema can be kept there; return what was found.

    Raises:
        DatabaseUnsuited: the server is too old, or the database cannot store every text.
    """
    server = look(database)
    where = address(database.url).name
    if server.major < OLDEST_POSTGRES:
        raise DatabaseUnsuited(
            f"PostgreSQL {server.version} at {where} is too old", hint=f"use {OLDEST_POSTGRES} or newer"
        )
    if server.encoding != "UTF8":
        raise DatabaseUnsuited(
            f"the encoding of {where} is {server.encoding}: it cannot store every text, and must be UTF8",
            hint=f"make another, and name it in REMAND_DATABASE_URL: createdb --encoding=UTF8"
            f" --template=template0 {server.name}_utf8",
        )
    return server


def check_writable(database: Database) -> Suitability:
    """Make sure that the database is suited, and takes writes. Raises as `check`.

    Raises:
        DatabaseReadOnly: it only reads.
    """
    server = check(database)
    if not (server.is_standby or server.is_read_only):
        return server
    where = address(database.url).name
    if server.is_standby:
        raise DatabaseReadOnly(
            f"Postgres at {where} is a standby: it takes no writes",
            hint="name the primary, or all with &target_session_attrs=read-write",
        )
    role = address(database.url).user or "ROLE"
    raise DatabaseReadOnly(
        f"Postgres at {where} takes no writes: default_transaction_read_only is on",
        hint=f"take it back where it was set: ALTER ROLE {role} RESET default_transaction_read_only, "
        f"ALTER DATABASE {server.name} RESET default_transaction_read_only, "
        "the server's settings, or the URL",
    )
