"""The catalogue of events. INFO: something moved. WARNING: a sweep repaired it. ERROR: a person is needed.

One line for each unit of work, written when it ends and carrying what a reader will ask. Durations are
seconds. Payloads (inputs, results, checkpoints) are never fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from logging import ERROR, INFO, WARNING
from types import MappingProxyType
from typing import Final, Literal, get_args

EventName = Literal[
    "workflow.submitted",
    "workflows.submitted",
    "workflow.cancelled",
    "template.stored",
    "drain.ended",
    "claims.given_back",
    "settle.retried",
    "settle.refused",
    "attempt.failed",
    "attempt.rescued",
    "step.retry_scheduled",
    "step.decided",
    "step.timed_out",
    "step.killed",
    "dead_letter.opened",
    "dead_letter.claimed",
    "dead_letter.noted",
    "dead_letter.closed",
    "worker.registered",
    "worker.stopped",
    "worker.gone",
    "worker.silent",
    "worker.child_lost",
    "bell.lost",
    "bell.failed",
    "sweep.ended",
    "sweep.failed",
    "partition.created",
    "partition.missing",
    "schema.migrated",
    "server.started",
    "server.stopped",
]

STEP: Final = ("workflow_id", "step", "attempt")


@dataclass(frozen=True, slots=True)
class EventSpec:
    """What an event means, how severe it is (a level of `logging`), and the fields it may carry."""

    level: int
    meaning: str
    fields: tuple[str, ...]


EVENTS: Final[Mapping[EventName, EventSpec]] = MappingProxyType(
    {
        "workflow.submitted": EventSpec(
            INFO,
            "A workflow was stored, or found under its identity.",
            ("workflow_id", "namespace", "template", "version", "steps", "found"),
        ),
        "workflows.submitted": EventSpec(
            INFO,
            "Many workflows were stored in one transaction.",
            ("namespace", "template", "version", "count", "found", "duration_seconds"),
        ),
        "workflow.cancelled": EventSpec(
            INFO, "A workflow was given up.", ("workflow_id", "by", "reason", "steps")
        ),
        "template.stored": EventSpec(
            INFO, "A new version of a template was stored.", ("namespace", "template", "version", "hash")
        ),
        "drain.ended": EventSpec(
            INFO,
            "A drain left its queue: dry, out of time, or asked to stop.",
            (
                "queue",
                "worker",
                "batches",
                "claimed",
                "completed",
                "failed",
                "refused",
                "given_back",
                "ended_by",
                "duration_seconds",
            ),
        ),
        "claims.given_back": EventSpec(
            INFO,
            "Claimed attempts that had not begun went back, uncounted.",
            ("queue", "worker", "count", "reason"),
        ),
        "settle.retried": EventSpec(
            WARNING,
            "Results could not be stored at once and are tried again.",
            ("queue", "worker", "count", "tries", "error", "delay_seconds"),
        ),
        "settle.refused": EventSpec(
            INFO,
            "A result came from an attempt that is no longer the step's own; nothing changed.",
            (*STEP, "worker", "outcome"),
        ),
        "attempt.failed": EventSpec(
            INFO,
            "A handler failed; its failure travels to the queue of its policy.",
            (*STEP, "worker", "error", "category", "policy", "rule", "duration_seconds"),
        ),
        "attempt.rescued": EventSpec(
            WARNING,
            "The attempt of a gone worker was taken back.",
            (*STEP, "worker", "lost_attempts", "reason"),
        ),
        "step.retry_scheduled": EventSpec(
            INFO, "A failed step waits for its next attempt.", (*STEP, "policy", "due_at", "delay_seconds")
        ),
        "step.decided": EventSpec(
            INFO, "An operator decided on a step.", (*STEP, "verb", "from_state", "to_state", "by", "reason")
        ),
        "step.timed_out": EventSpec(
            INFO, "A step ran into its timeout and was told to stop.", (*STEP, "worker", "timeout_seconds")
        ),
        "step.killed": EventSpec(
            WARNING,
            "A step did not stop after its timeout; its process was killed.",
            (*STEP, "worker", "pid", "timeout_seconds", "grace_seconds"),
        ),
        "dead_letter.opened": EventSpec(
            ERROR,
            "A step cannot go on; its workflow waits for a person.",
            (*STEP, "dead_letter_id", "reason", "category", "error"),
        ),
        "dead_letter.claimed": EventSpec(
            INFO, "Someone investigates a dead letter.", ("dead_letter_id", "workflow_id", "by")
        ),
        "dead_letter.noted": EventSpec(
            INFO, "An investigation got a note.", ("dead_letter_id", "workflow_id", "by")
        ),
        "dead_letter.closed": EventSpec(
            INFO, "An investigation ended.", ("dead_letter_id", "workflow_id", "resolution", "by", "reason")
        ),
        "worker.registered": EventSpec(
            INFO, "A worker began.", ("worker", "host", "pid", "queues", "concurrency")
        ),
        "worker.stopped": EventSpec(INFO, "A worker ended in good order.", ("worker", "host", "pid")),
        "worker.gone": EventSpec(
            WARNING,
            "A worker ended without a word; its attempts are being rescued.",
            ("worker", "host", "pid", "reason", "silent_seconds", "attempts"),
        ),
        "worker.silent": EventSpec(
            WARNING, "A worker could not reach the database for its heartbeat; it goes on trying.", ("error",)
        ),
        "worker.child_lost": EventSpec(
            WARNING,
            "A process of a worker's pool died; its step counts as lost.",
            ("worker", "pid", "workflow_id", "step", "attempt", "error"),
        ),
        "bell.lost": EventSpec(
            WARNING,
            "Due work had nobody called for it; the sweep rang again.",
            ("queue", "due", "oldest_seconds"),
        ),
        "bell.failed": EventSpec(
            WARNING,
            "The broker did not take a bell after a commit; the sweep will ring.",
            ("queues", "error"),
        ),
        "sweep.ended": EventSpec(
            INFO,
            "A sweep moved something; sweeps that found nothing are silent.",
            ("sweep", "found", "moved", "duration_seconds"),
        ),
        "sweep.failed": EventSpec(
            ERROR, "A sweep could not do its work; the next will try again.", ("sweep", "error")
        ),
        "partition.created": EventSpec(
            INFO, "A month got its partitions.", ("table", "partition", "from_at", "to_at")
        ),
        "partition.missing": EventSpec(
            ERROR, "A coming month has no partition and could not get one.", ("table", "partition", "error")
        ),
        "schema.migrated": EventSpec(
            INFO, "The schema was brought to a revision.", ("from_revision", "to_revision")
        ),
        "server.started": EventSpec(
            INFO, "An embedded server answers.", ("server", "version", "pid", "duration_seconds")
        ),
        "server.stopped": EventSpec(INFO, "An embedded server was stopped.", ("server", "pid", "reason")),
    }
)

assert set(EVENTS) == set(get_args(EventName)), "the catalogue and its names have drifted apart"
