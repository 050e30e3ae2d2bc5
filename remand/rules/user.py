"""Rules that users add: their form, the decorator for rules that are functions, and the check for conflicts.

A rule says what a failure is by its class, its codes or its message; all given conditions must hold. The book
finds them by lookup (`remand.rules.layers`), right after the exception's own word.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeVar

from remand.rules.rule import CATEGORIES, POLICIES, POLICY_OF

ENTRY_POINT_GROUP: Final = "remand.rules"
"""Loads to a rule, an iterable of rules, or a module or callable that gives one."""

_CLASS = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*|\.<locals>)*")
_NUMBER = re.compile(r"-?\d+")
_SEPARATORS = re.compile(r"[^a-z0-9]+")

Function = TypeVar("Function", bound=Callable[..., Any])


def code_key(code: object) -> str:
    """Return a code as it is compared: a number as it is, else lower case without separators."""
    text = str(code).strip().lower()
    return text if _NUMBER.fullmatch(text) else _SEPARATORS.sub("", text).removesuffix("exception")


class Searchable(Protocol):
    """A pattern that can be looked for in a text."""

    def search(self, text: str, /) -> object:
        """Return a true value if the pattern matches anywhere."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """Hold the conditions of a rule, in the form in which they are looked up. An empty one is not asked."""

    errors: frozenset[str] = frozenset()
    statuses: frozenset[int | str] = frozenset()
    codes: frozenset[str] = frozenset()
    message: str = ""
    pattern: Searchable | None = field(default=None, compare=False, repr=False)
    """What searches for `message`; unset: Python's own engine, ignoring case."""

    def __post_init__(self) -> None:
        if self.message and self.pattern is None:
            object.__setattr__(self, "pattern", re.compile(self.message, re.IGNORECASE))

    def cover(self, other: Conditions) -> bool:
        """Say whether these conditions hold whenever the others do, as far as names alone can tell."""
        # The cheapest first: a thousand rules are half a million pairs.
        return (
            self.message in ("", other.message)
            and _cover_codes(self.codes, other.codes)
            and _cover_codes(self.statuses, other.statuses)
            and _cover_classes(self.errors, other.errors)
        )


def _cover_classes(wider: frozenset[str], asked: frozenset[str]) -> bool:
    if not wider or "builtins.BaseException" in wider:
        return True
    return bool(asked) and all(not wider.isdisjoint(_ancestry(name)) for name in asked)


def _ancestry(name: str) -> list[str]:
    """Return the names of a class and its bases, as far as they are Python's own."""
    builtin = getattr(builtins, name.removeprefix("builtins."), None)
    if isinstance(builtin, type):
        return [f"{base.__module__}.{base.__qualname__}" for base in builtin.__mro__]
    return [name, "builtins.Exception"]


def _cover_codes(wider: frozenset[Any], asked: frozenset[Any]) -> bool:
    if not wider or wider >= asked:
        return not wider or bool(asked)
    return all(code in wider or f"{str(code)[0]}xx" in wider for code in asked)


@dataclass(frozen=True, slots=True)
class UserRule:
    """Say what a kind of failure is; every condition that is given must hold, and one must be given.

    `errors`: qualified class names, subclasses included; a name without a module is one of Python's own.
    `statuses`: 503 or "5xx". `codes`: SQLSTATE, gRPC code, errno name or vendor's code, as `explain` shows
    them. `message`: a regular expression searched in message and body, ignoring case. `policy`: empty for
    that of the category. `retry_after`: seconds, a floor unless the failure itself asks for longer.
    `source`: where the rule was written, for people. Raises ValueError that lists all mistakes.
    """

    name: str
    category: str
    errors: tuple[str, ...] = ()
    statuses: tuple[int | str, ...] = ()
    codes: tuple[str, ...] = ()
    message: str = ""
    policy: str = ""
    retry_after: float | None = None
    reason: str = ""
    source: str = ""
    pattern: Searchable | None = field(default=None, compare=False, repr=False)
    """What searches for `message`, if not Python's own engine, whose time can grow without bounds."""
    conditions: Conditions = field(init=False, repr=False, compare=False, default=Conditions())

    def __post_init__(self) -> None:
        problems = [*_about_verdict(self.category, self.policy, self.retry_after)]
        if not (self.errors or self.statuses or self.codes or self.message):
            problems.append("give at least one of errors, statuses, codes and message")
        _settle(self, problems)


@dataclass(frozen=True, slots=True)
class FunctionRule:
    """Ask a function what a failure is: `(exc) -> category | Verdict | None`, None when it is not its own.

    Conditions as those of `UserRule`; without any, it is asked about every failure. A function that raises
    or answers nonsense counts as None.
    """

    name: str
    function: Callable[[BaseException], Any]
    errors: tuple[str, ...] = ()
    statuses: tuple[int | str, ...] = ()
    codes: tuple[str, ...] = ()
    message: str = ""
    source: str = ""
    conditions: Conditions = field(init=False, repr=False, compare=False, default=Conditions())

    def __post_init__(self) -> None:
        _settle(self, [])


AnyRule = UserRule | FunctionRule
Layers = Sequence[tuple[str, Sequence[AnyRule]]]
"""Rules by the place they come from, the place of highest rank first."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer of a rule that is a function. Raises ValueError for an unknown category or policy."""

    category: str
    policy: str = ""
    retry_after: float | None = None
    reason: str = ""

    def __post_init__(self) -> None:
        if problems := list(_about_verdict(self.category, self.policy, self.retry_after)):
            raise ValueError("; ".join(problems))


def _about_verdict(category: object, policy: object, retry_after: object) -> Iterator[str]:
    if category not in CATEGORIES:
        yield f"category {category!r} is none of {', '.join(CATEGORIES)}"
    if policy and policy not in POLICIES:
        yield f"policy {policy!r} is none of {', '.join(POLICIES)}"
    if retry_after is None:
        return
    if isinstance(retry_after, bool) or not isinstance(retry_after, (int, float)):
        yield f"retry_after {retry_after!r} is no number of seconds"
    elif not 0 <= retry_after <= 366 * 86_400:
        yield f"retry_after {retry_after!r} is not between 0 s and a year"


def _settle(rule: AnyRule, problems: list[str]) -> None:
    """Check the conditions and store them as they are looked up. Raises ValueError with every problem."""
    if not rule.name or not isinstance(rule.name, str):
        problems.append("it has no name")
    errors = frozenset(_noted(_class_name, rule.errors, problems))
    statuses = frozenset(_noted(_status, rule.statuses, problems))
    codes = frozenset(_noted(_code, rule.codes, problems))
    conditions = Conditions()
    try:
        pattern = rule.pattern if isinstance(rule, UserRule) else None
        conditions = Conditions(errors, statuses, codes, rule.message, pattern)
    except (re.error, TypeError, OverflowError, RecursionError) as error:
        problems.append(f"message {rule.message!r} is no regular expression: {error}")
    if problems:
        where = f" ({rule.source})" if rule.source else ""
        raise ValueError(f"rule {rule.name!r}{where}: {'; '.join(problems)}")
    object.__setattr__(rule, "conditions", conditions)


def _noted(read: Callable[[Any], Any], values: object, problems: list[str]) -> Iterator[Any]:
    if not isinstance(values, (tuple, list)):
        problems.append(f"{values!r} must be a list")
        return
    for value in values:
        try:
            yield read(value)
        except ValueError as error:
            problems.append(str(error))


def _class_name(name: object) -> str:
    if not isinstance(name, str) or not _CLASS.fullmatch(name):
        raise ValueError(f"{name!r} is no name of a class such as requests.exceptions.HTTPError")
    if "." in name:
        return _canonical(name.removeprefix("builtins."), name)
    known = _canonical(name, "")
    if not known:
        raise ValueError(f"{name!r} is none of Python's own exceptions: write its module, too")
    return known


def _canonical(own: str, otherwise: str) -> str:
    # IOError and its like are other names of one class; rules are looked up by the name the class itself has.
    builtin = getattr(builtins, own, None)
    if isinstance(builtin, type) and issubclass(builtin, BaseException):
        return f"builtins.{builtin.__qualname__}"
    return otherwise


def _status(status: object) -> int | str:
    text = str(status).strip().lower()
    if text in ("4xx", "5xx"):
        return text
    if isinstance(status, bool) or not text.isdecimal() or not 400 <= int(text) <= 599:
        raise ValueError(f'status {status!r} is neither 400 to 599 nor "4xx" or "5xx"')
    return int(text)


def _code(code: object) -> str:
    if isinstance(code, bool) or not isinstance(code, (str, int)) or not (key := code_key(code)):
        raise ValueError(f"code {code!r} is no code such as 40P01, UNAVAILABLE, ECONNRESET or slow_down")
    return key


_registered: dict[str, FunctionRule] = {}


def registered() -> tuple[FunctionRule, ...]:
    """Return the rules made by `@rule` in this process, in the order of their definition."""
    return tuple(_registered.values())


def rule(
    function: Any = None,
    *,
    name: str = "",
    errors: str | type | Iterable[str | type] = (),
    statuses: int | str | Iterable[int | str] = (),
    codes: str | Iterable[str] = (),
    message: str = "",
) -> Any:
    """Register a function as a rule: `(exc) -> category | Verdict | None`, None when it is not its own.

    Write `@rule` or `@rule(errors="shop.Locked")`; classes themselves may be given for `errors`. A module
    loaded twice replaces its rules.

    Raises:
        ValueError: a condition is not valid, or another function has that name.
    """

    def register(function: Function) -> Function:
        origin = f"{function.__module__}.{function.__qualname__}"
        made = FunctionRule(
            name or origin,
            function,
            tuple(_qualified(error) for error in _several(errors)),
            tuple(_several(statuses)),
            tuple(_several(codes)),
            message,
            source=origin,
        )
        known = _registered.get(made.name)
        if known is not None and known.source != origin:
            raise ValueError(f"rule {made.name!r} is already {known.source}; {origin} needs another name")
        _registered[made.name] = made
        return function

    return register if function is None else register(function)


def _several(value: Any) -> list[Any]:
    return [value] if isinstance(value, (str, int, type)) else list(value)


def _qualified(error: str | type) -> str:
    return f"{error.__module__}.{error.__qualname__}" if isinstance(error, type) else error


def conflicts(layers: Layers, *, beside: Layers = ()) -> list[str]:
    """Return what is wrong with rules taken together, a sentence for each; empty when nothing is.

    `beside`: rules that were checked before; of these only the names count, as taken.

    A place of higher rank may contradict one of lower rank: that is its purpose. Reported are a name given
    twice, and a rule that an earlier rule of the same place makes unreachable.
    """
    return [
        *_same_names(layers, beside),
        *(sentence for _, rules in layers for sentence in _unreachable(rules)),
    ]


def _same_names(layers: Layers, beside: Layers) -> Iterator[str]:
    from remand.rules import built_in  # noqa: PLC0415 - the book of built-in rules knows this module

    taken = {rule.name: "the built-in rules" for rule in built_in().rules}
    names = {rule.name for _, rules in layers for rule in rules}
    others = [(place, [rule for rule in rules if rule.name in names]) for place, rules in beside]
    taken |= {rule.name: place_of(rule, place) for place, rules in reversed(others) for rule in rules}
    for place, rules in layers:
        for rule in rules:
            here = place_of(rule, place)
            if rule.name in taken:
                yield f"two rules are named {rule.name!r}: one of {taken[rule.name]}, one of {here}"
            taken.setdefault(rule.name, here)


def place_of(rule: AnyRule, place: str) -> str:
    """Return where a rule comes from, for people."""
    return rule.source or place


def _unreachable(rules: Sequence[AnyRule]) -> Iterator[str]:
    for number, later in enumerate(rules):
        for earlier in rules[:number]:
            # A function may decline, so nothing after it is out of reach.
            if isinstance(earlier, UserRule) and earlier.conditions.cover(later.conditions):
                yield _clash(earlier, later)
                break


def _clash(earlier: UserRule, later: AnyRule) -> str:
    if isinstance(later, UserRule) and earlier.conditions == later.conditions:
        said, other = _says(earlier), _says(later)
        if said != other:
            return (
                f"rules {earlier.name!r} and {later.name!r} have the same conditions and say otherwise: "
                f"{said}, {other}; the first one counts"
            )
    return f"rule {later.name!r} is never reached: rule {earlier.name!r} before it takes all it would"


def _says(rule: UserRule) -> str:
    wait = "" if rule.retry_after is None else f" after {rule.retry_after:g} s"
    return f"{rule.category}/{rule.policy or POLICY_OF[rule.category]}{wait}"
