"""A database in which everything is tried and nothing stays: one transaction, rolled back at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg2.extensions
import sqlalchemy as sa

from remand_app.store.database import Database


class Rehearsal(Database):
    """What begins here joins the one transaction as a savepoint; an exception rolls back what it began."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    @contextmanager
    def begin(self) -> Iterator[sa.Connection]:
        """Open a savepoint."""
        with self._connection.begin_nested():
            yield self._connection

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Read within the transaction."""
        yield self._connection

    @contextmanager
    def cursor(self) -> Iterator[psycopg2.extensions.cursor]:
        """Yield a raw cursor within the transaction."""
        driver: Any = self._connection.connection.driver_connection
        with driver.cursor() as cursor:
            yield cursor


@contextmanager
def rehearsing(database: Database) -> Iterator[Rehearsal]:
    """Yield a database whose changes are gone at the end, whatever happens. Transaction: own, rolled back."""
    with database.begin() as connection:
        yield Rehearsal(connection)
        connection.rollback()
