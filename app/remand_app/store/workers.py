"""The worker registry: who is alive. One row per incarnation, one session lock as its sign of life."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg2
import psycopg2.extensions

from remand_app.store.connect import connect
from remand_app.store.database import Database, translated
from remand_app.store.driver_errors import ending_of
from remand_app.store.driver_messages import cleaned

_REGISTER = """
insert into remand.workers
  (id, hostname, pid, queues, pool, concurrency, version, code_version, lock_key, started_at, heartbeat_at)
values (%(id)s, %(hostname)s, %(pid)s, %(queues)s, %(pool)s, %(concurrency)s, %(version)s, %(code_version)s,
        hashtextextended(%(id)s::text, 0), clock_timestamp(), clock_timestamp())
on conflict (id) do update
   set heartbeat_at = clock_timestamp(), stopped_at = null
"""
_LOCK = "select pg_advisory_lock(hashtextextended(%s::text, 0))"
_BEAT = "update remand.workers set heartbeat_at = clock_timestamp(), stopped_at = null where id = %s"
_STOP = "update remand.workers set stopped_at = clock_timestamp() where id = %s"


@dataclass(frozen=True, slots=True)
class Incarnation:
    """One start of a worker."""

    id: UUID
    hostname: str
    pid: int
    queues: Sequence[str]
    pool: str
    concurrency: int
    version: str
    code_version: str | None = None
    """Of the users' handlers, as they named it."""


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """An incarnation as registered."""

    id: UUID
    hostname: str
    pid: int
    queues: list[str]
    pool: str
    concurrency: int
    version: str
    code_version: str | None
    """Of the users' handlers, as they named it."""
    lock_key: int
    started_at: datetime
    heartbeat_at: datetime
    stopped_at: datetime | None


COLUMNS = ", ".join(column.name for column in fields(WorkerRow))


class WorkerHeartbeat:
    """The sign of life of a worker's main process, on a connection of its own.

    The session holds the incarnation's advisory lock: the server frees it the moment the process dies.
    """

    def __init__(self, url: str, incarnation: Incarnation) -> None:
        self._url = url
        self._incarnation = incarnation
        self._connection: psycopg2.extensions.connection | None = None

    def beat(self) -> None:
        """Register on a new connection, or renew the heartbeat on the one that is open.

        Raises:
            DatabaseUnreachable: the database is away; call again later.
        """
        with self._dropping_what_fails():
            if self._connection is None or self._connection.closed:
                self._register()
            else:
                self._execute(_BEAT, (self._incarnation.id,))

    def stop(self) -> None:
        """Record the stop and free the lock.

        Raises:
            DatabaseUnreachable: the database is away; it frees the lock by itself.
        """
        with self._dropping_what_fails():
            if self._connection is not None and not self._connection.closed:
                self._execute(_STOP, (self._incarnation.id,))
                self._connection.close()
        self._connection = None

    def fileno(self) -> int | None:
        """Return the socket's descriptor: a forked child closes its copy, or the lock would outlive us."""
        if self._connection is None or self._connection.closed:
            return None
        return int(self._connection.fileno())

    @contextmanager
    def _dropping_what_fails(self) -> Iterator[None]:
        try:
            yield
        except psycopg2.Error as error:
            how = ending_of(error, is_closed=self._connection is None or bool(self._connection.closed))
            if self._connection is not None:
                # An incomplete registration does not count: the next beat begins again.
                self._connection.close()
            if how is None:
                raise cleaned(error) from None
            raise translated(self._url, error, how) from cleaned(error)

    def _register(self) -> None:
        self._connection = connect(self._url, application_name="remand worker")
        self._connection.autocommit = True
        self._execute("set synchronous_commit = off")
        self._execute(_LOCK, (self._incarnation.id,))
        row = {name: getattr(self._incarnation, name) for name in Incarnation.__slots__}
        self._execute(_REGISTER, {**row, "queues": list(self._incarnation.queues)})

    def _execute(self, sql: str, arguments: Any = None) -> None:
        assert self._connection is not None
        with self._connection.cursor() as cursor:
            cursor.execute(sql, arguments)


def listed(database: Database) -> list[WorkerRow]:
    """Return all registered incarnations, newest first. Transaction: own."""
    return database.read(WorkerRow, f"select {COLUMNS} from remand.workers order by started_at desc")
