"""Databases of their own for tests: cloned from one migrated template, dropped afterwards.

Names carry the second they were made in: what a killed run left behind is dropped two hours later.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg2
from sqlalchemy.engine import URL, make_url

from remand_app.store import schema
from remand_app.store.connect import connect
from remand_app.store.database import Database
from remand_app.store.tables import metadata

PREFIX = "remand_test_"
_KEEP_SECONDS = 7200
_numbers = itertools.count(1)
_SEEDED = {"dead_queues", "transition_rule"}
_TABLES = tuple(table.name for table in reversed(metadata.sorted_tables) if table.name not in _SEEDED)
"""Every table that a test may fill but for dead queues, those that refer to others first."""


class Cluster:
    """One server, seen by one test process."""

    def __init__(self, url: str) -> None:
        """`url` names any database of the server; its user may create databases."""
        self.url = make_url(url)
        self._template: str | None = None

    def execute(self, sql: str, arguments: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
        """Run a statement outside any test's database, autocommitted."""
        connection = connect(str_of(self.url.set(database="postgres")))
        try:
            connection.autocommit = True
            with connection.cursor() as cursor:
                cursor.execute(sql, arguments)
                return cursor.fetchall() if cursor.description else []
        finally:
            connection.close()

    @contextmanager
    def empty(self) -> Iterator[str]:
        """Yield the URL of a new database without the schema; drop it afterwards."""
        with self._created("") as name:
            yield self._url_of(name)

    @contextmanager
    def fresh(self) -> Iterator[str]:
        """Yield the URL of a new migrated database; drop it afterwards."""
        if self._template is None:
            raise AssertionError("enter `template` first")
        with self._created(f"template {self._template}") as name:
            yield self._url_of(name)

    @contextmanager
    def template(self) -> Iterator[None]:
        """Migrate one database that `fresh` clones; drop it afterwards."""
        self._drop_leftovers()
        with self._created("") as name:
            database = Database(self._url_of(name))
            schema.migrate(database)
            database.dispose()
            self._template = name
            try:
                yield
            finally:
                self._template = None

    @contextmanager
    def _created(self, template: str) -> Iterator[str]:
        name = f"{PREFIX}{int(time.time()):x}_{os.getpid()}_{next(_numbers)}"
        self.execute(f"create database {name} {template}")
        # No test takes the power away: to wait for the disk at each commit teaches nothing.
        self.execute(f"alter database {name} set synchronous_commit = off")
        try:
            yield name
        finally:
            self.execute(f"drop database if exists {name} with (force)")

    def _drop_leftovers(self) -> None:
        rows = self.execute("select datname from pg_database where datname like %s", (f"{PREFIX}%",))
        for (name,) in rows:
            made_at = re.match(rf"{PREFIX}([0-9a-f]+)_", str(name))
            if made_at is not None and int(made_at[1], 16) < time.time() - _KEEP_SECONDS:
                with contextlib.suppress(psycopg2.Error):
                    self.execute(f"drop database {name}")

    def _url_of(self, name: str) -> str:
        return str_of(self.url.set(database=name))


def empty_all(database: Database) -> None:
    """Delete every row that tests may have made, after ending whoever else is connected."""
    database.dispose()
    database.call(
        "select pg_terminate_backend(pid) from pg_stat_activity"
        " where datname = current_database() and pid <> pg_backend_pid()"
    )
    database.call(";".join(f"delete from remand.{table}" for table in _TABLES))
    database.call("delete from remand.dead_queues where name <> 'default'")


def str_of(url: URL) -> str:
    return url.render_as_string(hide_password=False)
