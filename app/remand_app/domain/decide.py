"""Own the one decision after an attempt: again, or dead. Failure, timeout and lost worker all come here.

The decision is made once, when the attempt ends, and its value is stored; nothing derives it again later.
Classification happened before (`remand.classify`), moving rows comes after (`engine`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final, Literal

from remand_app.domain import backoff
from remand_app.domain.retry import RetrySpec

_HORIZON: Final = datetime(9000, 1, 1, tzinfo=UTC)
"""The latest instant of a plan: ten thousand waits of a year would exceed Python's calendar."""


@dataclass(frozen=True, slots=True)
class EndedAttempt:
    """Hold what is known of a step at the moment an attempt of it ended badly."""

    outcome: Literal["failed", "timed_out", "lost"]
    failures: int
    """Attempts that failed or timed out, this one included; lost ones are not counted."""
    lost: int
    """Attempts lost with their worker, this one included if it is one."""
    category: str
    policy: str
    """The policy that the failure was routed by (see `route`)."""
    retry_after: timedelta | None = None
    is_nothing_sent: bool = False
    """Whether it is known that the attempt failed before anything was sent (`remand.not_sent`)."""
    failing_since: datetime | None = None
    """When the first attempt in a row ended badly, lost ones included; None: this one is the first."""


@dataclass(frozen=True, slots=True)
class Retry:
    """Run the step again at `due_at`."""

    policy: str
    delay: timedelta
    due_at: datetime
    explanation: str


@dataclass(frozen=True, slots=True)
class Dead:
    """Do not run the step again until a person has decided."""

    reason: Literal["permanent_failure", "max_retries_exceeded", "worker_lost"]
    explanation: str


def route(category: str, policy: str, spec: RetrySpec) -> str:
    """Return the policy whose queue takes the failure: `spec` may override the classifier's."""
    return spec.policies.get(category, policy)


def decide(ended: EndedAttempt, spec: RetrySpec, *, now: datetime, jitter: float) -> Retry | Dead:
    """Decide between another attempt and the dead letter queue.

    `now` is the aware instant the attempt ended, `jitter` a draw in [-1, 1].
    Raises `ValueError` for a naive `now`, an unknown policy, or counts below 1 for the kind of end.
    """
    if now.tzinfo is None:
        raise ValueError("now must carry a time zone")
    dead = _forbidden(ended, spec) or (
        _poison(ended, spec) if ended.outcome == "lost" else _spent(ended, spec)
    )
    if dead is not None:
        return dead
    retry = _again(ended, spec, now=now, jitter=jitter)
    return _too_late(ended, retry, spec, now) or retry


def latest_due(failing_since: datetime | None, spec: RetrySpec, *, now: datetime) -> datetime | None:
    """Return the last instant at which a retry may be due; None: there is none."""
    limit = spec.retry_for_seconds
    return None if limit is None else (failing_since or now) + timedelta(seconds=limit)


@dataclass(frozen=True, slots=True)
class Planned:
    """What follows after an attempt if every attempt fails in the same way."""

    attempt: int
    decision: Retry | Dead
    """Without jitter."""
    least: timedelta
    """Shortest wait that jitter may give; 0 for a death."""
    most: timedelta
    """Longest wait that jitter may give; 0 for a death."""


def schedule(ended: EndedAttempt, spec: RetrySpec, *, now: datetime) -> list[Planned]:
    """Return what follows after each attempt, up to the death, if each fails as `ended` did.

    The attempts take no time in it. `now` is the aware instant the first of them ended. Lost attempts, which
    have no plan of their own, are refused.
    Raises as `decide` does.
    """
    if ended.outcome == "lost":
        raise ValueError("only attempts that failed or timed out can be planned")
    plan: list[Planned] = []
    since = ended.failing_since or now
    while True:
        decision = decide(replace(ended, failing_since=since), spec, now=now, jitter=0.0)
        if isinstance(decision, Dead):
            plan.append(Planned(ended.failures, decision, timedelta(0), timedelta(0)))
            return plan
        least, most = backoff.bounds(ended.policy, ended.failures, spec, retry_after=ended.retry_after)
        plan.append(Planned(ended.failures, decision, least, most))
        ended = replace(ended, failures=ended.failures + 1)
        now = min(decision.due_at, _HORIZON)


def _forbidden(ended: EndedAttempt, spec: RetrySpec) -> Dead | None:
    if ended.policy == "never":
        return Dead("permanent_failure", f"{_what(ended)}: the policy of category {ended.category} is never")
    if not spec.retryable:
        return Dead("permanent_failure", f"{_what(ended)}, and the step is marked retryable: false")
    if spec.retryable == "connection_only" and not ended.is_nothing_sent:
        return Dead(
            "permanent_failure",
            f"{_what(ended)}: something may have been sent, and the step is marked "
            "retryable: connection_only",
        )
    return None


def _poison(ended: EndedAttempt, spec: RetrySpec) -> Dead | None:
    if ended.lost < 1:
        raise ValueError("a lost attempt must be counted in `lost`")
    if ended.lost < spec.lost_attempts:
        return None
    return Dead(
        "worker_lost",
        f"{_what(ended)} ({ended.lost} of {spec.lost_attempts} lost attempts are used): "
        "the step may be killing its workers",
    )


def _spent(ended: EndedAttempt, spec: RetrySpec) -> Dead | None:
    if ended.failures < 1:
        raise ValueError("a failed attempt must be counted in `failures`")
    if ended.failures >= spec.max_attempts:
        return Dead(
            "max_retries_exceeded",
            f"{_what(ended)}: {ended.failures} of {spec.max_attempts} attempts have failed",
        )
    limit = spec.max_retry_after_seconds
    if ended.retry_after is not None and ended.retry_after.total_seconds() > limit:
        return Dead(
            "permanent_failure",
            f"{_what(ended)}: the server asks to wait {ended.retry_after.total_seconds():g} s, more than "
            f"max_retry_after_seconds ({limit:g} s); an earlier retry would only be refused",
        )
    return None


def _too_late(ended: EndedAttempt, retry: Retry, spec: RetrySpec, now: datetime) -> Dead | None:
    limit = spec.retry_for_seconds
    since = ended.failing_since or now
    if limit is None or (retry.due_at - since).total_seconds() <= limit:
        return None
    return Dead(
        "max_retries_exceeded",
        f"{_what(ended)}: the step has been failing since {_utc(since)}, and the next retry would be due at "
        f"{_utc(retry.due_at)}, later than retry_for_seconds ({limit:g} s) allows",
    )


def _again(ended: EndedAttempt, spec: RetrySpec, *, now: datetime, jitter: float) -> Retry:
    if ended.outcome == "lost":
        policy, failures, count = (
            "immediate",
            1,
            f"{ended.lost} of {spec.lost_attempts} lost attempts are used",
        )
        retry_after = None
    else:
        policy, failures, count = (
            ended.policy,
            ended.failures,
            f"attempt {ended.failures} of {spec.max_attempts}",
        )
        retry_after = ended.retry_after
    wait = backoff.delay(policy, failures, spec, jitter=jitter, retry_after=retry_after)
    asked = f", the server asked for {retry_after.total_seconds():g} s" if retry_after else ""
    why = f"{_what(ended)} ({count}): policy {policy} waits {round(wait.total_seconds(), 1):g} s{asked}"
    return Retry(policy=policy, delay=wait, due_at=now + wait, explanation=why)


def _what(ended: EndedAttempt) -> str:
    match ended.outcome:
        case "lost":
            return "the worker was lost"
        case "timed_out":
            return "the attempt timed out"
        case "failed":
            return f"the attempt failed ({ended.category})"


def _utc(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
