"""The catalogue of metrics.

Names follow Prometheus: base units in the name, `_total` at the end of counters. Those of source `process`
are counted where it happens (`metrics_buffer.py`); those of source `database` are read when somebody asks.
Labels are words with few values: names of handlers, queues and dependencies, never ids.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["counter", "gauge", "histogram"]
Source = Literal["database", "process"]

_SHORT: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)
_LONG: Final = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
_AGES: Final = (
    60.0,
    300.0,
    900.0,
    1800.0,
    3600.0,
    10_800.0,
    43_200.0,
    86_400.0,
    259_200.0,
    604_800.0,
    2_592_000.0,
)
_SIZES: Final = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)


@dataclass(frozen=True, slots=True)
class Metric:
    """What a metric means and how it is counted."""

    name: str
    kind: Kind
    source: Source
    meaning: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()

    @property
    def width(self) -> int:
        """How many numbers it is kept in: one, or one a bucket, that beyond the last, and the sum."""
        return len(self.buckets) + 2 if self.buckets else 1


METRICS: Final[dict[str, Metric]] = {}
"""Every metric by its name."""


def _listed(made: Metric) -> Metric:
    assert made.name not in METRICS
    assert (made.kind == "counter") == made.name.endswith("_total")
    METRICS[made.name] = made
    return made


def _counted(name: str, meaning: str, labels: str = "") -> Metric:
    return _listed(Metric(name, "counter", "process", meaning, tuple(labels.split())))


def _measured(name: str, meaning: str, labels: str = "", buckets: tuple[float, ...] = _SHORT) -> Metric:
    return _listed(Metric(name, "histogram", "process", meaning, tuple(labels.split()), buckets))


def _gauge(name: str, meaning: str, labels: str = "") -> Metric:
    return _listed(Metric(name, "gauge", "database", meaning, tuple(labels.split())))


def _total(name: str, meaning: str, labels: str = "") -> Metric:
    return _listed(Metric(name, "counter", "database", meaning, tuple(labels.split())))


# --- Counted by the processes of workers -------------------------------------------------------------------
CLAIM_SECONDS: Final = _measured(
    "remand_claim_duration_seconds", "Time of a claim: a statement, and waits for a database that is away."
)
CLAIM_WAIT_SECONDS: Final = _measured(
    "remand_claim_wait_seconds",
    "How long a step had been due when a worker claimed it; steps that follow in the same drain do not wait.",
    "queue",
    _LONG,
)
SETTLE_SECONDS: Final = _measured(
    "remand_settle_duration_seconds", "Time until the results of a batch are stored for good."
)
BATCH_STEPS: Final = _measured("remand_batch_steps", "Steps that ran between two settles.", "", _SIZES)
STEP_SECONDS: Final = _measured(
    "remand_step_duration_seconds",
    "Time in a handler. Outcome: complete, failed, timed_out, abandoned (claim lost), interrupted (a stop).",
    "handler outcome",
    _LONG,
)
FAILED_ATTEMPTS: Final = _counted(
    "remand_failed_attempts_total",
    "Attempts that ended badly, by the policy they were routed to and their category.",
    "policy category",
)
RETRIES: Final = _counted(
    "remand_retries_total", "Retries that were decided, by policy and category.", "policy category"
)
LOST_ATTEMPTS: Final = _counted(
    "remand_lost_attempts_total",
    "Attempts that were lost. Cause: process (it died), timeout (it was killed for it), gone (its worker"
    " died), lease (it ran out).",
    "cause",
)
LOST_CAUSES: Final = ("process", "timeout", "gone", "lease")
BELLS: Final = _counted(
    "remand_bells_total",
    "Bells. Outcome: sent, failed (the broker did not take it), muted (it refused one a moment ago), enough"
    " (as many lie in the broker unheard as need).",
    "queue outcome",
)
SWEEP_SECONDS: Final = _measured("remand_sweep_duration_seconds", "Time of a run of a sweep.", "sweep", _LONG)
TIME_UNTIL_STALE: Final = _measured(
    "remand_time_until_stale_seconds",
    "Age of workflows that the stale sweep took out of work: since they were submitted, or a person last"
    " let them go on. Why: worker_unavailable, lifetime, state.",
    "why",
    _AGES,
)
LOGGED_EVENTS: Final = _counted(
    "remand_logged_events_total", "Events of the log, written or below its level, by name.", "event"
)

# --- Read from the database by the server -------------------------------------------------------------------
INFO: Final = _gauge("remand_info", "Always 1; which version and schema this is.", "version schema")
LOOK_SECONDS: Final = _gauge("remand_look_duration_seconds", "How long the last look at the database took.")
QUEUE_STEPS: Final = _gauge(
    "remand_queue_steps",
    "Live steps by queue. Phase: ready, failed (waits for its retry worker), waiting (back-off), held (by a"
    " breaker), claimed.",
    "queue phase",
)
QUEUE_DUE: Final = _gauge("remand_queue_due_steps", "Steps that could be taken up now.", "queue")
QUEUE_OLDEST: Final = _gauge(
    "remand_queue_oldest_due_seconds", "How long the oldest of them has been due; 0: none is.", "queue"
)
QUEUE_WORKERS: Final = _gauge("remand_queue_workers", "Live workers that listen to a queue.", "queue")
QUEUE_PAUSED: Final = _gauge("remand_queue_paused", "1 while a queue is paused.", "queue")
WORKFLOWS: Final = _gauge("remand_workflows", "Live workflows by state.", "state")
WORKERS: Final = _gauge("remand_workers", "Live workers, by version of Remand and of handlers.",
                        "version code_version")  # fmt: skip
WORKER_SLOTS: Final = _gauge("remand_worker_slots", "Processes of live workers that listen to step queues.")
WORKER_BUSY: Final = _gauge("remand_worker_busy_slots", "Processes of live workers that hold a claim.")
BREAKER_STATE: Final = _gauge(
    "remand_breaker_state", "1 for the state the breaker is in, 0 for the others.", "dependency state"
)
BREAKER_SINCE: Final = _gauge(
    "remand_breaker_state_seconds", "How long the breaker has been in its state.", "dependency"
)
BREAKER_HELD: Final = _gauge("remand_breaker_held_steps", "Steps the breaker holds back.", "dependency")
DLQ_SIZE: Final = _gauge("remand_dlq_size", "Open dead letters.", "reason status dead_queue")
DLQ_LIMIT: Final = _gauge(
    "remand_dlq_size_limit", "Open letters a dead queue is meant to hold.", "dead_queue"
)
DLQ_OLDEST: Final = _gauge(
    "remand_dlq_oldest_open_seconds", "Age of the oldest open dead letter; 0: none is open."
)
DLQ_GROUPS: Final = _gauge("remand_dlq_groups", "Groups of dead letters that are not resolved.", "state")
DLQ_OVERDUE: Final = _gauge("remand_dlq_overdue_groups", "Of them those that are past their due date.")
DLQ_ENTRIES: Final = _total(
    "remand_dlq_entries_total", "Dead letters ever opened.", "reason category policy dead_queue"
)
DLQ_CLOSED: Final = _total("remand_dlq_closed_total", "Dead letters ever closed, by how.", "status reason")
DLQ_CLOSE_SECONDS: Final = _total(
    "remand_dlq_close_seconds_total", "Seconds from opened to closed, of all that were closed.", "status"
)
DLQ_REQUEUES: Final = _total("remand_dlq_requeues_total", "Dead letters ever sent back to work.", "reason")
DLQ_REQUEUES_FAILED: Final = _total(
    "remand_dlq_requeues_failed_total",
    "Dead letters of steps that had one before: sending them back did not help.",
    "reason",
)
DLQ_PERMANENT: Final = _total(
    "remand_dlq_permanent_failures_total", "Dead letters ever closed as failed for good.", "reason"
)
REDRIVES: Final = _gauge("remand_redrives", "Redrives that have not ended.", "state")
SWEEP_INTERVAL: Final = _gauge(
    "remand_sweep_interval_seconds", "How often the sweep should run, as set.", "sweep"
)
SWEEP_SUCCESS: Final = _gauge(
    "remand_sweep_last_success_timestamp_seconds",
    "When the sweep last went well; while it never did, since when somebody listens for it.",
    "sweep",
)
SWEEP_LAST_SECONDS: Final = _gauge(
    "remand_sweep_last_duration_seconds", "How long its last run took.", "sweep"
)
SWEEP_FAILURES_IN_A_ROW: Final = _gauge(
    "remand_sweep_failures_in_a_row", "Runs that failed since one went well.", "sweep"
)
SWEEP_RUNS: Final = _total("remand_sweep_runs_total", "Runs ever.", "sweep")
SWEEP_FAILURES: Final = _total("remand_sweep_failures_total", "Runs that ever failed.", "sweep")
SWEEP_MOVED: Final = _total("remand_sweep_moved_total", "Rows the sweep ever moved.", "sweep")
WORKERS_LOST: Final = _total("remand_workers_lost_total", "Workers that were ever found gone.")
ATTEMPTS_RESCUED: Final = _total(
    "remand_attempts_rescued_total", "Attempts ever taken back from workers that were gone."
)
PARTITIONS_CREATED: Final = _total("remand_partitions_created_total", "Tables of periods ever made.")
PARTITION_FAILURES: Final = _total(
    "remand_partition_creation_failures_total", "Runs of the partition sweep that ever failed."
)
PARTITIONS_DETACHED: Final = _total(
    "remand_partitions_detached_total", "Periods that ever went to the archive as a whole."
)
STALE_WARNINGS: Final = _total(
    "remand_stale_warnings_total",
    "Workflows of which people were warned, once each: stale soon, or stale and left where they are.",
)
WORKFLOWS_ARCHIVED: Final = _total("remand_workflows_archived_total", "Workflows ever archived.")
PARTITIONS_AHEAD: Final = _gauge(
    "remand_partitions_ahead", "Periods after the current one that all tables have, without a gap."
)
PARTITION_HEADROOM: Final = _gauge(
    "remand_partition_headroom_seconds", "Time until the last of them ends; 0: none holds this moment."
)
TABLE_BYTES: Final = _gauge(
    "remand_table_bytes",
    "Size of a partitioned table with its indexes. Home: live, archive, none (attached nowhere).",
    "table home",
)
