"""A worker's life: it registers, sends heartbeats, is supervised, and leaves nothing behind when it stops.

In the main process a thread sends the heartbeat and supervises the children. When asked to stop, it lets
running steps finish for `shutdown_grace_seconds` and then ends them uncounted. Children die with the main
process. In a pool without processes (solo, threads), steps can end in one way only: the worker ends with
them.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from typing import Any

from billiard.process import current_process
from celery import Celery, bootsteps
from celery.signals import (
    worker_init,
    worker_process_init,
    worker_ready,
    worker_shutdown,
    worker_shutting_down,
)

import remand_app as product
from remand.errors import RemandError
from remand_app.engine.attempt_ends import told
from remand_app.engine.child_supervisor import ChildSupervisor
from remand_app.engine.publish import publish
from remand_app.engine.routing import Routing
from remand_app.engine.rule_sets import warn_of_unknown_classes
from remand_app.engine.startup import await_database, patiently
from remand_app.runtime import import_handlers
from remand_app.store.database import NOT_NOW
from remand_app.store.workers import Incarnation, WorkerHeartbeat
from remand_app.telemetry import log
from remand_workers import current, process, stopping
from remand_workers.children import Children

LOOK_SECONDS = 0.2
_PR_SET_PDEATHSIG = 1


class Heartbeat(bootsteps.StartStopStep):
    """The thread of the main process."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, _worker: Any, **_: Any) -> None:
        self._done = threading.Event()
        self._no_grace = threading.Event()
        self._thread: threading.Thread | None = None
        _life.heartbeat = self

    def start(self, worker: Any) -> None:
        """Register this incarnation before it hears its first bell."""
        incarnation = incarnation_of(worker, process.runtime().settings.code_version)
        url = process.runtime().settings.database_url
        assert url is not None
        self.pulse = WorkerHeartbeat(url, incarnation)
        patiently(self.pulse.beat, process.runtime().settings)
        runtime = process.runtime()
        routing = Routing(runtime.engine.templates, runtime.settings)
        self.supervisor = ChildSupervisor(
            process.PROCESSES,
            runtime.run_queue(process.INCARNATION),
            runtime.engine.bell,
            lambda end: routing.route([end])[0],
            Children(worker.pool).how_ended,
            grace_seconds=runtime.settings.shutdown_grace_seconds,
        )
        stopping.stop_warm(worker, self._no_grace.set)
        self._thread = threading.Thread(target=self._loop, name="remand-heartbeat", daemon=True)
        self._thread.start()
        log(
            "worker.registered",
            worker=str(incarnation.id),
            hostname=incarnation.hostname,
            pid=incarnation.pid,
            pool=incarnation.pool,
            concurrency=incarnation.concurrency,
            queues=",".join(incarnation.queues),
        )

    def leave(self) -> None:
        """Give everything back and sign off; the children are gone by now."""
        self._done.set()
        if self._thread is None:
            return
        self._thread.join(5)
        self._say_goodbye()

    def _say_goodbye(self) -> None:
        try:
            self.supervisor.look()
            self.supervisor.close()
            self.pulse.stop()
        except NOT_NOW as error:
            # Nothing is lost: the rescue sweep finds the claims that we held.
            log("worker.stopped", worker=str(process.INCARNATION), clean=False, error=error.message)
            return
        log("worker.stopped", worker=str(process.INCARNATION), clean=True)

    def _loop(self) -> None:
        settings = process.runtime().settings
        next_beat = stop_at = 0.0
        while not self._done.wait(LOOK_SECONDS):
            now = time.monotonic()
            try:
                if now >= next_beat:
                    next_beat = now + settings.heartbeat_interval_seconds
                    self.pulse.beat()
                self.supervisor.look()
            except Exception as error:  # noqa: BLE001 - the door of the thread: without it nobody looks after the worker
                next_beat = now + min(1.0, settings.heartbeat_interval_seconds)
                log("worker.silent", error=error.message if isinstance(error, RemandError) else told(error))
            if process.PROCESSES.stopping:
                stop_at = stop_at or now + settings.shutdown_grace_seconds
                if now >= stop_at or self._no_grace.is_set():
                    self._cut_short()

    def _cut_short(self) -> None:
        """End the steps that outlast the grace; if they run in this process, end it (solo, threads)."""
        self.supervisor.interrupt_all()
        if self.supervisor.runs_here():
            self._say_goodbye()
            process.send_last_spans()
            os._exit(os.EX_OK)


class _Life:
    heartbeat: Heartbeat | None = None


_life = _Life()


def install(app: Celery) -> None:
    """Add the bootstep to a Celery app."""
    app.steps["worker"].add(Heartbeat)


@worker_init.connect
def _prepare(**_: Any) -> None:
    """Check everything a worker needs before its pool forks; stop with a message if something is missing."""
    try:
        runtime = process.runtime()
        await_database(runtime.database, runtime.settings)
        # Postgres may go away again at any moment: the first to query it waits.
        patiently(runtime.check_schema, runtime.settings)
        import_handlers(runtime.settings.handlers)
        current.hand_over()
        warn_of_unknown_classes(process.books().layers)
        patiently(lambda: publish(runtime.engine.templates, runtime.settings.templates), runtime.settings)
        runtime.database.dispose()
    except RemandError as error:
        sys.stderr.write(f"{error.code}: {error}\n")
        raise SystemExit(error.exit_code) from error


@worker_process_init.connect
def _born(**_: Any) -> None:
    """Begin a child: drop the main process's heartbeat, and die with the main process."""
    if current_process().name == "MainProcess":
        return
    heartbeat = _life.heartbeat
    inherited = None if heartbeat is None or not hasattr(heartbeat, "pulse") else heartbeat.pulse.fileno()
    if inherited is not None:
        # Our copy of the socket would keep the advisory lock when the main process is killed.
        os.close(inherited)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


@worker_ready.connect
def _ring_ourselves(sender: Any, **_: Any) -> None:
    """Work may have waited while nobody listened.

    In a thread: a full broker makes senders wait, and this worker is the one to empty it.
    """
    queues = [queue for queue in sender.app.amqp.queues.consume_from if not queue.startswith("remand.")]
    threading.Thread(target=process.engine().bell.ring, args=(queues,), daemon=True).start()


@worker_shutting_down.connect
def _stop_claiming(**_: Any) -> None:
    process.PROCESSES.stop()


@worker_shutdown.connect
def _leave(**_: Any) -> None:
    if _life.heartbeat is not None:
        _life.heartbeat.leave()


def incarnation_of(worker: Any, code_version: str | None) -> Incarnation:
    """Return what the registry records of the Celery worker in this process."""
    return Incarnation(
        id=process.INCARNATION,
        hostname=worker.hostname,
        pid=os.getpid(),
        queues=list(worker.app.amqp.queues.consume_from),
        pool=worker.pool_cls.__module__.rpartition(".")[2],
        concurrency=worker.concurrency,
        version=product.__version__,
        code_version=code_version,
    )
