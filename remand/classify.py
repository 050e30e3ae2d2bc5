"""Say what kind of failure an exception is, and so whether, when and how a step is tried again.

Pure: no I/O, no vendor import, never raises. The order: the exception's own word, the rules that users added
(for it and for what it wraps), its type, its codes, Python's own types, what it wraps, its text, the general
case of its library, the error it was raised beside, and at last "unclassified".
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from remand.facts import HOSTILE, Facts, read
from remand.rules import BOOK, POLICY_OF, Key, Kind, Rule, RuleBook
from remand.rules.layers import LayeredRules
from remand.rules.user import AnyRule, Conditions, FunctionRule, UserRule, Verdict, place_of
from remand.wrapped import members_of, wrapped

UNCLASSIFIED: Final = "unclassified"
_DEPTH: Final = 24
_NEVER: Final = frozenset(category for category, policy in POLICY_OF.items() if policy == "never")
_EXCEPTIONS: Final = 500
"""Looked at in one call, at most: an exception may make a new one whenever it is asked for its cause."""
_RANK: Final = {"never": 3, "linear": 2, "fixed": 2, "exponential": 1, "fibonacci": 1, "immediate": 0}
_SHOWN: Final[dict[Kind, str]] = {
    "status": "HTTP {}", "sqlstate": "SQLSTATE {}", "grpc": "gRPC {}", "smtp": "SMTP {}",
    "exit": "exit code {}", "amqp": "AMQP {}", "mongo": "MongoDB code {}", "mysql": "MySQL error {}",
    "sqlite": "{}", "ssl": "TLS {}",
    "gai": "name resolution error {}", "api_code": "error code {}", "code_word": "error code {}",
    "label": "label {}",
    "header": "header {}",
}  # fmt: skip


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


def classify(exc: BaseException, *, now: datetime | None = None, book: RuleBook = BOOK) -> Classification:
    """Return the verdict on an exception. Never raises.

    `now` is the instant that dates in Retry-After are measured from; with None the clock is read
    if there is such a date.
    """
    try:
        return _judge(exc, _Look(book, now))
    except HOSTILE:
        return Classification(
            "transient", "exponential", None, UNCLASSIFIED, 0.1, "the exception could not be examined"
        )


class _Look:
    """Carry what one call of `classify` needs, and which exceptions it has already seen."""

    __slots__ = ("asked", "book", "depth", "facts", "now", "seen")

    def __init__(self, book: RuleBook, now: datetime | None) -> None:
        self.book = book
        self.now = now
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
        return self.depth >= _DEPTH or len(self.facts) >= _EXCEPTIONS


def _judge(exc: BaseException, look: _Look) -> Classification:
    look.seen.add(id(exc))
    facts = look.at(exc)
    for stage in _STAGES:
        if (verdict := stage(facts, look)) is not None:
            return verdict
    explanation = f"{facts.names[0]}: no rule knows it; tried again a bounded number of times"
    return Classification("transient", "exponential", facts.retry_after, UNCLASSIFIED, 0.2, explanation)


def _own_word(facts: Facts, _look: _Look) -> Classification | None:
    retryable = _says_retryable(facts)
    if retryable is None:
        return None
    category = read(facts.exc, "category")
    if not isinstance(category, str) or category not in POLICY_OF or (category in _NEVER) is retryable:
        category = "transient" if retryable else "permanent"
    limited = "remand.errors.RateLimited" in facts.names or (
        category == "resource" and facts.own_retry_after is not None
    )
    policy = "exponential" if limited else POLICY_OF[category]
    said = "the exception says to try again" if retryable else "the exception says that no retry can help"
    wait = facts.retry_after if retryable else None
    name = "own-word.retry" if retryable else "own-word.never"
    return Classification(category, policy, wait, name, 1.0, _sentence(facts, "", said, wait))


def _says_retryable(facts: Facts) -> bool | None:
    if "remand.errors.RetryableError" in facts.names or "celery.exceptions.Retry" in facts.names:
        return True
    if "remand.errors.PermanentError" in facts.names:
        return False
    word = read(facts.exc, "retryable")
    # A google-auth error says False unless somebody set it: no word, but a default.
    if isinstance(word, bool) and (word or "google" not in facts.roots):
        return word
    if "celery.exceptions.Reject" in facts.names:
        return read(facts.exc, "requeue") is True
    return True if facts.own_retry_after is not None else None


def _registered(facts: Facts, look: _Look) -> Classification | None:
    """Ask the users' rules: about the exception, then about what it wraps, the nearest first.

    A user's rule for what is wrapped goes before every built-in rule for the wrapper. What was merely being
    handled (`__context__`) is asked where it is judged, last. A group's members are judged one by one.
    """
    users = look.book.users
    if users is None or id(facts.exc) in look.asked:
        return None
    look.asked.add(id(facts.exc))
    verdict = _by_users(facts, users)
    if verdict is not None or isinstance(facts.exc, BaseExceptionGroup):
        return verdict
    for inner in wrapped(facts.exc):
        if (verdict := _deeper(inner, look)) is not None:
            return _passed_on(facts, verdict, 0.95)
    return None


def _deeper(inner: BaseException, look: _Look) -> Classification | None:
    if id(inner) in look.asked or look.is_over:
        return None
    facts = look.at(inner)
    if _says_retryable(facts) is not None:
        # Its own word counts more than any rule, and is heard where it is judged.
        return None
    look.depth += 1
    try:
        return _registered(facts, look)
    finally:
        look.depth -= 1


def _by_users(facts: Facts, users: LayeredRules) -> Classification | None:
    codes = facts.code_keys if users.reads_codes else ()
    for place, rule in users.candidates(facts.names, codes):
        if not _meets(rule.conditions, facts):
            continue
        verdict = rule if isinstance(rule, UserRule) else _answer(rule, facts.exc)
        if verdict is not None:
            return _said_by(rule, place, verdict, facts)
    return None


def _meets(asked: Conditions, facts: Facts) -> bool:
    return (
        (not asked.errors or not asked.errors.isdisjoint(facts.names))
        and (not asked.statuses or not asked.statuses.isdisjoint(facts.code_keys))
        and (not asked.codes or not asked.codes.isdisjoint(facts.code_keys))
        and (asked.pattern is None or asked.pattern.search(facts.everything_said) is not None)
    )


def _answer(rule: FunctionRule, exc: BaseException) -> Verdict | None:
    try:
        answer = rule.function(exc)
        return Verdict(answer) if isinstance(answer, str) else answer if isinstance(answer, Verdict) else None
    except HOSTILE:
        return None


def _said_by(rule: AnyRule, place: str, said: UserRule | Verdict, facts: Facts) -> Classification:
    policy = said.policy or POLICY_OF[said.category]
    wait = None if policy == "never" else facts.retry_after
    if policy != "never" and said.retry_after is not None:
        floor = timedelta(seconds=said.retry_after)
        wait = floor if wait is None else max(wait, floor)
    reason = f"{said.reason or 'a rule says so'} ({place_of(rule, place)})"
    return Classification(said.category, policy, wait, rule.name, 1.0, _sentence(facts, "", reason, wait))


def _group(facts: Facts, look: _Look) -> Classification | None:
    """Judge an exception group by its worst member: one that can never succeed settles it."""
    if not isinstance(facts.exc, BaseExceptionGroup):
        return None
    worst: Classification | None = None
    for member in members_of(facts.exc):
        verdict = _judge_inner(member, look)
        if verdict is not None and (worst is None or _weight(verdict) > _weight(worst)):
            worst = _longest(verdict, worst)
        elif verdict is not None and worst is not None:
            worst = _longest(worst, verdict)
    if worst is None:
        return None
    return replace(worst, explanation=f"{facts.names[0]} holds {worst.explanation}"[:1000])


def _weight(verdict: Classification) -> tuple[int, bool]:
    return _RANK[verdict.policy], verdict.rule != UNCLASSIFIED


def _longest(kept: Classification, other: Classification | None) -> Classification:
    waits = [v.retry_after for v in (kept, other) if v is not None and v.retry_after is not None]
    return kept if kept.policy == "never" or not waits else replace(kept, retry_after=max(waits))


def _type(facts: Facts, look: _Look) -> Classification | None:
    return _by_name("type", facts, look)


def _base(facts: Facts, look: _Look) -> Classification | None:
    return _by_name("base", facts, look)


def _fallback(facts: Facts, look: _Look) -> Classification | None:
    verdict = _by_name("fallback", facts, look)
    flag = read(facts.exc, "retriable")
    if verdict is None and isinstance(flag, bool):
        for root in facts.roots:
            for rule in look.book.find("flag", f"{root}:{str(flag).lower()}"):
                return _found(facts, rule, "")
    return verdict


def _by_name(kind: Kind, facts: Facts, look: _Look) -> Classification | None:
    table = look.book.table(kind)
    for name in facts.names:
        for rule in table.get(name, ()):
            if _holds(rule, facts):
                return _found(facts, rule, "")
    return None


def _codes(facts: Facts, look: _Look) -> Classification | None:
    for kind, key in facts.codes():
        for rule in look.book.find(kind, key):
            if _holds(rule, facts):
                return _found(facts, rule, _shown(kind, key))
    return None


def _causes(facts: Facts, look: _Look) -> Classification | None:
    for cause in wrapped(facts.exc):
        verdict = _judge_inner(cause, look)
        if verdict is not None and verdict.rule != UNCLASSIFIED:
            return _passed_on(facts, verdict, 0.95)
    return None


def _context(facts: Facts, look: _Look) -> Classification | None:
    """Take the error that was being handled for the cause, if nothing else is known of the exception."""
    exc = facts.exc
    context = read(exc, "__context__")
    if not isinstance(context, BaseException) or read(exc, "__suppress_context__") is True:
        return None
    verdict = _judge_inner(context, look)
    if verdict is None or verdict.rule == UNCLASSIFIED:
        return None
    return _passed_on(facts, verdict, 0.6)


def _passed_on(facts: Facts, verdict: Classification, trust: float) -> Classification:
    wait = None
    if verdict.policy != "never":
        wait = facts.retry_after if facts.retry_after is not None else verdict.retry_after
    explanation = f"{facts.names[0]}, caused by {verdict.explanation}"[:1000]
    return replace(
        verdict, retry_after=wait, confidence=round(verdict.confidence * trust, 3), explanation=explanation
    )


def _judge_inner(exc: BaseException, look: _Look) -> Classification | None:
    if id(exc) in look.seen or look.is_over:
        return None
    look.depth += 1
    try:
        return _judge(exc, look)
    finally:
        look.depth -= 1


def _texts(facts: Facts, look: _Look) -> Classification | None:
    if not facts.text:
        return None
    for root in (*facts.roots, "*"):
        for rule in look.book.find("text", root):
            if _holds(rule, facts):
                return _found(facts, rule, "")
        if (status := facts.status_in_text()) is not None and root == "*":
            for rule in (*look.book.find("status", status), *look.book.find("status", f"{status // 100}xx")):
                if _holds(rule, facts):
                    return replace(_found(facts, rule, f"HTTP {status}"), confidence=0.6)
    return None


def _holds(rule: Rule, facts: Facts) -> bool:
    if rule.asked and facts.retry_after is None:
        return False
    return rule.pattern is None or rule.pattern.search(facts.everything_said) is not None


def _found(facts: Facts, rule: Rule, shown: str) -> Classification:
    wait = None if rule.policy == "never" else facts.retry_after
    return Classification(
        rule.category,
        rule.policy,
        wait,
        rule.name,
        rule.confidence,
        _sentence(facts, shown, rule.reason, wait),
    )


def _shown(kind: Kind, key: Key) -> str:
    if kind == "errno" and isinstance(key, int):
        return errno.errorcode.get(key, f"errno {key}")
    return _SHOWN.get(kind, "{}").format(key)


def _sentence(facts: Facts, shown: str, reason: str, wait: timedelta | None) -> str:
    subject = f"{shown} from {facts.names[0]}" if shown else facts.names[0]
    asked = "" if wait is None else f"; it asked for {wait.total_seconds():g} s"
    return f"{subject}: {reason}{asked}"


_Stage = Callable[[Facts, _Look], Classification | None]
_STAGES: Final[tuple[_Stage, ...]] = (
    _own_word, _registered, _group, _type, _codes, _base, _causes, _texts, _fallback, _context,
)  # fmt: skip

__all__ = ["UNCLASSIFIED", "Classification", "classify"]
