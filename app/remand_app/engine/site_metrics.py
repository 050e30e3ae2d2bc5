"""Metrics of the whole site for Prometheus: gauges and totals, read from the database in one look.

Every statement reads live work or counters, never finished work; totals are kept for ever and never decrease.
A look takes some twenty short transactions: it is shared among all who ask within `KEPT_SECONDS`.
Source: E5.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from datetime import datetime

import remand_app as product
from remand_app.beat_schedule import BEAT_SCHEDULE
from remand_app.domain.queues import BUILT_IN
from remand_app.domain.states import BreakerState, DeadLetterStatus, DeadReason
from remand_app.engine import statistics
from remand_app.engine.engine import Engine
from remand_app.engine.worker_limits import live_workers
from remand_app.store import (
    breakers,
    group_counts,
    partitions,
    queue_counts,
    schema,
    site_metrics,
    sweep_runs,
)
from remand_app.store import statistics as counts
from remand_app.store.pauses import pauses
from remand_app.store.queue_counts import Waiting
from remand_app.store.site_metrics import Letters
from remand_app.telemetry import metrics as m
from remand_app.telemetry.metrics import Metric
from remand_app.telemetry.metrics_buffer import Series

KEPT_SECONDS = 5.0
"""How long a look can be reused."""
Figure = tuple[Metric, tuple[str, ...], float]

_OF_SWEEPS = (
    (m.WORKERS_LOST, "rescue", "workers"),
    (m.ATTEMPTS_RESCUED, "rescue", "attempts"),
    (m.STALE_WARNINGS, "stale", "warned"),
    (m.PARTITIONS_DETACHED, "archive", "periods"),
    (m.WORKFLOWS_ARCHIVED, "archive", "workflows"),
)
"""Totals taken from one figure of a sweep's result."""
_BY_REASON = (m.DLQ_REQUEUES, m.DLQ_REQUEUES_FAILED, m.DLQ_PERMANENT)
_FAILED = ((m.PARTITION_FAILURES, "partitions"),)
_MOVED = ((m.PARTITIONS_CREATED, "partitions"),)


def look(engine: Engine) -> Series:
    """Return all figures as of now. Transaction: some short ones.

    Raises:
        DatabaseUnreachable: the database is away.
    """
    begun = time.monotonic()
    parts = (_site, _queues, _workers, _breakers, _letters, _dead_queues, _sweeps, _partitions)
    series = {
        (metric.name, labels): [float(value)] for part in parts for metric, labels, value in part(engine)
    }
    return {**series, (m.LOOK_SECONDS.name, ()): [time.monotonic() - begun]}


def _site(engine: Engine) -> Iterator[Figure]:
    yield m.INFO, (product.__version__, schema.head()), 1
    for state, count in site_metrics.live_workflows(engine.database).items():
        yield m.WORKFLOWS, (state,), count
    for state, count in site_metrics.redrives(engine.database).items():
        yield m.REDRIVES, (state,), count


def _queues(engine: Engine) -> Iterator[Figure]:
    work = {waiting.queue: waiting for waiting in queue_counts.waiting(engine.database, engine.clock)}
    listened = Counter(queue for worker in live_workers(engine) for queue in worker.queues)
    for queue in {*BUILT_IN, *queue_counts.step_queues(engine.database), *work, *listened}:
        waiting = work.get(queue) or Waiting(queue, 0, 0, 0, 0, 0, 0, None)
        for phase in ("ready", "failed", "waiting", "held", "claimed"):
            yield m.QUEUE_STEPS, (queue, phase), getattr(waiting, phase)
        yield m.QUEUE_DUE, (queue,), waiting.due
        yield m.QUEUE_OLDEST, (queue,), waiting.oldest_seconds or 0
        yield m.QUEUE_WORKERS, (queue,), listened[queue]
    for paused in pauses(engine.database):
        yield m.QUEUE_PAUSED, (paused.queue,), 1


def _workers(engine: Engine) -> Iterator[Figure]:
    live = live_workers(engine)
    for (version, code), count in Counter(
        (worker.version, worker.code_version or "") for worker in live
    ).items():
        yield m.WORKERS, (version, code), count
    slots = sum(worker.concurrency for worker in live if not {*worker.queues} <= {*BUILT_IN[1:]})
    yield m.WORKER_SLOTS, (), slots
    yield m.WORKER_BUSY, (), site_metrics.busy_processes(engine.database)


def _breakers(engine: Engine) -> Iterator[Figure]:
    now = site_metrics.now(engine.database, engine.clock)
    for standing in breakers.listed(engine.database):
        name = standing.breaker.name
        for state in BreakerState:
            yield m.BREAKER_STATE, (name, state), standing.breaker.state is state
        yield m.BREAKER_SINCE, (name,), max(0.0, (now - standing.breaker.state_since).total_seconds())
        yield m.BREAKER_HELD, (name,), standing.held


def _letters(engine: Engine) -> Iterator[Figure]:
    group_counts.fold(engine.database)
    # A series that first appears with its first letter shows no increase: known series begin at 0.
    added = Counter(dict.fromkeys(_known(), 0))
    for letters in site_metrics.letters(engine.database):
        for metric, labels, value in _counted(letters):
            added[metric, labels] += value
    for (metric, labels), value in added.items():
        yield metric, labels, value
    oldest = counts.oldest_open(engine.database)
    yield m.DLQ_OLDEST, (), _age(oldest, site_metrics.now(engine.database, engine.clock))
    counted = site_metrics.groups(engine.database, engine.clock)
    for group in counted:
        yield m.DLQ_GROUPS, (group.state,), group.count
    yield m.DLQ_OVERDUE, (), sum(group.overdue for group in counted)


def _known() -> Iterator[tuple[Metric, tuple[str, ...]]]:
    closed = [status for status in DeadLetterStatus if not status.is_open]
    for reason in DeadReason:
        yield from ((metric, (reason,)) for metric in _BY_REASON)
        yield from ((m.DLQ_CLOSED, (status, reason)) for status in closed)
    yield from ((m.DLQ_CLOSE_SECONDS, (status,)) for status in closed)


def _counted(letters: Letters) -> Iterator[tuple[Metric, tuple[str, ...], int]]:
    status = DeadLetterStatus(letters.status)
    yield (
        m.DLQ_ENTRIES,
        (letters.reason, letters.category, letters.policy, letters.dead_queue),
        letters.opened,
    )
    yield m.DLQ_REQUEUES_FAILED, (letters.reason,), letters.returned
    if status.is_open:
        yield m.DLQ_SIZE, (letters.reason, status, letters.dead_queue), letters.now
        return
    yield m.DLQ_CLOSED, (status, letters.reason), letters.closed
    yield m.DLQ_CLOSE_SECONDS, (status,), round(letters.closed_seconds)
    if status is DeadLetterStatus.REQUEUED:
        yield m.DLQ_REQUEUES, (letters.reason,), letters.closed
    if status is DeadLetterStatus.PERMANENTLY_FAILED:
        yield m.DLQ_PERMANENT, (letters.reason,), letters.closed


def _dead_queues(engine: Engine) -> Iterator[Figure]:
    for dead_queue in statistics.utilisation(engine):
        yield m.DLQ_LIMIT, (dead_queue.name,), dead_queue.limit


def _sweeps(engine: Engine) -> Iterator[Figure]:
    runs = {run.name: run for run in sweep_runs.sweep_runs(engine.database)}
    heard_at = sweep_runs.first_heard(engine.database)
    for name in {**BEAT_SCHEDULE, **runs}:
        # A sweep that never went well is late once somebody has listened for it that long.
        run = runs.get(name)
        well_at = (run and run.last_success_at) or heard_at
        if well_at is not None:
            yield m.SWEEP_SUCCESS, (name,), well_at.timestamp()
    for name in BEAT_SCHEDULE:
        yield m.SWEEP_INTERVAL, (name,), engine.settings.interval_seconds(name)
    for name, run in runs.items():
        yield m.SWEEP_LAST_SECONDS, (name,), run.last_duration_seconds
        yield m.SWEEP_FAILURES_IN_A_ROW, (name,), run.failures_in_a_row
        yield m.SWEEP_RUNS, (name,), run.runs
        yield m.SWEEP_FAILURES, (name,), run.failures
        yield m.SWEEP_MOVED, (name,), run.moved
    did = sweep_runs.figures(engine.database)
    for metric, sweep, figure in _OF_SWEEPS:
        yield metric, (), did.get((sweep, figure), 0)
    for metric, sweep in _FAILED:
        yield metric, (), runs[sweep].failures if sweep in runs else 0
    for metric, sweep in _MOVED:
        yield metric, (), runs[sweep].moved if sweep in runs else 0


def _partitions(engine: Engine) -> Iterator[Figure]:
    now = site_metrics.now(engine.database, engine.clock)
    reach, ahead = now, 0
    for period in partitions.periods(engine.database):
        if period.attached and period.starts_at <= reach < period.ends_at:
            reach = period.ends_at
            ahead += period.starts_at > now
    yield m.PARTITIONS_AHEAD, (), ahead
    yield m.PARTITION_HEADROOM, (), (reach - now).total_seconds()
    sizes = Counter[tuple[str, str]]()
    for table in partitions.catalogue(engine.database):
        sizes[table.table, table.home] += table.bytes
    for (name, home), size in sizes.items():
        yield m.TABLE_BYTES, (name, home), size


def _age(since: datetime | None, now: datetime) -> float:
    return 0.0 if since is None else max(0.0, (now - since).total_seconds())
