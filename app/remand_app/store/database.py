"""Connections: one SQLAlchemy engine per process, made lazily and dropped after a fork.

The hot path uses raw psycopg2 cursors from its pool (`Database.call`), one autocommitted statement a round
trip; everything else opens a transaction (`Database.begin`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, assert_never

import psycopg2
import psycopg2.errors
import psycopg2.extensions
import psycopg2.extras
import sqlalchemy as sa

from remand_app.domain.errors import Busy, DatabaseUnreachable, RightMissing, ValueRefused
from remand_app.store import instants, json_values
from remand_app.store.connect import connect, refused
from remand_app.store.driver_errors import SQLSTATES, Ending, How, ending_of
from remand_app.store.driver_messages import cleaned, said
from remand_app.store.rights import right_missing
from remand_app.store.rows import T, made

instants.install()
json_values.install()
psycopg2.extras.register_uuid()  # type: ignore[no-untyped-call]  # the stubs lack it

NOT_NOW = (DatabaseUnreachable, Busy)
"""The call is not known to have taken effect, and another try may succeed."""
_NO_TEXT = "a text holds NUL or a lone surrogate, which Postgres cannot store"


class Database:
    """A process's way to Postgres.

    Fork-safe: a child that finds its parent's engine forgets it without closing the parent's sockets.
    """

    def __init__(self, url: str, *, pool_size: int = 5) -> None:
        self.url = url
        self._pool_size = pool_size
        self._engine: sa.Engine | None = None
        self._pid = 0

    @property
    def engine(self) -> sa.Engine:
        """The process's engine."""
        pid = os.getpid()
        if self._engine is None or self._pid != pid:
            if self._engine is not None:
                self._engine.dispose(close=False)
            self._engine = sa.create_engine(
                "postgresql+psycopg2://",
                creator=lambda: connect(self.url),
                pool_size=self._pool_size,
                max_overflow=10,
                pool_use_lifo=True,
                # No error contains the values that were sent: not in a log, not on a page, not on a terminal.
                hide_parameters=True,
            )
            sa.event.listen(self._engine, "handle_error", _refuse_text)
            self._pid = pid
        return self._engine

    @contextmanager
    def begin(self) -> Iterator[sa.Connection]:
        """Open a transaction; commit at the end, roll back on an exception.

        Raises:
            DatabaseUnreachable: no connection could be made, or it was lost on the way.
            Busy: others hold what it wants, or it and another waited for each other.
            ValueRefused: a value cannot be stored.
            RightMissing: the role may not do that; any call may say so.
        """
        with self._connect() as connection, self._translating(connection), connection.begin():
            yield connection

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Open a connection on which each statement is its own transaction: one round trip, not three.

        Raises:
            DatabaseUnreachable: no connection could be made, or it was lost on the way.
            Busy: it took longer than the server allows.
        """
        with self._connect() as connection, self._translating(connection):
            yield connection.execution_options(isolation_level="AUTOCOMMIT")

    @contextmanager
    def session(self) -> Iterator[sa.Connection]:
        """Open a connection whose transactions are the caller's. Raises as `begin`."""
        with self._connect() as connection, self._translating(connection):
            yield connection

    @contextmanager
    def cursor(self) -> Iterator[psycopg2.extensions.cursor]:
        """Yield a raw autocommit cursor from the pool: each statement is its own transaction.

        Raises:
            DatabaseUnreachable: no connection could be made, or it was lost on the way.
            Busy: others hold what it wants, or it and another waited for each other.
            ValueRefused: a value cannot be stored.
        """
        pooled = self._raw()
        driver = pooled.driver_connection
        assert driver is not None
        try:
            driver.autocommit = True
            with driver.cursor() as cursor:
                yield cursor
        except UnicodeEncodeError:
            raise ValueRefused(_NO_TEXT) from None
        except psycopg2.Error as error:
            how = ending_of(error, is_closed=bool(driver.closed))
            if how is None:
                raise cleaned(error) from None
            if how.drops:
                pooled.invalidate()
            raise translated(self.url, error, how) from cleaned(error)
        finally:
            if pooled.is_valid and not driver.closed:
                driver.autocommit = False
            pooled.close()

    def call(self, sql: str, arguments: Sequence[Any] | Mapping[str, Any] = ()) -> list[tuple[Any, ...]]:
        """Run one statement in its own transaction and return its rows: one round trip.

        Raises:
            DatabaseUnreachable: no connection could be made, or it was lost on the way.
            Busy: others hold what it wants, or it and another waited for each other.
            ValueRefused: a value cannot be stored.
        """
        with self.cursor() as cursor:
            return _rows(cursor, sql, arguments)

    def read(self, kind: type[T], sql: str, arguments: Sequence[Any] | Mapping[str, Any] = ()) -> list[T]:
        """Do the same and return each row as a value of a dataclass, by the names of its columns."""
        with self.cursor() as cursor:
            rows = _rows(cursor, sql, arguments)
            return made(kind, [column.name for column in cursor.description or ()], rows)

    def check(self) -> None:
        """Make sure that Postgres answers. Transaction: own.

        Raises:
            DatabaseUnreachable: it does not.
        """
        self.call("select")

    def check_writes(self) -> None:
        """Make sure that Postgres takes writes. Transaction: own.

        Raises:
            DatabaseUnreachable: it does not answer, or is read-only: a standby, a failover under way.
        """
        if self.call("select current_setting('transaction_read_only')") == [("on",)]:
            # After a failover or promotion, the next connection may lead to another server.
            self.dispose()
            read_only = psycopg2.errors.ReadOnlySqlTransaction("it is read-only")
            raise refused(self.url, read_only, SQLSTATES["25006"].hint)

    def dispose(self) -> None:
        """Close the pool."""
        if self._engine is not None and self._pid == os.getpid():
            self._engine.dispose()
        self._engine = None

    @contextmanager
    def _connect(self) -> Iterator[sa.Connection]:
        with self._making():
            connection = self.engine.connect()
        with connection:
            yield connection

    def _raw(self) -> Any:
        with self._making():
            return self.engine.raw_connection()

    @contextmanager
    def _making(self) -> Iterator[None]:
        """Translate any error while connecting into `DatabaseUnreachable`."""
        try:
            yield
        except (psycopg2.Error, sa.exc.DBAPIError, sa.exc.TimeoutError) as error:
            how = ending_of(error) or How(Ending.AWAY)
            raise refused(self.url, getattr(error, "orig", None) or error, how.hint) from error

    @contextmanager
    def _translating(self, connection: sa.Connection) -> Iterator[None]:
        try:
            yield
        except (sa.exc.DBAPIError, sa.exc.PendingRollbackError) as error:
            how = ending_of(error)
            if how is None:
                raise cleaned(error)  # noqa: B904 - the very error, or it would be its own cause
            if how.drops:
                connection.invalidate()
            raise translated(self.url, error, how) from cleaned(error)


def _rows(cursor: Any, sql: str, arguments: Sequence[Any] | Mapping[str, Any]) -> list[tuple[Any, ...]]:
    try:
        cursor.execute(sql, arguments)
    except ValueError:
        # The driver's own: a NUL, or a letter that the client's encoding lacks.
        raise ValueRefused(_NO_TEXT) from None
    return cursor.fetchall() if cursor.description else []


def _refuse_text(context: Any) -> None:
    """Refuse a text that the driver cannot send. Interfaces check texts first; this catches the rest."""
    error = context.original_exception
    if isinstance(error, UnicodeEncodeError) or (type(error) is ValueError and "NUL" in str(error)):
        raise ValueRefused(_NO_TEXT) from None


def translated(
    url: str, error: BaseException, how: How
) -> DatabaseUnreachable | Busy | ValueRefused | RightMissing:
    """Return our error for a driver error that is in the table of endings."""
    origin = getattr(error, "orig", None) or error
    match how.ending:
        case Ending.AWAY:
            return refused(url, origin, how.hint)
        case Ending.BUSY:
            why = how.hint or "others work on the same rows just now"
            return Busy(
                f"{why}: nothing was changed",
                hint="try again in a moment",
                details={"cause": type(origin).__name__},
            )
        case Ending.VALUE:
            return ValueRefused(f"Postgres refused a value: {said(origin)}")
        case Ending.RIGHT:
            return right_missing(url, origin)
        case _:
            assert_never(how.ending)


Connection = sa.Connection


def clock_timestamp(connection: sa.Connection) -> datetime:
    """Return what Postgres' clock says now, aware. Transaction: joins."""
    now: datetime = connection.scalar(sa.text("select clock_timestamp()"))
    return now
