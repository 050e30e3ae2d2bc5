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
    "workflow.stale_soon",
    "workflow.stale",
    "template.stored",
    "drain.ended",
    "claims.given_back",
    "settle.retried",
    "settle.divided",
    "parked.left",
    "claim.divided",
    "step.put_off",
    "attempt.failed",
    "attempt.unrecorded",
    "attempts.uncounted",
    "rules.unread",
    "failure.unclassified",
    "failure.uncounted",
    "failure.undecided",
    "rule.unknown_class",
    "attempt.rescued",
    "step.retry_scheduled",
    "step.decided",
    "step.killed",
    "dead_letter.opened",
    "dead_letter.claimed",
    "dead_letter.noted",
    "dead_letter.changed",
    "dead_letter.closed",
    "dead_letter.exhausted",
    "step.given_up",
    "dead_queue.changed",
    "group.changed",
    "group.reopened",
    "worker.registered",
    "worker.stopped",
    "worker.gone",
    "worker.silent",
    "worker.child_lost",
    "metrics.served",
    "metrics.not_served",
    "bell.failed",
    "bell.misdirected",
    "broker.unusable",
    "broker.awaited",
    "broker.there",
    "message.refused",
    "message.set_aside",
    "control.refused",
    "control.forbidden",
    "command.refused",
    "queue.differs",
    "step_events.dropped",
    "sweep.ended",
    "sweep.failed",
    "sweep.passed_over",
    "sweep.recovered",
    "database.awaited",
    "database.there",
    "beat.held",
    "beat.goes_on",
    "beat.unsure",
    "sweep.unnoted",
    "notification.sent",
    "notification.failed",
    "notification.given_up",
    "notification.retried",
    "notification.unsettled",
    "partition.created",
    "partition.filled",
    "partition.deferred",
    "archive.moved",
    "archive.deferred",
    "archive.restored",
    "archive.mismatch",
    "archive.exported",
    "archive.dropped",
    "breaker.opened",
    "breaker.half_open",
    "breaker.closed",
    "breaker.released",
    "redrive.planned",
    "redrive.moved",
    "redrive.sent",
    "redrive.stopped",
    "queue.paused",
    "workflow.paused",
    "workflow.resumed",
    "template.paused",
    "template.resumed",
    "queue.resumed",
    "queue.set",
    "server.started",
    "server.stopped",
    "request.ended",
    "request.failed",
    "request.unserved",
    "access.changed",
    "access.signed_in",
    "access.signed_out",
    "access.refused",
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
            ("workflow_id", "namespace", "template", "version", "found"),
        ),
        "workflows.submitted": EventSpec(
            INFO, "Many workflows were stored.", ("namespace", "template", "version", "count", "found")
        ),
        "workflow.cancelled": EventSpec(INFO, "A workflow was given up.", ("workflow_id", "by", "reason")),
        "template.stored": EventSpec(
            INFO, "A new version of a template was stored.", ("namespace", "template", "version")
        ),
        "drain.ended": EventSpec(
            INFO,
            "A drain left its queue: dry, out of time, or asked to stop.",
            ("queue", "batches", "claimed", "completed", "failed", "given_back", "duration_seconds"),
        ),
        "claims.given_back": EventSpec(
            INFO, "Claimed attempts that had not begun went back, uncounted.", ("queue", "count", "reason")
        ),
        "settle.retried": EventSpec(
            WARNING,
            "The database did not answer a drain, which tries again.",
            ("tries", "error", "delay_seconds"),
        ),
        "parked.left": EventSpec(
            WARNING,
            "A drain could not apply parked results, its own or others'; the rescue sweep does, one by one.",
            ("error",),
        ),
        "settle.divided": EventSpec(
            WARNING,
            "Results could not be recorded together; they are recorded one by one.",
            ("count", "error"),
        ),
        "claim.divided": EventSpec(
            WARNING,
            "A claim broke on one of its steps; the first of the queue is claimed alone.",
            ("queue", "error"),
        ),
        "step.put_off": EventSpec(
            ERROR,
            "A step can neither be claimed nor set aside; the queue goes on without it for a minute.",
            ("workflow_id", "step", "error"),
        ),
        "attempt.unrecorded": EventSpec(
            ERROR,
            "The end of an attempt could not be recorded at all; it is tried again, or counts as lost.",
            (*STEP, "error"),
        ),
        "rules.unread": EventSpec(
            WARNING,
            "The rules of a template could not be read; a failure is judged by the product's own.",
            ("workflow_id", "step", "error"),
        ),
        "attempts.uncounted": EventSpec(
            WARNING,
            "Attempts could not be added to the counts that breakers and budgets look at.",
            ("count", "error"),
        ),
        "attempt.failed": EventSpec(
            INFO,
            "A handler failed; its failure travels to the queue of its policy.",
            (*STEP, "error", "category", "policy", "rule"),
        ),
        "failure.unclassified": EventSpec(
            WARNING,
            "No rule knows these failures: they are retried, and listed so that a rule can be written.",
            ("fingerprint", "error", "count"),
        ),
        "failure.uncounted": EventSpec(
            WARNING, "Failures that no rule knows could not be listed; their steps go on.", ("count", "error")
        ),
        "failure.undecided": EventSpec(
            ERROR,
            "A failure can neither be decided nor become a dead letter; it is put off by a minute.",
            ("queue", "error"),
        ),
        "rule.unknown_class": EventSpec(
            WARNING,
            "A rule names a class that no exception here can have.",
            ("rule", "error_class", "source", "why"),
        ),
        "attempt.rescued": EventSpec(
            WARNING, "The attempt of a gone worker was taken back.", (*STEP, "worker", "reason")
        ),
        "step.retry_scheduled": EventSpec(
            INFO,
            "A failed step waits for its next attempt; put off: for want of retry budget.",
            (*STEP, "policy", "due_at", "delay_seconds", "put_off_seconds"),
        ),
        "step.decided": EventSpec(
            INFO,
            "An operator decided on a step.",
            ("workflow_id", "step", "verb", "from_state", "to_state", "by", "reason"),
        ),
        "step.killed": EventSpec(
            WARNING, "A step did not stop after its timeout; its process was killed.", (*STEP, "pid")
        ),
        "dead_letter.opened": EventSpec(
            ERROR,
            "A step cannot go on; its workflow waits for a person.",
            (*STEP, "dead_letter_id", "reason", "category", "error"),
        ),
        "dead_letter.claimed": EventSpec(
            INFO, "Someone investigates a dead letter.", ("dead_letter_id", "workflow_id", "by")
        ),
        "dead_letter.changed": EventSpec(
            INFO,
            "Who has a dead letter, its labels, links or metadata changed.",
            ("dead_letter_id", "verb", "by"),
        ),
        "step.given_up": EventSpec(
            ERROR,
            "A step cannot go on and gets no dead letter: its workflow ends in error.",
            (*STEP, "reason", "category", "error"),
        ),
        "dead_letter.exhausted": EventSpec(
            ERROR,
            "A dead letter failed after its last automatic requeue; its workflow ended in error.",
            ("workflow_id", "step", "dead_letter_id", "requeues"),
        ),
        "dead_queue.changed": EventSpec(
            INFO,
            "A person made, changed or deleted a dead queue, or pointed a queue to one.",
            ("dead_queue", "verb", "by", "reason"),
        ),
        "dead_letter.noted": EventSpec(INFO, "An investigation got a note.", ("dead_letter_id", "by")),
        "group.changed": EventSpec(
            INFO, "A person did something with a group of dead letters.", ("group_id", "verb", "by", "reason")
        ),
        "group.reopened": EventSpec(
            WARNING, "The cause of a group that was resolved came back.", ("group_id", "resolved_by")
        ),
        "dead_letter.closed": EventSpec(
            INFO, "An investigation ended.", ("dead_letter_id", "workflow_id", "status", "by", "reason")
        ),
        "worker.registered": EventSpec(
            INFO, "A worker began.", ("worker", "hostname", "pid", "pool", "concurrency", "queues")
        ),
        "worker.stopped": EventSpec(
            INFO,
            "A worker ended; not clean: what it held is left to the rescue sweep.",
            ("worker", "clean", "error"),
        ),
        "worker.gone": EventSpec(
            WARNING, "A worker ended without a word; its attempts were rescued.", ("worker", "hostname")
        ),
        "worker.silent": EventSpec(
            WARNING, "A worker could not reach the database for its heartbeat; it goes on trying.", ("error",)
        ),
        "worker.child_lost": EventSpec(
            WARNING, "A process of a worker's pool died; its step counts as lost.", (*STEP, "pid", "reason")
        ),
        "metrics.served": EventSpec(INFO, "A worker tells Prometheus its counts.", ("host", "port")),
        "metrics.not_served": EventSpec(
            WARNING,
            "A worker cannot listen where its counts would be told; it works without.",
            ("host", "port", "error"),
        ),
        "message.set_aside": EventSpec(
            ERROR,
            "A message that no worker could take became a dead letter.",
            ("dead_letter_id", "queue", "reason", "size"),
        ),
        "control.refused": EventSpec(
            WARNING,
            "A message of Celery's remote control was not obeyed.",
            ("reason",),
        ),
        "control.forbidden": EventSpec(
            ERROR,
            "Somebody gave a worker a command of Celery's remote control that it does not obey.",
            ("command",),
        ),
        "command.refused": EventSpec(
            WARNING,
            "A verb that came over the broker was refused: it needs a token, or a better one.",
            ("command", "by", "code"),
        ),
        "bell.misdirected": EventSpec(
            WARNING,
            "A bell came for a queue that this worker does not listen to; it was not heeded.",
            ("queue",),
        ),
        "bell.failed": EventSpec(
            WARNING,
            "The broker did not take a bell after a commit; the sweep will ring.",
            ("queue", "error"),
        ),
        "broker.unusable": EventSpec(
            WARNING,
            "A worker cannot hear its broker; it tries again after `delay_seconds`.",
            ("error", "message", "delay_seconds"),
        ),
        "queue.differs": EventSpec(
            ERROR,
            "A queue of ours was declared by somebody else, otherwise than we do; it is used as it is.",
            ("queue", "message", "advice"),
        ),
        "broker.awaited": EventSpec(
            WARNING,
            "A worker that starts waits for its broker: it is away, or loads its data.",
            ("error", "delay_seconds"),
        ),
        "broker.there": EventSpec(
            INFO, "The broker that a start had to wait for is there.", ("duration_seconds",)
        ),
        "message.refused": EventSpec(
            ERROR,
            "A message in a queue of ours names no task of ours; it was thrown away.",
            ("task", "queue"),
        ),
        "step_events.dropped": EventSpec(
            WARNING,
            "The broker did not take what is shown in Flower; nothing else is touched by it.",
            ("error",),
        ),
        "workflow.stale_soon": EventSpec(
            WARNING,
            "A workflow has shown no sign of life for a good share of what is allowed: said once.",
            ("workflow_id", "template", "state", "why", "queue", "stale_at"),
        ),
        "workflow.stale": EventSpec(
            ERROR,
            "A workflow is stale, and its lifecycle says to leave it where it is: a person is needed.",
            ("workflow_id", "template", "state", "why", "queue", "stale_at"),
        ),
        "sweep.ended": EventSpec(
            INFO, "A sweep moved something; sweeps that found nothing are silent.", ("sweep", "moved")
        ),
        "sweep.passed_over": EventSpec(
            ERROR,
            "A sweep could do nothing with a workflow; it went on with the others, and tries again.",
            ("sweep", "workflow_id", "error"),
        ),
        "sweep.failed": EventSpec(
            ERROR,
            "A sweep failed; while it goes on failing it is logged ever more seldom, `failures` counts on.",
            ("sweep", "error", "reason", "failures", "failing_seconds"),
        ),
        "sweep.recovered": EventSpec(
            INFO, "A sweep that had failed goes well again.", ("sweep", "failures", "failing_seconds")
        ),
        "database.awaited": EventSpec(
            WARNING,
            "A process that starts waits for PostgreSQL: it is away, starting, or takes no writes.",
            ("error", "delay_seconds"),
        ),
        "database.there": EventSpec(
            INFO, "PostgreSQL that a start had to wait for is there.", ("duration_seconds",)
        ),
        "beat.held": EventSpec(
            WARNING,
            "Beat rings no more for now: nobody takes its ticks, or the broker takes none. None is lost.",
            ("queue", "reason"),
        ),
        "beat.goes_on": EventSpec(INFO, "Beat rings again what it held.", ("queue",)),
        "beat.unsure": EventSpec(
            WARNING,
            "Beat could not read what is overdue; it rings by its own clock and asks again.",
            ("error",),
        ),
        "sweep.unnoted": EventSpec(
            WARNING,
            "How a sweep went could not be written down; it is kept, and written with what comes next.",
            ("sweep", "error"),
        ),
        "notification.sent": EventSpec(
            INFO,
            "A target took a message: one notice, or a digest of so many.",
            ("target", "message_id", "count", "attempt"),
        ),
        "notification.failed": EventSpec(
            WARNING,
            "A target did not take a message; it is sent again.",
            ("target", "message_id", "count", "attempt", "error", "due_at"),
        ),
        "notification.given_up": EventSpec(
            ERROR,
            "A message was refused or tried too often: a person may send it again.",
            ("target", "message_id", "count", "attempt", "error"),
        ),
        "notification.retried": EventSpec(
            INFO, "A person has notices sent again that were given up.", ("target", "count", "by")
        ),
        "notification.unsettled": EventSpec(
            WARNING,
            "What became of a message could not be recorded: it will be sent again, under the same id.",
            ("target", "message_id", "error"),
        ),
        "partition.created": EventSpec(INFO, "A period got a table of its own.", ("partition",)),
        "partition.filled": EventSpec(
            WARNING,
            "Rows that came before their period had tables moved into them.",
            ("partition", "rows"),
        ),
        "partition.deferred": EventSpec(
            WARNING,
            "Too many rows wait in the default partitions to be moved at once: they stay there.",
            ("partition", "rows"),
        ),
        "archive.moved": EventSpec(
            INFO,
            "Finished workflows went to the archive: a whole period, or batches of it.",
            ("period", "path", "workflows", "stayed", "lock_ms"),
        ),
        "archive.deferred": EventSpec(
            INFO,
            "A period did not change hands this time; the next sweep tries again.",
            ("period", "reason"),
        ),
        "archive.restored": EventSpec(
            INFO, "Workflows came back from the archive.", ("period", "path", "workflows", "by")
        ),
        "archive.mismatch": EventSpec(
            ERROR,
            "What arrived in the archive is not what left; it was handed back.",
            ("period", "handed_back"),
        ),
        "archive.exported": EventSpec(
            INFO, "A period of the archive was written to files.", ("period", "place", "workflows", "by")
        ),
        "archive.dropped": EventSpec(
            INFO,
            "A period of the archive was dropped: it was exported, or past its final retention.",
            ("period", "workflows", "reason", "by"),
        ),
        "breaker.opened": EventSpec(
            WARNING,
            "A circuit breaker opened: steps of its dependency wait, uncounted.",
            ("breaker", "by", "reason", "probe_at"),
        ),
        "breaker.half_open": EventSpec(
            INFO, "A breaker has cooled down and lets probes through.", ("breaker",)
        ),
        "breaker.closed": EventSpec(
            INFO, "A breaker closed: what it held goes out at a limited rate.", ("breaker", "by", "reason")
        ),
        "breaker.released": EventSpec(INFO, "All that a breaker held is out.", ("breaker",)),
        "redrive.planned": EventSpec(
            INFO, "The set of a redrive was fixed.", ("redrive_id", "verb", "total", "by")
        ),
        "redrive.moved": EventSpec(
            INFO, "A redrive came into another state.", ("redrive_id", "state", "by", "reason")
        ),
        "redrive.sent": EventSpec(
            INFO, "A redrive dealt with a batch of letters.", ("redrive_id", "verb", "sent", "skipped")
        ),
        "redrive.stopped": EventSpec(
            ERROR, "A canary was not good enough: the rest was not sent.", ("redrive_id", "reason")
        ),
        "workflow.paused": EventSpec(
            INFO, "A person holds a workflow: it starts no further step.", ("workflow_id", "by", "reason")
        ),
        "workflow.resumed": EventSpec(INFO, "A person lets a workflow go on.", ("workflow_id", "by")),
        "template.paused": EventSpec(
            INFO,
            "A person holds a template: its workflows are accepted and wait.",
            ("namespace", "template", "count", "by", "reason"),
        ),
        "template.resumed": EventSpec(
            INFO, "A person lets a template's workflows go on.", ("namespace", "template", "count", "by")
        ),
        "queue.paused": EventSpec(INFO, "A queue was paused.", ("queue", "by", "reason")),
        "queue.set": EventSpec(
            INFO,
            "A person said where letters of a queue lie, or when its workflows expire.",
            ("queue", "changed", "by", "reason"),
        ),
        "queue.resumed": EventSpec(INFO, "A paused queue goes on.", ("queue", "by")),
        "access.changed": EventSpec(
            INFO, "Somebody changed who may do what; the audit log has it, too.", ("verb", "subject", "by")
        ),
        "access.signed_in": EventSpec(INFO, "Somebody signed in.", ("name", "how", "address")),
        "access.signed_out": EventSpec(INFO, "Somebody signed out.", ("name",)),
        "access.refused": EventSpec(
            WARNING,
            "Signing in failed: a wrong name, password or link, or too many of them.",
            ("name", "why", "address"),
        ),
        "server.started": EventSpec(INFO, "The server of API and dashboard listens.", ("host", "port")),
        "server.stopped": EventSpec(
            INFO, "The server has answered what it had begun, and ended.", ("host", "port")
        ),
        "request.ended": EventSpec(
            INFO,
            "The server answered a request; its id is in the answer's X-Request-Id.",
            ("request_id", "method", "path", "status", "by", "duration_seconds"),
        ),
        "request.failed": EventSpec(
            ERROR,
            "A request met an error that nobody foresaw; the traceback comes with it.",
            ("request_id", "method", "path", "error"),
        ),
        "request.unserved": EventSpec(
            ERROR,
            "A request met a server or a setting that is not fit; its client was told no more than that.",
            ("request_id", "code", "error"),
        ),
    }
)

assert set(EVENTS) == set(get_args(EventName)), "the catalogue and its names have drifted apart"
