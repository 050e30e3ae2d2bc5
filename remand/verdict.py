"""The answer of the classifier, and how a verdict on a wrapped exception becomes that of its wrapper."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

UNCLASSIFIED: Final = "unclassified"
"""Name of the rule where no rule knew the failure."""

_LONGEST_EXPLANATION: Final = 1000
_RANK: Final = {"never": 3, "linear": 2, "fixed": 2, "exponential": 1, "fibonacci": 1, "immediate": 0}


@dataclass(frozen=True, slots=True)
class Classification:
    """Hold the verdict on one failure.

    `category`: transient, network, resource, permission, validation or permanent. `policy`: exponential,
    linear, immediate or never; fixed or fibonacci where a user's rule says so. `retry_after`: the wait that
    was asked for, a floor for any delay. `rule`: the name of the rule that decided. `confidence`: 0 to 1.
    `explanation`: one sentence for a person.
    """

    category: str
    policy: str
    retry_after: timedelta | None
    rule: str
    confidence: float
    explanation: str

    @property
    def is_known(self) -> bool:
        """Say whether some rule knew the failure."""
        return self.rule != UNCLASSIFIED


def sentence(subject: str, reason: str, wait: timedelta | None) -> str:
    """Return an explanation: what failed, why it counts as what it does, how long to wait."""
    asked = "" if wait is None else f"; it asked for {wait.total_seconds():g} s"
    return f"{subject}: {reason}{asked}"


def passed_on(verdict: Classification, wrapper: str, wait: timedelta | None, trust: float) -> Classification:
    """Return the verdict on an exception as the verdict on its wrapper, which may name a wait of its own."""
    if verdict.policy == "never":
        wait = None
    elif wait is None:
        wait = verdict.retry_after
    return replace(
        verdict,
        retry_after=wait,
        confidence=round(verdict.confidence * trust, 3),
        explanation=f"{wrapper}, caused by {verdict.explanation}"[:_LONGEST_EXPLANATION],
    )


def held_by(verdict: Classification, group: str) -> Classification:
    """Return the verdict on a member as the verdict on its group."""
    return replace(verdict, explanation=f"{group} holds {verdict.explanation}"[:_LONGEST_EXPLANATION])


def worse(kept: Classification | None, other: Classification) -> Classification:
    """Return the verdict that settles a group, with the longer of both waits; `never` goes first."""
    if kept is None:
        return other
    if _weight(other) > _weight(kept):
        kept, other = other, kept
    waits = [verdict.retry_after for verdict in (kept, other) if verdict.retry_after is not None]
    return kept if kept.policy == "never" or not waits else replace(kept, retry_after=max(waits))


def gravest(
    members: Iterable[BaseException], judge: Callable[[BaseException], Classification]
) -> BaseException | None:
    """Return the exception whose verdict settles a group, the first of equals; None for an empty group."""
    return max(members, key=lambda member: _weight(judge(member)), default=None)


def _weight(verdict: Classification) -> tuple[int, bool]:
    return _RANK[verdict.policy], verdict.is_known
