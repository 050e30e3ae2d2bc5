"""Say what an exception is and how the classifier came to say so: everything it asked, in order.

The code that classifies also records the way; nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final

from remand.classify import Classification, look_through
from remand.classify_context import ClassifyContext, Considered, Trace
from remand.facts import HOSTILE, Facts, shown_code
from remand.rules import Kind, RuleBook

_CODES: Final = 100


@dataclass(frozen=True, slots=True)
class Code:
    """A code that an exception carries; users' rules name it in `codes`, a status in `statuses`."""

    subject: str
    kind: Kind
    code: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """Hold a verdict and how it came about.

    `considered`: everything asked, in order. `codes`: those of every exception looked at. `wrappers`: the
    classes that were looked through to the one that settled it, outermost first; empty when it was the
    exception itself. `winner`: what settled it, None when no rule knew the failure.
    """

    verdict: Classification
    considered: tuple[Considered, ...]
    codes: tuple[Code, ...]
    wrappers: tuple[str, ...]
    winner: Considered | None


def explain(exc: BaseException, *, now: datetime | None = None, book: RuleBook | None = None) -> Explanation:
    """Return the verdict that `classify` gives on an exception, and how it came about. Never raises."""
    return explain_look(exc, ClassifyContext(book, now, Trace()))


def explain_look(exc: BaseException, look: ClassifyContext) -> Explanation:
    """Return the explanation from a context that has a trace and may hold facts beforehand. Never raises."""
    trace = look.trace
    assert trace is not None
    verdict = look_through(exc, look)
    codes = islice((code for facts in look.facts.values() for code in _codes(facts)), _CODES)
    matched = (rule for rule in trace.considered if rule.outcome == "matched" and rule.rule == verdict.rule)
    winner = next(matched, None)
    wrappers = () if winner is None else trace.looked_through(winner)
    return Explanation(verdict, tuple(trace.considered), tuple(codes), wrappers, winner)


def _codes(facts: Facts) -> Iterator[Code]:
    try:
        for kind, key in facts.exact_codes():
            if kind != "code_word":
                yield Code(facts.names[0], kind, shown_code(kind, key))
    except HOSTILE:
        return
