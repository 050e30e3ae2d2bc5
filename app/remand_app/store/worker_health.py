"""What Postgres knows about the health of a worker on this host."""

from __future__ import annotations

import socket
from dataclasses import dataclass

from remand_app.store.connect import connect
from remand_app.store.rows import made

_LOOK = """
select extract(epoch from clock_timestamp() - worker.heartbeat_at)::float as heartbeat_age,
       worker.stopped_at is not null as stopped,
       worker.queues,
       exists (select from remand.run_queue queued where queued.worker = worker.id) as is_busy,
       (select queued.queue
          from remand.run_queue queued
         where queued.queue = any(worker.queues)
           and queued.phase in ('ready', 'failed')
           and queued.due_at < clock_timestamp() - make_interval(secs => %(patience)s)
         limit 1) as waiting_queue
  from remand.workers worker
 where worker.hostname = %(node)s
    or %(node)s = '' and split_part(worker.hostname, '@', 2) = %(host)s
 order by worker.started_at desc
 limit 1
"""


@dataclass(frozen=True, slots=True)
class WorkerHealth:
    """A worker's row and what it has to do; the age is in seconds."""

    heartbeat_age: float
    stopped: bool
    queues: list[str]
    is_busy: bool
    waiting_queue: str | None
    """A queue of this worker in which work has waited for longer than the patience."""


def worker_health(url: str, node: str = "", *, patience_seconds: float) -> WorkerHealth | None:
    """Return what is known of a worker, None if it never registered. Transaction: own, read-only.

    Opens a connection of its own. Without `node` it is the newest worker of this host.

    Raises:
        DatabaseUnreachable: the database is away.
    """
    connection = connect(url, application_name="remand health")
    try:
        with connection.cursor() as cursor:
            cursor.execute(_LOOK, {"patience": patience_seconds, "node": node, "host": socket.gethostname()})
            columns = [column.name for column in cursor.description or ()]
            workers = made(WorkerHealth, columns, cursor.fetchall())
    finally:
        connection.close()
    return next(iter(workers), None)
