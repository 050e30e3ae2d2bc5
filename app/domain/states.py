"""The states of workflows, steps and dead letters, as stored.

Each state's comment says who moves a row in and who moves it out; which moves are legal is
`transitions.py`. An unknown stored value raises `ValueError` when it is read: nothing is guessed.
"""

from __future__ import annotations

from enum import StrEnum


class WorkflowState(StrEnum):
    """Where a workflow as a whole stands."""

    PENDING = "pending"  # in: submit; out: submit, in the same transaction
    INITIALIZING = "initializing"  # in and out: submit, while it writes steps
    ENQUEUING_STEPS = "enqueuing_steps"  # in and out: submit, retry, reopen, while ready steps get queued
    STEPS_IN_PROCESS = "steps_in_process"  # in: submit, retry, reopen; out: settle, failure, operator
    EVALUATING_RESULTS = "evaluating_results"  # in and out: the roll-up, within one transaction
    WAITING_FOR_DEPENDENCIES = "waiting_for_dependencies"  # in: reopen, hold; out: the roll-up
    WAITING_FOR_RETRY = "waiting_for_retry"  # in: a retry worker; out: ring sweep, operator
    BLOCKED_BY_FAILURES = "blocked_by_failures"  # in: the roll-up; out: an operator's decision only
    COMPLETE = "complete"  # in: settle, roll-up; final
    ERROR = "error"  # in: an operator gives up; out: an operator reopens
    CANCELLED = "cancelled"  # in: cancel; final
    RESOLVED_MANUALLY = "resolved_manually"  # in: an operator declares it done by hand; final

    @property
    def is_final(self) -> bool:
        """True when nothing but an operator's reopening (from `error`) can move it."""
        return self in FINAL_WORKFLOW_STATES

    @property
    def needs_person(self) -> bool:
        """True when the workflow cannot go on without somebody's decision."""
        return self is WorkflowState.BLOCKED_BY_FAILURES


class StepState(StrEnum):
    """Where one step stands."""

    PENDING = "pending"  # in: submit, reset, withdraw; out: settle of the last parent, operator
    ENQUEUED = "enqueued"  # in: submit, settle, retry, interruption; out: claim, withdraw, operator
    IN_PROGRESS = "in_progress"  # in: claim; out: settle, failure, rescue, operator
    ENQUEUED_FOR_ORCHESTRATION = "enqueued_for_orchestration"  # a result parked while the workflow row was
    # locked by somebody else; in: settle; out: the next settle of that drain, or the rescue sweep
    ENQUEUED_AS_ERROR_FOR_ORCHESTRATION = "enqueued_as_error_for_orchestration"  # in: failure, timeout,
    # rescue; out: the worker of its retry.<policy> queue
    WAITING_FOR_RETRY = "waiting_for_retry"  # in: a retry worker; out: ring sweep when due, operator
    COMPLETE = "complete"  # in: settle, operator with a result; final
    ERROR = "error"  # permanent failure; in: a retry worker; out: an operator's decision only
    CANCELLED = "cancelled"  # in: cancel of the workflow; final
    RESOLVED_MANUALLY = "resolved_manually"  # in: operator, without a result; final

    @property
    def is_final(self) -> bool:
        """True when the step has ended; `error` counts, an operator may reset it."""
        return self in FINAL_STEP_STATES

    @property
    def satisfies_children(self) -> bool:
        """True when steps that depend on this one may start."""
        return self in (StepState.COMPLETE, StepState.RESOLVED_MANUALLY)


class DeadLetterStatus(StrEnum):
    """How an investigation stands."""

    PENDING = "pending"  # opened by a terminal failure; nobody looks at it yet
    INVESTIGATING = "investigating"  # claimed by a person
    REQUEUED = "requeued"  # closed: the failed steps were sent back
    MANUALLY_RESOLVED = (
        "manually_resolved"  # closed: repaired by hand, the workflow went on or was declared done
    )
    PERMANENTLY_FAILED = "permanently_failed"  # closed: given up
    CANCELLED = "cancelled"  # closed: the workflow was cancelled

    @property
    def is_open(self) -> bool:
        """True while a person is still needed."""
        return self in (DeadLetterStatus.PENDING, DeadLetterStatus.INVESTIGATING)


class Phase(StrEnum):
    """Why a step has a row in the run queue."""

    READY = "ready"  # may be claimed
    CLAIMED = "claimed"  # a worker runs it under a lease
    FAILED = "failed"  # its failure waits for the worker of retry.<policy>
    WAITING = "waiting"  # back-off; `due_at` says until when
    SETTLING = "settling"  # its result is stored but not yet applied to the workflow


class Outcome(StrEnum):
    """How an attempt ended."""

    COMPLETE = "complete"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    LOST = "lost"
    INTERRUPTED = "interrupted"


class DeadReason(StrEnum):
    """Why a dead letter was opened."""

    PERMANENT_FAILURE = "permanent_failure"
    MAX_RETRIES_EXCEEDED = "max_retries_exceeded"
    STALENESS_TIMEOUT = "staleness_timeout"
    EXPIRED = "expired"
    WORKER_UNAVAILABLE = "worker_unavailable"
    WORKER_LOST = "worker_lost"
    DEPENDENCY_CYCLE_DETECTED = "dependency_cycle_detected"
    MANUAL_DLQ = "manual_dlq"


FINAL_WORKFLOW_STATES = frozenset(
    {
        WorkflowState.COMPLETE,
        WorkflowState.ERROR,
        WorkflowState.CANCELLED,
        WorkflowState.RESOLVED_MANUALLY,
    }
)
FINAL_STEP_STATES = frozenset(
    {StepState.COMPLETE, StepState.ERROR, StepState.CANCELLED, StepState.RESOLVED_MANUALLY}
)
CATEGORIES = ("transient", "network", "resource", "permission", "validation", "permanent")
POLICIES = ("exponential", "linear", "immediate", "never")
