"""What an exception itself says of retries: by its class, or by attributes `retryable` and `retry_after`."""

from __future__ import annotations

from typing import Final

from remand.facts import Facts
from remand.rules import POLICY_OF
from remand.verdict import Classification, sentence

_WORDS: Final = frozenset({"retryable", "retry_after"})
_CLASSES: Final = frozenset(
    {
        "remand.errors.RetryableError",
        "remand.errors.PermanentError",
        "celery.exceptions.Retry",
        "celery.exceptions.Reject",
    }
)


def own_word(facts: Facts) -> Classification | None:
    """Return the verdict of the exception itself, None when it says nothing."""
    retryable = says_retryable(facts)
    if retryable is None:
        return None
    category = facts.get("category")
    if (
        not isinstance(category, str)
        or category not in POLICY_OF
        or (POLICY_OF[category] == "never") is retryable
    ):
        category = "transient" if retryable else "permanent"
    limited = "remand.errors.RateLimited" in facts.profile.name_set or (
        category == "resource" and facts.own_retry_after is not None
    )
    policy = "exponential" if limited else POLICY_OF[category]
    said = "the exception says to try again" if retryable else "the exception says that no retry can help"
    wait = facts.retry_after if retryable else None
    name = "own-word.retry" if retryable else "own-word.never"
    return Classification(category, policy, wait, name, 1.0, sentence(facts.names[0], said, wait))


def says_retryable(facts: Facts) -> bool | None:
    """Say what the exception says: try again, never, or nothing (None)."""
    if facts.present.isdisjoint(_WORDS) and facts.profile.name_set.isdisjoint(_CLASSES):
        return None
    if (
        "remand.errors.RetryableError" in facts.profile.name_set
        or "celery.exceptions.Retry" in facts.profile.name_set
    ):
        return True
    if "remand.errors.PermanentError" in facts.profile.name_set:
        return False
    word = facts.get("retryable")
    # In a google-auth error, False is the default: it counts as no word.
    if isinstance(word, bool) and (word or "google" not in facts.roots):
        return word
    if "celery.exceptions.Reject" in facts.profile.name_set:
        return facts.get("requeue") is True
    return True if facts.own_retry_after is not None else None
