"""The stages of the classifier, in the order in which they are asked; the first with a verdict decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from remand.classify_context import ClassifyContext
from remand.facts import Facts, read, shown_code, words_of_class
from remand.rules import Key, Kind, Rule
from remand.self_declared import own_word
from remand.user_rules import registered
from remand.verdict import UNCLASSIFIED, Classification, held_by, passed_on, sentence, worse
from remand.wrapped import members_of, wrapped

_OF_NAMES: Final[tuple[Kind, ...]] = ("name", "code_word")
_SHOWN: Final[dict[Kind, str]] = {
    "status": "HTTP {}", "sqlstate": "SQLSTATE {}", "grpc": "gRPC {}", "smtp": "SMTP {}",
    "exit": "exit code {}", "amqp": "AMQP {}", "mongo": "MongoDB code {}", "mysql": "MySQL error {}",
    "ssl": "TLS {}", "gai": "name resolution error {}", "api_code": "error code {}",
    "code_word": "error code {}", "label": "label {}", "header": "header {}",
}  # fmt: skip


def judge(exc: BaseException, look: ClassifyContext) -> Classification:
    """Return the verdict of the first stage that has one."""
    look.seen.add(id(exc))
    facts = look.at(exc)
    traced = look.trace is not None
    for name, ask in STAGES:
        verdict = _traced(name, ask, facts, look) if traced else ask(facts, look)
        if verdict is not None:
            return verdict
    explanation = sentence(facts.names[0], "no rule knows it; tried again a bounded number of times", None)
    return Classification("transient", "exponential", facts.retry_after, UNCLASSIFIED, 0.2, explanation)


def show(kind: Kind, key: Key) -> str:
    """Return a code together with its kind."""
    return _SHOWN.get(kind, "{}").format(shown_code(kind, key))


_Stage = Callable[[Facts, ClassifyContext], Classification | None]


def _traced(name: str, ask: _Stage, facts: Facts, look: ClassifyContext) -> Classification | None:
    """Ask a stage; record its verdict if the stage did not, or that it had no rule."""
    trace = look.trace
    assert trace is not None
    trace.stage, before = name, len(trace.considered)
    verdict = ask(facts, look)
    trace.stage = name
    if not any(rule.stage == name for rule in trace.considered[before:]):
        if verdict is None:
            trace.note(facts, "", None, "no rule")
        else:
            trace.note(facts, "", verdict.rule, "matched")
    return verdict


def _own_word(facts: Facts, _look: ClassifyContext) -> Classification | None:
    return own_word(facts)


def _group(facts: Facts, look: ClassifyContext) -> Classification | None:
    """Judge an exception group by its worst member: one that can never succeed settles it."""
    if not isinstance(facts.exc, BaseExceptionGroup):
        return None
    worst: Classification | None = None
    for member in members_of(facts.exc):
        verdict = _inner(member, facts, look)
        if verdict is not None:
            worst = worse(worst, verdict)
    return None if worst is None else held_by(worst, facts.names[0])


def _type(facts: Facts, look: ClassifyContext) -> Classification | None:
    return _by_name("type", facts, look)


def _codes(facts: Facts, look: ClassifyContext) -> Classification | None:
    for kind, key in facts.codes():
        rules = look.book.find(kind, key)
        if rules:
            shown = show(kind, key)
            if (rule := _first(rules, shown, facts, look)) is not None:
                return _found(facts, rule, shown)
        elif look.trace is not None:
            look.trace.note(facts, show(kind, key), None, "no rule")
    return None


def _base(facts: Facts, look: ClassifyContext) -> Classification | None:
    return _by_name("base", facts, look)


def _by_name(kind: Kind, facts: Facts, look: ClassifyContext) -> Classification | None:
    table = look.book.table(kind)
    for name in facts.names:
        rules = table.get(name)
        if rules is not None and (rule := _first(rules, name, facts, look)) is not None:
            return _found(facts, rule, "")
    return None


def _first(rules: tuple[Rule, ...], shown: str, facts: Facts, look: ClassifyContext) -> Rule | None:
    """Return the first of a key's rules whose condition holds."""
    for rule in rules:
        holds = _holds(rule, facts)
        if look.trace is not None:
            look.trace.note(facts, shown, rule.name, "matched" if holds else "condition not met")
        if holds:
            return rule
    return None


def _holds(rule: Rule, facts: Facts) -> bool:
    if rule.needs_retry_after and facts.retry_after is None:
        return False
    if rule.pattern is None:
        return True
    text = facts.everything_lower
    return _is_hinted(rule.hints, text) and rule.pattern.search(text) is not None


def _is_hinted(hints: tuple[str, ...], text: str) -> bool:
    for hint in hints:  # a loop, as it is several times as fast as `any` over so few rules
        if hint in text:
            return True
    return not hints


def _causes(facts: Facts, look: ClassifyContext) -> Classification | None:
    for cause in wrapped(facts):
        verdict = _inner(cause, facts, look)
        if verdict is not None and verdict.is_known:
            return passed_on(verdict, facts.names[0], facts.retry_after, 0.95)
    return None


def _texts(facts: Facts, look: ClassifyContext) -> Classification | None:
    if not facts.text:
        return None
    for root in facts.profile.packages:
        if (rule := _first(look.book.find("text", root), root, facts, look)) is not None:
            return _found(facts, rule, "")
    if (rule := _first(look.book.find("text", "*"), "any class", facts, look)) is not None:
        return _found(facts, rule, "")
    return _code_in_text(facts, look)


def _code_in_text(facts: Facts, look: ClassifyContext) -> Classification | None:
    state, status = facts.sqlstate_in_text(), facts.status_in_text()
    codes: list[tuple[Kind, Key, str]] = []
    if state is not None:
        codes += [("sqlstate", state, f"SQLSTATE {state}"), ("sqlstate", state[:2], f"SQLSTATE {state}")]
    if status is not None:
        codes += [("status", status, f"HTTP {status}"), ("status", f"{status // 100}xx", f"HTTP {status}")]
    for kind, key, shown in codes:
        if (rule := _first(look.book.find(kind, key), f"{shown} in the text", facts, look)) is not None:
            return _found(facts, rule, shown, 0.6)
    return None


def _fallback(facts: Facts, look: ClassifyContext) -> Classification | None:
    verdict = _by_name("fallback", facts, look)
    flag = facts.get("retriable")
    if verdict is not None or not isinstance(flag, bool):
        return verdict
    for root in facts.profile.packages:
        key = f"{root}:{str(flag).lower()}"
        if (rule := _first(look.book.find("flag", key), key, facts, look)) is not None:
            return _found(facts, rule, "")
    return None


def _name(facts: Facts, look: ClassifyContext) -> Classification | None:
    """Judge a library's class by its name if no rule knows it or any of its bases, Python's own aside.

    Users' own classes mean what users say by rules, whatever they are called.
    """
    profile = facts.profile
    if not profile.installed or not look.book.table("fallback").keys().isdisjoint(profile.foreign):
        return None
    if isinstance(facts.get("retriable"), bool):
        return None
    for name in profile.installed:
        for word in words_of_class(name):
            for kind in _OF_NAMES:
                rules = look.book.find(kind, word)
                if rules and (rule := _first(rules, word, facts, look)) is not None:
                    return _found(facts, rule, "", 0.5)
    return None


def _context(facts: Facts, look: ClassifyContext) -> Classification | None:
    """Treat the error that was being handled as the cause, if nothing else is known of the exception."""
    context = read(facts.exc, "__context__")
    if not isinstance(context, BaseException) or read(facts.exc, "__suppress_context__") is True:
        return None
    verdict = _inner(context, facts, look)
    if verdict is None or not verdict.is_known:
        return None
    return passed_on(verdict, facts.names[0], facts.retry_after, 0.6)


def _inner(exc: BaseException, holder: Facts, look: ClassifyContext) -> Classification | None:
    if id(exc) in look.seen or look.is_over:
        return None
    if look.trace is not None:
        look.trace.enter(exc, holder)
    look.depth += 1
    try:
        return judge(exc, look)
    finally:
        look.depth -= 1


def _found(facts: Facts, rule: Rule, shown: str, confidence: float | None = None) -> Classification:
    wait = None if rule.policy == "never" else facts.retry_after
    subject = f"{shown} from {facts.names[0]}" if shown else facts.names[0]
    trust = rule.confidence if confidence is None else confidence
    return Classification(
        rule.category, rule.policy, wait, rule.name, trust, sentence(subject, rule.reason, wait)
    )


STAGES: Final[tuple[tuple[str, _Stage], ...]] = (
    ("own word", _own_word),
    ("registered rules", registered),
    ("group members", _group),
    ("type", _type),
    ("codes", _codes),
    ("base", _base),
    ("causes", _causes),
    ("text", _texts),
    ("name", _name),
    ("fallback", _fallback),
    ("context", _context),
)
"""Name and question of each stage. A rule's `kind` names the stage that asks it, or a kind of code."""
