"""Run revisions one by one, each in a transaction of its own, while live work goes on.

Whoever waits for a lock keeps all who come later waiting: a revision gives up after half a second, before
Postgres looks for deadlocks, and tries again. Killed on the way, the next run goes on after the last that
was whole.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import psycopg2.errors
import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory

from remand_migrations.order import VERSIONS, is_before, revisions, way

SCHEMA = "remand"
TRIES = 60
_LOCK = sa.text("select pg_try_advisory_lock(hashtext('remand.migrate'))")
_PATIENCE = sa.text("set lock_timeout = '500ms'")
_LONGEST_PAUSE_SECONDS = 5.0
Say = Callable[[str], None]


def run(
    connection: sa.Connection,
    current: Callable[[sa.Connection], str | None],
    target: str | None,
    say: Say,
    places: tuple[Path, ...] = (VERSIONS,),
) -> None:
    """Bring the schema to a revision (None: away); two at once run one after the other.

    The connection is closed afterwards: with it ends the lock of the run.
    """
    try:
        _take_lock(connection, say)
        _run(connection, current(connection), target, say, places)
    finally:
        connection.invalidate()


def _run(
    connection: sa.Connection, before: str | None, target: str | None, say: Say, places: tuple[Path, ...]
) -> None:
    connection.execute(_PATIENCE)
    # "create schema if not exists" asks for the right to create schemas even where this one exists.
    if connection.scalar(sa.text("select to_regnamespace(:name)"), {"name": SCHEMA}) is None:
        connection.execute(sa.text(f"create schema {SCHEMA}"))
    connection.commit()
    config = config_of(places)
    config.attributes |= {"connection": connection, "say": say}
    known = ("base", *revisions(places))
    for name in way(known[1:], before, target):
        if is_before(before, name):
            _patiently(partial(command.upgrade, config, name), name, connection, say)
        else:
            below = known[known.index(name) - 1]
            _patiently(partial(command.downgrade, config, below), name, connection, say)


def config_of(places: Sequence[Path] = (VERSIONS,)) -> Config:
    """Return what Alembic needs to know of revisions in these folders."""
    config = Config()
    config.set_main_option("script_location", str(VERSIONS.parent))
    config.set_main_option("path_separator", "os")
    config.set_main_option("version_locations", ":".join(map(str, places)))
    return config


def scripts_of(places: Sequence[Path] = (VERSIONS,)) -> ScriptDirectory:
    """Return the revisions in these folders as modules."""
    return ScriptDirectory.from_config(config_of(places))


def _take_lock(connection: sa.Connection, say: Say) -> None:
    # Asked again and again: one statement that waits would hold a snapshot, for whose end an index that is
    # made beside live work waits in turn.
    is_told = False
    while not connection.scalar(_LOCK):
        connection.commit()
        if not is_told:
            say("another run migrates this database: waiting for it")
        is_told = True
        time.sleep(0.2)
    connection.commit()


def _patiently(step: Callable[[], None], name: str, connection: sa.Connection, say: Say) -> None:
    for attempt in range(1, TRIES + 1):
        try:
            step()
        except sa.exc.DBAPIError as error:
            connection.rollback()
            is_busy = isinstance(
                error.orig, psycopg2.errors.LockNotAvailable | psycopg2.errors.DeadlockDetected
            )
            if not is_busy or attempt == TRIES:
                raise
            pause = min(0.1 * 2**attempt, _LONGEST_PAUSE_SECONDS)
            say(f"{name}: its tables are in use, trying again in {pause:.1f} s ({attempt} of {TRIES})")
            time.sleep(pause)
        else:
            return
