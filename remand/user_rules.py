"""Ask the rules that users added: about an exception, then about the exceptions it wraps, the nearest first.

A user's rule for a wrapped exception goes before every built-in rule for the wrapper. An exception that was
merely being handled (`__context__`) is asked about last, at its own stage. The members of a group are judged
one by one.
"""

from __future__ import annotations

from datetime import timedelta

from remand.classify_context import ClassifyContext
from remand.facts import HOSTILE, Facts, qualified, text_of
from remand.rules import POLICY_OF
from remand.rules.layers import LayeredRules
from remand.rules.user import AnyRule, Conditions, FunctionRule, UserRule, Verdict, place_of
from remand.self_declared import says_retryable
from remand.verdict import Classification, passed_on, sentence
from remand.wrapped import wrapped


def registered(facts: Facts, look: ClassifyContext) -> Classification | None:
    """Return the verdict of the users' rules, None when none of them knows the failure."""
    users = look.book.users
    if users is None or id(facts.exc) in look.asked:
        return None
    look.asked.add(id(facts.exc))
    verdict = _by_rules(facts, users, look)
    if verdict is not None or isinstance(facts.exc, BaseExceptionGroup):
        return verdict
    for inner in wrapped(facts):
        if (verdict := _deeper(inner, facts, look)) is not None:
            return passed_on(verdict, facts.names[0], facts.retry_after, 0.95)
    return None


def _deeper(inner: BaseException, holder: Facts, look: ClassifyContext) -> Classification | None:
    if id(inner) in look.asked or look.is_over:
        return None
    if look.trace is not None:
        look.trace.enter(inner, holder)
    facts = look.at(inner)
    if says_retryable(facts) is not None:
        # An exception's own word counts more than any rule, and is asked at its own stage.
        return None
    look.depth += 1
    try:
        return registered(facts, look)
    finally:
        look.depth -= 1


def _by_rules(facts: Facts, users: LayeredRules, look: ClassifyContext) -> Classification | None:
    codes = facts.code_keys if users.reads_codes else ()
    for place, rule in users.candidates(facts.names, codes):
        where = place_of(rule, place)
        if not _meet(rule.conditions, facts):
            if look.trace is not None:
                look.trace.note(facts, where, rule.name, "condition not met")
            continue
        said = rule if isinstance(rule, UserRule) else _answer(rule, facts, where, look)
        if said is None:
            continue
        if look.trace is not None:
            look.trace.note(facts, where, rule.name, "matched")
        return _verdict(rule, where, said, facts)
    return None


def _meet(asked: Conditions, facts: Facts) -> bool:
    return (
        (not asked.errors or not asked.errors.isdisjoint(facts.names))
        and (not asked.statuses or not asked.statuses.isdisjoint(facts.code_keys))
        and (not asked.codes or not asked.codes.isdisjoint(facts.code_keys))
        and (asked.pattern is None or bool(asked.pattern.search(facts.everything_said)))
    )


def _answer(rule: FunctionRule, facts: Facts, where: str, look: ClassifyContext) -> Verdict | None:
    """Call a rule's function; an exception, or an answer outside the vocabulary, counts as None."""
    try:
        said: object = rule.function(facts.exc)
        answer = Verdict(said) if isinstance(said, str) else said if isinstance(said, Verdict) else None
    except HOSTILE as error:
        answer, note = None, f"its function raised {qualified(type(error))}: {text_of(error)}"[:300]
    else:
        note = "its function says that it is not its own"
        if said is not None:
            note = f"its function returned {qualified(type(said))}, which is no verdict"
    if answer is None and look.trace is not None:
        look.trace.note(facts, where, rule.name, "condition not met", note)
    return answer


def _verdict(rule: AnyRule, where: str, said: UserRule | Verdict, facts: Facts) -> Classification:
    policy = said.policy or POLICY_OF[said.category]
    wait = None if policy == "never" else facts.retry_after
    if policy != "never" and said.retry_after is not None:
        floor = timedelta(seconds=said.retry_after)
        wait = floor if wait is None else max(wait, floor)
    reason = f"{said.reason or 'a rule says so'} ({where})"
    return Classification(said.category, policy, wait, rule.name, 1.0, sentence(facts.names[0], reason, wait))
