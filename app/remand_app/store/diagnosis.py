"""Queries for troubleshooting: which workers are alive, what templates depend on, what the server is."""

from __future__ import annotations

from datetime import datetime

from remand_app.clock import Clock
from remand_app.store.database import Database
from remand_app.store.sweeping import Limits
from remand_app.store.workers import COLUMNS, WorkerRow

_LIVE = f"select {COLUMNS} from remand.live_workers(%s, %s, %s, %s) order by hostname, started_at"


def live_workers(database: Database, limits: Limits, clock: Clock) -> list[WorkerRow]:
    """Return the workers that are alive. Transaction: own."""
    return database.read(WorkerRow, _LIVE, (limits.gone, limits.silent, limits.pause, clock.fixed()))


def dependencies(database: Database) -> list[str]:
    """Return the dependencies that published templates name. Transaction: own."""
    rows = database.call("select distinct dependency from remand.template_steps order by 1")
    return [row[0] for row in rows]


def server_version(database: Database) -> str:
    """Return the version of Postgres. Transaction: own."""
    version: str = database.call("show server_version")[0][0]
    return version


def server_time(database: Database) -> datetime:
    """Return what Postgres' clock says. Transaction: own."""
    now: datetime = database.call("select clock_timestamp()")[0][0]
    return now
