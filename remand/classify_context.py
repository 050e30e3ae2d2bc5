"""The state of one call of the classifier: the book, the exceptions it has met, and its trace."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from remand.facts import Facts
from remand.rules import RuleBook, built_in

_DEPTH: Final = 24
_EXCEPTIONS: Final = 500
"""Most exceptions read in one call: an exception may make a new cause each time it is asked for one."""

Outcome = Literal["matched", "condition not met", "no rule"]


@dataclass(frozen=True, slots=True)
class Considered:
    """One question that was asked on the way to a verdict.

    `stage`: see `remand.stages.STAGES`. `subject`: class of the exception it was asked about. `key`: what was
    looked up, as it is shown; empty for a stage that looks nothing up. `rule`: None where there is none.
    `note`: what a person may want to know, such as what a rule's function raised.
    """

    stage: str
    subject: str
    key: str
    rule: str | None
    outcome: Outcome
    note: str = ""


class Trace:
    """Record what is asked, in order. Only `explain` has a trace: plain classifying pays nothing for it."""

    __slots__ = ("_holders", "_subjects", "considered", "stage")

    def __init__(self) -> None:
        self.considered: list[Considered] = []
        self.stage = ""
        self._subjects: list[Facts] = []
        self._holders: dict[int, Facts] = {}

    def note(self, facts: Facts, key: str, rule: str | None, outcome: Outcome, note: str = "") -> None:
        """Record that a rule, or a key without a rule, was considered at the present stage."""
        self.considered.append(Considered(self.stage, facts.names[0], key, rule, outcome, note))
        self._subjects.append(facts)

    def enter(self, inner: BaseException, holder: Facts) -> None:
        """Record what is looked through to reach an exception."""
        self._holders.setdefault(id(inner), holder)

    def looked_through(self, considered: Considered) -> tuple[str, ...]:
        """Return the classes of the wrappers around the exception that was asked about, outermost first."""
        holder = self._holders.get(id(self._subjects[self.considered.index(considered)].exc))
        classes: list[str] = []
        while holder is not None and len(classes) < _DEPTH:
            classes.append(holder.names[0])
            holder = self._holders.get(id(holder.exc))
        return tuple(reversed(classes))


class ClassifyContext:
    """Carry what one call needs, and which exceptions it has already seen."""

    __slots__ = ("asked", "book", "depth", "facts", "now", "seen", "trace")

    def __init__(self, book: RuleBook | None, now: datetime | None, trace: Trace | None = None) -> None:
        """`book`: None is that of the built-in rules, which are loaded here if nobody asked one before."""
        self.book = book if book is not None else built_in()
        self.now = now
        self.trace = trace
        self.depth = 0
        self.seen: set[int] = set()
        self.asked: set[int] = set()
        self.facts: dict[int, Facts] = {}

    def at(self, exc: BaseException) -> Facts:
        """Return the facts of an exception, read once. Keeps it alive, so that no other gets its id."""
        facts = self.facts.get(id(exc))
        if facts is None:
            facts = self.facts[id(exc)] = Facts(exc, self.now)
        return facts

    @property
    def is_over(self) -> bool:
        """Say whether the limit of exceptions to look at is reached."""
        return self.depth >= _DEPTH or len(self.facts) >= _EXCEPTIONS
