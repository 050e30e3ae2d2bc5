"""The counts of a worker's processes, served to Prometheus by its main process, where `metrics_port` is set.

Children send their counts through a socket that they inherit, about once a second and after each task. The
main process adds them up in memory: no files grow with every child, and nothing needs cleaning up after a
dead one. The last second of a killed child is lost.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from itertools import islice
from typing import Any

from billiard.process import current_process
from celery.signals import (
    task_postrun,
    worker_init,
    worker_process_init,
    worker_process_shutdown,
    worker_ready,
    worker_shutdown,
)

from remand_app.telemetry import EVENTS, log, metrics_buffer
from remand_app.telemetry.metrics import LOGGED_EVENTS, LOST_ATTEMPTS, LOST_CAUSES
from remand_app.telemetry.metrics_buffer import MetricsBuffer, Series
from remand_workers.celery import settings

MESSAGE_SERIES = 200
"""Series in one message, which must fit into the socket's buffer."""
MESSAGE_BYTES = 1 << 18
LAST_WORDS_SECONDS = 0.5
"""How long a child that ends waits for the main process to listen."""


class Counts:
    """The counts of a worker. Made in the main process before it forks."""

    def __init__(self) -> None:
        self._here, self._there = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._there.setblocking(False)
        self._buffer: MetricsBuffer = metrics_buffer.start()
        self._server: Any = None
        for event in EVENTS:
            # Prometheus sees no increase in a series that appears only with its first event.
            metrics_buffer.count(LOGGED_EVENTS, event, by=0)
        for cause in LOST_CAUSES:
            metrics_buffer.count(LOST_ATTEMPTS, cause, by=0)

    def serve(self, host: str, port: int) -> None:
        """Listen to children and to Prometheus, each in a thread. Never raises: a worker works without it."""
        threading.Thread(target=self._listen, name="remand-counts", daemon=True).start()
        # Imported here, because it takes a tenth of a second that workers without metrics need not spend.
        from prometheus_client import CollectorRegistry, ProcessCollector, start_http_server  # noqa: PLC0415

        from remand_app.telemetry.exposition import Exposed  # noqa: PLC0415

        registry = CollectorRegistry()
        registry.register(Exposed(self._buffer.seen, "process"))
        ProcessCollector(registry=registry)
        try:
            self._server, _ = start_http_server(port, host, registry)
        except OSError as error:
            log("metrics.not_served", host=host, port=port, error=str(error))
        else:
            log("metrics.served", host=host, port=port)

    def enter_child(self) -> None:
        """Count for the main process from now on, and close the copies of its sockets."""
        self._here.close()
        if self._server is not None:
            self._server.socket.close()
        metrics_buffer.start(self.tell)

    def tell(self, series: Series) -> Series:
        """Send counts to the main process; return those it cannot take now. Never waits."""
        left = dict(series)
        for part in _parts(series):
            message = json.dumps([[*key, part[key]] for key in part]).encode()
            try:
                self._there.send(message)
            except OSError:
                return left
            for key in part:
                del left[key]
        return left

    def last_words(self) -> None:
        """Send what is left before the process ends; wait briefly until it is sent."""
        self._there.settimeout(LAST_WORDS_SECONDS)
        metrics_buffer.flush(now=True)

    def close(self) -> None:
        """Stop serving, counting and listening."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
        metrics_buffer.stop()
        self._here.shutdown(socket.SHUT_RD)

    def _listen(self) -> None:
        # An empty message: the socket was shut.
        while message := self._here.recv(MESSAGE_BYTES):
            self._buffer.add(
                {(name, tuple(labels)): numbers for name, labels, numbers in json.loads(message)}
            )


class _Worker:
    counts: Counts | None = None


def _parts(series: Series) -> Iterator[Series]:
    items = iter(series.items())
    while part := dict(islice(items, MESSAGE_SERIES)):
        yield part


def install() -> None:
    """Count in the worker that starts, if `metrics_port` is set."""
    if settings.metrics_port:
        worker_init.connect(_begin)
        worker_process_init.connect(_born)
        worker_ready.connect(_serve)
        task_postrun.connect(_flush)
        worker_process_shutdown.connect(_end)
        worker_shutdown.connect(_close)


def _begin(**_: Any) -> None:
    _Worker.counts = Counts()


def _born(**_: Any) -> None:
    if _Worker.counts is not None and current_process().name != "MainProcess":
        _Worker.counts.enter_child()


def _serve(**_: Any) -> None:
    if _Worker.counts is not None:
        _Worker.counts.serve(settings.metrics_host, settings.metrics_port)


def _flush(**_: Any) -> None:
    metrics_buffer.flush(now=True)


def _end(**_: Any) -> None:
    if _Worker.counts is not None and current_process().name != "MainProcess":
        _Worker.counts.last_words()


def _close(**_: Any) -> None:
    if _Worker.counts is not None:
        _Worker.counts.close()
