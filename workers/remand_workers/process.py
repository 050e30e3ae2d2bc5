"""What one process of a worker holds: its runtime and its executor. Made after the fork, never before."""

from __future__ import annotations

import os
import threading
from functools import cache
from typing import Any

from celery.signals import worker_process_shutdown

from remand_app.bell import CeleryBell
from remand_app.engine.engine import Engine
from remand_app.engine.executor import Executor
from remand_app.engine.process_table import ProcessTable
from remand_app.engine.rule_sets import RuleSets, load_books
from remand_app.engine.sweeps.runs import SweepRuns
from remand_app.runtime import Runtime
from remand_app.store.ids import new_id
from remand_app.store.snapshots import worker_names
from remand_app.telemetry import log, traces
from remand_workers.celery import app, settings
from remand_workers.step_events import StepEvents

INCARNATION = new_id()
"""New at each start of a worker; its children inherit it."""

PROCESSES = ProcessTable()
"""Shared by the main process and its children: made at import, before the first fork."""


def runtime() -> Runtime:
    """Return this process's runtime."""
    return _runtime(os.getpid())


def engine() -> Engine:
    """Return this process's engine."""
    return runtime().engine


def is_ours(queue: object) -> bool:
    """Say whether this worker listens to the queue that a bell is rung for.

    Whoever can write to the broker can put any bell into any queue: a worker without the handlers of another
    queue would fail its steps.
    """
    is_heard = isinstance(queue, str) and queue in app.amqp.queues.consume_from
    if not is_heard:
        log("bell.misdirected", queue=str(queue)[:200])
    return is_heard


def drain() -> Executor:
    """Return the executor of this thread: one drain at a time."""
    return _drain(os.getpid(), threading.get_ident())


def sweeps() -> SweepRuns:
    """Return the runner of this process's sweeps, which records how they went."""
    return _sweeps(os.getpid())


@cache
def books() -> RuleSets:
    """Return the rules this worker knows: gathered before the fork, handlers imported, and inherited.

    Raises:
        ConfigInvalid: an entry point fails, or rules contradict each other.
    """
    return load_books(runtime().settings)


@cache
def _runtime(_pid: int) -> Runtime:
    return Runtime(settings, bell=CeleryBell(app))


@cache
def _drain(_pid: int, _thread: int) -> Executor:
    return runtime().drain(INCARNATION, PROCESSES, books=books(), audience=_audience())


@cache
def _sweeps(_pid: int) -> SweepRuns:
    return SweepRuns(engine(), INCARNATION)


def _audience() -> StepEvents | None:
    return StepEvents(app, _hostname) if settings.flower_steps else None


@cache
def _hostname() -> str:
    with runtime().database.begin() as connection:
        return worker_names(connection, [INCARNATION]).get(INCARNATION, "unknown")


@worker_process_shutdown.connect
def send_last_spans(**_: Any) -> None:
    """Send the last spans, as the library does at exit: a process of a pool ends without the exit hook."""
    tracing = traces.active()
    if tracing is not None:
        tracing.flush()
