"""The states of workflows, steps and dead letters, as stored.

Each state's docstring says who moves a row in and who moves it out; which moves are legal is
`transitions.py`. An unknown stored value raises `ValueError` when it is read: nothing is guessed.
"""

from __future__ import annotations

from enum import StrEnum


class WorkflowState(StrEnum):
    """The state of a whole workflow."""

    PENDING = "pending"
    """In: submit; out: submit, in the same transaction."""
    INITIALIZING = "initializing"
    """In and out: submit, while it writes steps."""
    ENQUEUING_STEPS = "enqueuing_steps"
    """In and out: submit, retry, reopen, while ready steps get queued."""
    STEPS_IN_PROCESS = "steps_in_process"
    """In: submit, retry, reopen; out: settle, failure, operator."""
    EVALUATING_RESULTS = "evaluating_results"
    """In and out: the roll-up, within one transaction."""
    WAITING_FOR_DEPENDENCIES = "waiting_for_dependencies"
    """In: reopen, hold; out: the roll-up."""
    WAITING_FOR_RETRY = "waiting_for_retry"
    """In: a retry worker, a breaker; out: ring sweep, operator."""
    BLOCKED_BY_FAILURES = "blocked_by_failures"
    """In: the roll-up; out: an operator's decision only."""
    COMPLETE = "complete"
    """In: settle, roll-up; final."""
    ERROR = "error"
    """In: an operator gives up; out: an operator reopens."""
    CANCELLED = "cancelled"
    """In: cancel; final."""
    RESOLVED_MANUALLY = "resolved_manually"
    """In: an operator declares it done by hand; final."""

    @property
    def is_final(self) -> bool:
        """True when nothing but an operator's reopening (from `error`) can move it."""
        return self in FINAL_WORKFLOW_STATES

    @property
    def needs_person(self) -> bool:
        """True when the workflow cannot go on without somebody's decision."""
        return self is WorkflowState.BLOCKED_BY_FAILURES


class StepState(StrEnum):
    """The state of a step."""

    PENDING = "pending"
    """In: submit, reset, withdraw; out: settle of the last parent, operator."""
    ENQUEUED = "enqueued"
    """In: submit, settle, retry, interruption; out: claim, withdraw, operator."""
    IN_PROGRESS = "in_progress"
    """In: claim; out: settle, failure, rescue, operator."""
    ENQUEUED_FOR_ORCHESTRATION = "enqueued_for_orchestration"
    """A result parked while its workflow was locked; in: settle; out: the next settle, the rescue sweep."""
    ENQUEUED_AS_ERROR_FOR_ORCHESTRATION = "enqueued_as_error_for_orchestration"
    """In: failure, timeout, rescue; out: the worker of its retry.<policy> queue."""
    WAITING_FOR_RETRY = "waiting_for_retry"
    """In: a retry worker, a breaker that holds it; out: ring sweep when due or released, operator."""
    COMPLETE = "complete"
    """In: settle, operator with a result; final."""
    ERROR = "error"
    """Permanent failure; in: a retry worker; out: an operator's decision only."""
    CANCELLED = "cancelled"
    """In: cancel of the workflow; final."""
    RESOLVED_MANUALLY = "resolved_manually"
    """In: operator, without a result; final."""

    @property
    def is_final(self) -> bool:
        """True when the step has ended; `error` counts, an operator may reset it."""
        return self in FINAL_STEP_STATES

    @property
    def satisfies_children(self) -> bool:
        """True when steps that depend on this one may start."""
        return self in (StepState.COMPLETE, StepState.RESOLVED_MANUALLY)


class DeadLetterStatus(StrEnum):
    """The state of an investigation."""

    PENDING = "pending"
    """Opened by a terminal failure; nobody looks at it yet."""
    INVESTIGATING = "investigating"
    """Claimed by a person."""
    REQUEUED = "requeued"
    """Closed: the failed steps were sent back."""
    MANUALLY_RESOLVED = "manually_resolved"
    """Closed: repaired by hand, the workflow went on or was declared done."""
    PERMANENTLY_FAILED = "permanently_failed"
    """Closed: given up."""
    CANCELLED = "cancelled"
    """Closed: the workflow was cancelled."""

    @property
    def is_open(self) -> bool:
        """True while a person is still needed."""
        return self in (DeadLetterStatus.PENDING, DeadLetterStatus.INVESTIGATING)


class GroupState(StrEnum):
    """The state of a group of dead letters with one cause."""

    OPEN = "open"
    """Its cause is there, and nobody looks at it; in: its first letter, a letter after it was resolved."""
    INVESTIGATING = "investigating"
    """Somebody owns it."""
    RESOLVED = "resolved"
    """Declared dealt with; a new letter opens it again."""


class Phase(StrEnum):
    """Why a step has a row in the run queue."""

    READY = "ready"
    """May be claimed."""
    CLAIMED = "claimed"
    """A worker runs it under a lease."""
    FAILED = "failed"
    """Its failure waits for the worker of retry.<policy>."""
    WAITING = "waiting"
    """Back-off; `due_at` says until when."""
    SETTLING = "settling"
    """Its result is stored but not yet applied to the workflow."""


class Gate(StrEnum):
    """What a breaker that is not closed did with a row of the run queue."""

    HELD = "held"
    """Kept back: it waits, uncounted, until the breaker lets it through."""
    PASSED = "passed"
    """Let through: as a probe, or released after recovery."""


class BreakerState(StrEnum):
    """The state of the circuit breaker of a dependency."""

    CLOSED = "closed"
    """In: probes that succeeded, operator; out: too many failures, operator."""
    OPEN = "open"
    """Nothing is claimed; in: failures, a failed probe, operator; out: the ring sweep, operator."""
    HALF_OPEN = "half_open"
    """A few probes are let through; in: the ring sweep; out: their ends, operator."""


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
