"""Which moves are legal: three tables, one row per (from, event, to), no wildcards.

The migration seeds them into `transition_rule`, to which every history row points: a move that is not
here cannot be stored. `docs/state-machines.md` is drawn from them. Source: A4, A5.
"""

from __future__ import annotations

from typing import NamedTuple

from remand_app.domain.states import BreakerState as B
from remand_app.domain.states import StepState as S
from remand_app.domain.states import WorkflowState as W


class Rule(NamedTuple):
    """One legal move of one kind of entity."""

    kind: str  # "workflow", "step" or "breaker"
    from_state: str
    event: str
    to_state: str


def _workflow(from_state: W, event: str, to_state: W) -> Rule:
    return Rule("workflow", from_state, event, to_state)


def _step(from_state: S, event: str, to_state: S) -> Rule:
    return Rule("step", from_state, event, to_state)


def _breaker(from_state: B, event: str, to_state: B) -> Rule:
    return Rule("breaker", from_state, event, to_state)


_LIVE_WORKFLOW = (
    W.PENDING,
    W.INITIALIZING,
    W.ENQUEUING_STEPS,
    W.STEPS_IN_PROCESS,
    W.EVALUATING_RESULTS,
    W.WAITING_FOR_DEPENDENCIES,
    W.WAITING_FOR_RETRY,
    W.BLOCKED_BY_FAILURES,
)

WORKFLOW_RULES: tuple[Rule, ...] = (
    _workflow(W.PENDING, "start", W.INITIALIZING),
    _workflow(W.INITIALIZING, "ready_steps_found", W.ENQUEUING_STEPS),
    _workflow(W.ENQUEUING_STEPS, "steps_enqueued", W.STEPS_IN_PROCESS),
    _workflow(W.STEPS_IN_PROCESS, "step_settled", W.EVALUATING_RESULTS),
    _workflow(W.STEPS_IN_PROCESS, "retry_scheduled", W.WAITING_FOR_RETRY),
    _workflow(W.WAITING_FOR_RETRY, "retry_due", W.ENQUEUING_STEPS),
    _workflow(W.WAITING_FOR_RETRY, "step_settled", W.EVALUATING_RESULTS),
    _workflow(W.WAITING_FOR_DEPENDENCIES, "dependencies_ready", W.EVALUATING_RESULTS),
    _workflow(W.EVALUATING_RESULTS, "all_steps_done", W.COMPLETE),
    _workflow(W.EVALUATING_RESULTS, "ready_steps_found", W.ENQUEUING_STEPS),
    _workflow(W.EVALUATING_RESULTS, "retry_scheduled", W.WAITING_FOR_RETRY),
    _workflow(W.EVALUATING_RESULTS, "none_ready", W.WAITING_FOR_DEPENDENCIES),
    _workflow(W.EVALUATING_RESULTS, "steps_failed", W.BLOCKED_BY_FAILURES),
    _workflow(W.BLOCKED_BY_FAILURES, "give_up", W.ERROR),
    _workflow(W.BLOCKED_BY_FAILURES, "reopen", W.WAITING_FOR_DEPENDENCIES),
    _workflow(W.ERROR, "reopen", W.WAITING_FOR_DEPENDENCIES),
    *(_workflow(state, "pause", state) for state in _LIVE_WORKFLOW),
    *(_workflow(state, "resume", state) for state in _LIVE_WORKFLOW),
    *(_workflow(state, "cancel", W.CANCELLED) for state in _LIVE_WORKFLOW),
    *(_workflow(state, "resolve_manually", W.RESOLVED_MANUALLY) for state in _LIVE_WORKFLOW),
)

_LIVE_STEP = (
    S.PENDING,
    S.ENQUEUED,
    S.IN_PROGRESS,
    S.ENQUEUED_FOR_ORCHESTRATION,
    S.ENQUEUED_AS_ERROR_FOR_ORCHESTRATION,
    S.WAITING_FOR_RETRY,
    S.ERROR,
)

_TAKEN_OUT_STEP = tuple(state for state in _LIVE_STEP if state not in (S.ERROR, S.ENQUEUED_FOR_ORCHESTRATION))
_RESTARTABLE_STEP = (
    S.COMPLETE,
    S.RESOLVED_MANUALLY,
    S.ERROR,
    S.WAITING_FOR_RETRY,
    S.ENQUEUED,
    S.CANCELLED,  # a step that was skipped: its workflow has not ended
)

STEP_RULES: tuple[Rule, ...] = (
    _step(S.PENDING, "enqueue", S.ENQUEUED),
    _step(S.ENQUEUED, "start", S.IN_PROGRESS),
    _step(S.ENQUEUED, "withdraw", S.PENDING),
    _step(S.ENQUEUED, "hold", S.WAITING_FOR_RETRY),
    _step(S.IN_PROGRESS, "complete", S.COMPLETE),
    _step(S.IN_PROGRESS, "park", S.ENQUEUED_FOR_ORCHESTRATION),
    _step(S.IN_PROGRESS, "fail", S.ENQUEUED_AS_ERROR_FOR_ORCHESTRATION),
    _step(S.IN_PROGRESS, "interrupt", S.ENQUEUED),
    _step(S.ENQUEUED_FOR_ORCHESTRATION, "complete", S.COMPLETE),
    _step(S.ENQUEUED_AS_ERROR_FOR_ORCHESTRATION, "schedule_retry", S.WAITING_FOR_RETRY),
    _step(S.ENQUEUED_AS_ERROR_FOR_ORCHESTRATION, "fail_permanently", S.ERROR),
    _step(S.WAITING_FOR_RETRY, "retry", S.ENQUEUED),
    _step(S.WAITING_FOR_RETRY, "release", S.ENQUEUED),
    _step(S.WAITING_FOR_RETRY, "withdraw", S.PENDING),
    _step(S.ERROR, "reset_for_retry", S.PENDING),
    *(_step(state, "cancel", S.CANCELLED) for state in _LIVE_STEP),
    *(_step(state, "resolve_manually", S.RESOLVED_MANUALLY) for state in _LIVE_STEP),
    *(_step(state, "complete_manually", S.COMPLETE) for state in _LIVE_STEP),
    *(_step(state, "skip", S.RESOLVED_MANUALLY) for state in _LIVE_STEP),
    *(_step(state, "take_out", S.ERROR) for state in _TAKEN_OUT_STEP),
    *(_step(state, "restart", S.PENDING) for state in _RESTARTABLE_STEP),
)

BREAKER_RULES: tuple[Rule, ...] = (
    _breaker(B.CLOSED, "trip", B.OPEN),
    _breaker(B.OPEN, "cool_down", B.HALF_OPEN),
    _breaker(B.HALF_OPEN, "probe_failed", B.OPEN),
    _breaker(B.HALF_OPEN, "probes_succeeded", B.CLOSED),
    *(_breaker(state, "open_manually", B.OPEN) for state in B),
    *(_breaker(state, "close_manually", B.CLOSED) for state in B),
    *(_breaker(state, "reset", B.CLOSED) for state in B),
)

RULES: tuple[Rule, ...] = WORKFLOW_RULES + STEP_RULES + BREAKER_RULES
_LEGAL = frozenset(RULES)


def is_legal(kind: str, from_state: str, event: str, to_state: str) -> bool:
    """Return whether the move is a row of the tables."""
    return Rule(kind, from_state, event, to_state) in _LEGAL
