"""Metrics of the whole site for Prometheus: gauges and totals, read from the database in one look.

Every statement reads live work or counters, never finished work; totals are kept for ever and never decrease.
A look takes some twenty short transactions: `Looks` shares one look among all who ask within seconds.
Source: E5.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime

import app as product
from app.domain.queues import BUILT_IN
from app.domain.states import BreakerState, DeadLetterStatus, DeadReason
from app.engine import statistics
from app.engine.context import Engine
from app.engine.worker_limits import live_workers
from app.store import breakers, diagnosis, groups, partitions, schema, site_metrics, sweep_runs
from app.store import statistics as counts
from app.store.diagnosis import Waiting
from app.store.pauses import pauses
from app.store.site_metrics import Letters
from app.telemetry import metrics as m
from app.telemetry.metrics import Metric
from app.telemetry.metrics_buffer import Series
from beat_schedule import BEAT_SCHEDULE

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


class Looks:
    """The last look, so that many askers cost one."""

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._until = 0.0
        self._found: Series = {}

    def look(self, engine: Engine) -> Series:
        """Return what was found at most `KEPT_SECONDS` ago.

        Raises:
            DatabaseUnreachable: the database is away.
        """
        with self._lock:
            begun = self._seconds()
            if begun >= self._until:
                found = look(engine)
                now = self._seconds()
                found[m.LOOK_SECONDS.name, ()] = [now - begun]
                self._found, self._until = found, now + KEPT_SECONDS
            return self._found


def look(engine: Engine) -> Series:
    """Return all figures as of now. Transaction: some short ones."""
    parts = (_site, _queues, _workers, _breakers, _letters, _dead_queues, _sweeps, _partitions)
    return {(metric.name, labels): [float(value)] for part in parts for metric, labels, value in part(engine)}


def _site(engine: Engine) -> Iterator[Figure]:
    yield m.INFO, (product.__version__, schema.head()), 1
    for state, count in site_metrics.live_workflows(engine.database).items():
        yield m.WORKFLOWS, (state,), count
    for state, count in site_metrics.redrives(engine.database).items():
        yield m.REDRIVES, (state,), count


def _queues(engine: Engine) -> Iterator[Figure]:
    work = {one.queue: one for one in diagnosis.waiting(engine.database, engine.clock)}
    listened = Counter(queue for worker in live_workers(engine) for queue in worker.queues)
    for queue in {*BUILT_IN, *diagnosis.step_queues(engine.database), *work, *listened}:
        one = work.get(queue) or Waiting(queue, 0, 0, 0, 0, 0, 0, None)
        for phase in ("ready", "failed", "waiting", "held", "claimed"):
            yield m.QUEUE_STEPS, (queue, phase), getattr(one, phase)
        yield m.QUEUE_DUE, (queue,), one.due
        yield m.QUEUE_OLDEST, (queue,), one.oldest_seconds or 0
        yield m.QUEUE_WORKERS, (queue,), listened[queue]
    for paused in pauses(engine.database):
        yield m.QUEUE_PAUSED, (paused.queue,), 1


def _workers(engine: Engine) -> Iterator[Figure]:
    live = live_workers(engine)
    for (version, code), count in Counter((one.version, one.code_version or "") for one in live).items():
        yield m.WORKERS, (version, code), count
    slots = sum(one.concurrency for one in live if not {*one.queues} <= {*BUILT_IN[1:]})
    yield m.WORKER_SLOTS, (), slots
    yield m.WORKER_BUSY, (), site_metrics.busy_processes(engine.database)


def _breakers(engine: Engine) -> Iterator[Figure]:
    now = site_metrics.now(engine.database, engine.clock)
    for one in breakers.listed(engine.database):
        name = one.breaker.name
        for state in BreakerState:
            yield m.BREAKER_STATE, (name, state), one.breaker.state is state
        yield m.BREAKER_SINCE, (name,), max(0.0, (now - one.breaker.state_since).total_seconds())
        yield m.BREAKER_HELD, (name,), one.held


def _letters(engine: Engine) -> Iterator[Figure]:
    groups.fold(engine.database)
    # A series that first appears with its first letter shows no increase: known series begin at 0.
    added = Counter(dict.fromkeys(_known(), 0))
    for one in site_metrics.letters(engine.database):
        for metric, labels, value in _counted(one):
            added[metric, labels] += value
    for (metric, labels), value in added.items():
        yield metric, labels, value
    oldest = counts.oldest_open(engine.database)
    yield m.DLQ_OLDEST, (), _age(oldest, site_metrics.now(engine.database, engine.clock))
    found = site_metrics.groups(engine.database, engine.clock)
    for group in found:
        yield m.DLQ_GROUPS, (group.state,), group.count
    yield m.DLQ_OVERDUE, (), sum(group.overdue for group in found)


def _known() -> Iterator[tuple[Metric, tuple[str, ...]]]:
    closed = [one for one in DeadLetterStatus if not one.is_open]
    for reason in DeadReason:
        yield from ((metric, (reason,)) for metric in _BY_REASON)
        yield from ((m.DLQ_CLOSED, (status, reason)) for status in closed)
    yield from ((m.DLQ_CLOSE_SECONDS, (status,)) for status in closed)


def _counted(one: Letters) -> Iterator[tuple[Metric, tuple[str, ...], int]]:
    status = DeadLetterStatus(one.status)
    yield m.DLQ_ENTRIES, (one.reason, one.category, one.policy, one.dead_queue), one.opened
    yield m.DLQ_REQUEUES_FAILED, (one.reason,), one.returned
    if status.is_open:
        yield m.DLQ_SIZE, (one.reason, status, one.dead_queue), one.now
        return
    yield m.DLQ_CLOSED, (status, one.reason), one.closed
    yield m.DLQ_CLOSE_SECONDS, (status,), round(one.closed_seconds)
    if status is DeadLetterStatus.REQUEUED:
        yield m.DLQ_REQUEUES, (one.reason,), one.closed
    if status is DeadLetterStatus.PERMANENTLY_FAILED:
        yield m.DLQ_PERMANENT, (one.reason,), one.closed


def _dead_queues(engine: Engine) -> Iterator[Figure]:
    for one in statistics.utilisation(engine):
        yield m.DLQ_LIMIT, (one.name,), one.limit


def _sweeps(engine: Engine) -> Iterator[Figure]:
    runs = {one.name: one for one in sweep_runs.sweep_runs(engine.database)}
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
    for one in partitions.periods(engine.database):
        if one.attached and one.starts_at <= reach < one.ends_at:
            reach = one.ends_at
            ahead += one.starts_at > now
    yield m.PARTITIONS_AHEAD, (), ahead
    yield m.PARTITION_HEADROOM, (), (reach - now).total_seconds()
    sizes = Counter[tuple[str, str]]()
    for table in partitions.catalogue(engine.database):
        sizes[table.table, table.home] += table.bytes
    for (name, home), size in sizes.items():
        yield m.TABLE_BYTES, (name, home), size


def _age(since: datetime | None, now: datetime) -> float:
    return 0.0 if since is None else max(0.0, (now - since).total_seconds())
