"""Ask the rules again about a failure that was recorded: the exception is gone, but its facts were kept.

What was not recorded is not known: the body of a response, and attributes that are neither codes nor flags.
Where the exception itself decided, that verdict stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

from remand.classify_context import ClassifyContext, Trace
from remand.explain import Explanation, explain_look
from remand.facts import Facts, plain_code
from remand.facts.codes import KINDS, broader, is_refusal
from remand.facts.subject import Profile, profile_of_names
from remand.facts.vendors import words_of
from remand.failure import Failure
from remand.rules import Key, Kind, RuleBook
from remand.verdict import Classification


def explain_recorded(
    failure: Failure, *, now: datetime | None = None, book: RuleBook | None = None
) -> Explanation:
    """Return what the book says of a recorded failure, and how it came to say so. Never raises."""
    inner = [_Recorded(recorded, now) for recorded in failure.facts.get("wrapped", ())]
    recorded = {"class": failure.error_class, "message": failure.message, **failure.facts}
    outer = _Recorded(recorded, now, inner)
    outer.say(failure.classification)
    look = ClassifyContext(book, now, Trace())
    look.facts.update((id(facts.exc), facts) for facts in (outer, *inner))
    return explain_look(outer.exc, look)


class _Gone(Exception):
    """Stands in for the exception."""


class _Recorded(Facts):
    """The facts of an exception that is gone; `inner` are those of what it wraps."""

    def __init__(
        self, recorded: Mapping[str, Any], now: datetime | None, inner: Sequence[_Recorded] = ()
    ) -> None:
        names = tuple(recorded.get("bases") or (recorded["class"],))
        if inner and "builtins.BaseExceptionGroup" in names:
            super().__init__(BaseExceptionGroup("", [member.exc for member in inner]), now)
        else:
            super().__init__(_Gone(), now)
            _chain([self, *inner])
        self.names = names
        self.profile: Profile = profile_of_names(names, tuple(recorded.get("installed", ())))
        self.is_context = recorded.get("context") is True
        self._codes = tuple(_codes(recorded.get("codes", {})))
        self._word: dict[str, Any] = dict(recorded.get("says", {}))
        self.present = frozenset(self._word)
        self._know(text=recorded["message"], body=None, response=None, retry_after=None, own_retry_after=None)

    def say(self, verdict: Classification) -> None:
        """Take over what was read from the exception itself: the wait it asked for, and its own word."""
        self._know(retry_after=verdict.retry_after)
        if verdict.rule.startswith("own-word."):
            self._word |= {"retryable": verdict.policy != "never", "category": verdict.category}
            self.present = frozenset(self._word)
            self._know(own_retry_after=verdict.retry_after)

    def _know(self, **facts: Any) -> None:
        # The place where a fact that is read once keeps its value.
        self.__dict__.update(facts)

    def get(self, name: str) -> Any:
        """Return what the exception said of retries."""
        return self._word.get(name)

    def exact_codes(self) -> Iterator[tuple[Kind, Key]]:
        """Yield the codes that were recorded."""
        yield from self._codes

    def codes(self) -> Iterator[tuple[Kind, Key]]:
        """Yield the codes that were recorded, each before its class."""
        for kind, key in self._codes:
            yield kind, key
            if (wider := broader(kind, key)) is not None:
                yield kind, wider


def _chain(links: Sequence[_Recorded]) -> None:
    for holder, held in pairwise(links):
        if held.is_context:
            holder.exc.__context__ = held.exc
        else:
            holder.exc.__cause__ = held.exc


def _codes(recorded: Mapping[str, Any]) -> Iterator[tuple[Kind, Key]]:
    vendor = _listed(recorded.get("api_code"))
    if recorded.get("status") == 401 and is_refusal(vendor):
        yield "status", 401
    for kind in KINDS:
        match kind:
            case "api_code":
                yield from ((kind, plain_code(code)) for code in vendor)
            case "code_word":
                yield from ((kind, word) for code in vendor for word in words_of(code))
            case _:
                yield from ((kind, key) for key in _listed(recorded.get(kind)))


def _listed(recorded: Any) -> list[Any]:
    return recorded if isinstance(recorded, list) else [] if recorded is None else [recorded]
