"""Say what kind of failure an exception is, and so whether, when and how a step is tried again.

Pure: no I/O, no vendor import, never raises. The order of stages: the exception's own word, the rules that
users added (for it and for what it wraps), its type, its codes, Python's own types, what it wraps, its text,
the general case of its library, the error that was being handled when it was raised, and last "unclassified".
"""

from __future__ import annotations

from datetime import datetime

from remand.classify_context import ClassifyContext
from remand.facts import HOSTILE
from remand.rules import RuleBook
from remand.stages import judge
from remand.verdict import UNCLASSIFIED, Classification


def classify(
    exc: BaseException, *, now: datetime | None = None, book: RuleBook | None = None
) -> Classification:
    """Return the verdict on an exception. Never raises.

    `now` is the instant that dates in Retry-After are measured from; with None the clock is read
    if there is such a date. `book`: None is that of the built-in rules.
    """
    return look_through(exc, ClassifyContext(book, now))


def look_through(exc: BaseException, look: ClassifyContext) -> Classification:
    """Return the verdict; afterwards `look` holds what was met on the way. Never raises."""
    try:
        return judge(exc, look)
    except HOSTILE:
        return Classification(
            "transient", "exponential", None, UNCLASSIFIED, 0.1, "the exception could not be examined"
        )


__all__ = ["UNCLASSIFIED", "Classification", "classify", "look_through"]
