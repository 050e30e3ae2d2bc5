"""Say whether a worker of this host is alive and hears its bells: `python -m app.store.health [NODE]`.

For health checks, which run every few seconds: one query on a connection of its own, and hardly an import.
NODE is the worker's Celery name; without it, the newest worker of this host: a container has just one.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from app.domain.errors import Unfit
from app.store.connection import connect

HEARD = Path("/run/remand/heard")
"""Touched by the worker whenever it takes a message; see `workers/signs.py`."""

SILENT_SECONDS = 10.0
"""Age of a heartbeat from which the worker counts as unwell."""

PATIENCE_SECONDS = 20.0
"""How long work may wait for a worker that has nothing to do."""

SWEEPS_SECONDS = 60.0
"""How long a maintenance worker may hear nothing; beat rings it every second."""

MAINTENANCE = "remand.maintenance"

_LOOK = """
select extract(epoch from clock_timestamp() - w.heartbeat_at)::float, w.stopped_at is not null, w.queues,
       exists (select from remand.run_queue q where q.worker = w.id),
       (select q.queue from remand.run_queue q
         where q.queue = any(w.queues) and q.phase in ('ready', 'failed')
           and q.due_at < clock_timestamp() - make_interval(secs => %(patience)s) limit 1)
  from remand.workers w
 where w.hostname = %(node)s or %(node)s = '' and split_part(w.hostname, '@', 2) = %(host)s
 order by w.started_at desc limit 1
"""


@dataclass(frozen=True, slots=True)
class Seen:
    """What the database and the sign say of a worker; ages in seconds."""

    heartbeat_age: float
    stopped: bool
    queues: list[str]
    is_busy: bool
    waiting_queue: str | None
    """A queue of this worker in which work has waited for longer than the patience."""
    heard_age: float | None
    """None where the worker leaves no signs."""


def trouble(seen: Seen) -> str | None:
    """Say what is wrong with a worker, None if nothing is.

    A worker that holds no claim while work waits for it is deaf: it lives, its broker connection does not.
    """
    if seen.stopped:
        return "it has stopped, or was given up as gone"
    if seen.heartbeat_age > SILENT_SECONDS:
        return f"no heartbeat in Postgres for {seen.heartbeat_age:.0f} s"
    if seen.waiting_queue is not None and not seen.is_busy:
        return f"work waits in queue {seen.waiting_queue} and it takes none: is it deaf, or beat dead?"
    if MAINTENANCE in seen.queues and seen.heard_age is not None and seen.heard_age > SWEEPS_SECONDS:
        return f"no message for {seen.heard_age:.0f} s: is it deaf, or beat dead?"
    return None


def look(url: str, node: str = "") -> Seen | None:
    """Return what is known of a worker, None if it never registered. Transaction: own, read-only.

    Raises:
        DatabaseUnreachable: the database is away.
    """
    connection = connect(url, application_name="remand health")
    try:
        with connection.cursor() as cursor:
            cursor.execute(_LOOK, {"patience": PATIENCE_SECONDS, "node": node, "host": socket.gethostname()})
            row = cursor.fetchone()
    finally:
        connection.close()
    if row is None:
        return None
    heartbeat_age, stopped, queues, is_busy, waiting_queue = row
    return Seen(heartbeat_age, stopped, queues, is_busy, waiting_queue, _age(HEARD))


def main() -> int:
    """Return 0 if the worker is well, 1 with a line that says why not."""
    url = os.environ.get("REMAND_DATABASE_URL") or _configured_url()
    try:
        seen = look(url, *sys.argv[1:2])
    except Unfit as error:
        sys.stdout.write(f"unhealthy: {error.message}\n")
        return 1
    found = "it is not registered" if seen is None else trouble(seen)
    sys.stdout.write("healthy\n" if found is None else f"unhealthy: {found}\n")
    return 0 if found is None else 1


def _configured_url() -> str:
    from app.config import load_settings  # noqa: PLC0415 - who sets the variable does not wait for it

    return load_settings().database_url or ""


def _age(sign: Path) -> float | None:
    try:
        return time.time() - sign.stat().st_mtime
    except FileNotFoundError:
        return None


if __name__ == "__main__":
    raise SystemExit(main())
