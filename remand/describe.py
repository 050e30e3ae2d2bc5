"""Choose the class and message to show for an exception: those of a wrapper hide what went wrong.

`RetryError[<Future at 0x7f… state=finished raised ValueError>]` reads the same for every cause. So the
exception inside a wrapper is shown, counted and grouped instead. A class that adds words of its own, as
`raise Unpaid("order 17") from timeout` does, is no wrapper.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from remand.facts import HOSTILE, Facts, qualified, read
from remand.rules.rule import under
from remand.verdict import Classification, gravest
from remand.wrapped import members_of, wrapped

_DEPTH: Final = 24

_HIDING: Final = frozenset({
    # Retry ladders: the last try is what failed.
    "tenacity.RetryError", "retrying.RetryError", "google.api_core.exceptions.RetryError",
    "urllib3.exceptions.MaxRetryError",
    *under("s3transfer.exceptions", "boto3.exceptions", names="RetriesExceededError"),
    # Another task's or process's failure, brought here.
    *under("celery.exceptions", names="Retry ChordError MaxRetriesExceededError"),
    "ray.exceptions.RayTaskError",
})  # fmt: skip
"""Classes whose name and text both say nothing of the failure; subclasses included."""

_HOLDING: Final = frozenset({
    *under("requests.exceptions", names="ConnectionError Timeout RetryError ChunkedEncodingError"),
    *under("urllib3.exceptions", names="ProtocolError ProxyError"),
    *under("botocore.exceptions", names="HTTPClientError ConnectionError"),
    *under("elastic_transport", "elastic_transport._exceptions", names="ConnectionError"),
    "sqlalchemy.exc.StatementError",
})  # fmt: skip
"""Classes with a telling name and another exception's text; subclasses included. Their own name is shown."""

_EMPTY: Final = frozenset({"", "None", "Connection error.", "All connection attempts failed"})
"""Texts that say nothing: those of `raise Unpaid from timeout`, of the SDKs of LLMs, of anyio."""

_UNPICKLEABLE: Final = "celery.utils.serialization.UnpickleableExceptionWrapper"
_CHORD: Final = re.compile(r"\ADependency \S+ raised (.+)\Z", re.DOTALL)
_UNPRINTABLE: Final = "[the exception cannot be printed]"

Judge = Callable[[BaseException], Classification]


@dataclass(frozen=True, slots=True)
class Described:
    """Hold what is shown to people: class and message, and the exception that they were taken from."""

    exc: BaseException
    error_class: str
    message: str


def describe(exc: BaseException, judge: Judge) -> Described:
    """Return class and message of the exception that a wrapper stands for; of itself if it is no wrapper.

    A group has those of its gravest member, as `judge` says. Never raises for what an exception does.
    """
    name = ""
    seen = {id(exc)}
    for _ in range(_DEPTH):
        inner, keeps_name = _inside(exc, judge)
        if inner is None or id(inner) in seen:
            break
        if keeps_name:
            name = name or class_name(exc)
        seen.add(id(inner))
        exc = inner
    return Described(exc, name or class_name(exc), message_of(exc))


def class_name(exc: BaseException) -> str:
    """Return the qualified class; for an exception that Celery could not pickle, its original class."""
    try:
        own = qualified(type(exc))
        return Facts(exc, None).names[0] if own == _UNPICKLEABLE else own
    except HOSTILE:
        return "unknown"


def message_of(exc: BaseException) -> str:
    """Return the text of an exception, without what Celery puts around the text of another."""
    try:
        text, own = str(exc), qualified(type(exc))
        if own == _UNPICKLEABLE:
            return _first_word(exc) or text
        match = _CHORD.match(text) if own == "celery.exceptions.ChordError" else None
        return match[1] if match else text
    except HOSTILE:
        return _UNPRINTABLE


def _first_word(exc: Any) -> str:
    held = exc.exc_args
    return held[0] if isinstance(held, (tuple, list)) and len(held) == 1 and isinstance(held[0], str) else ""


def _inside(exc: BaseException, judge: Judge) -> tuple[BaseException | None, bool]:
    """Return the exception it stands for, None when it stands for itself; and whether its name is kept."""
    try:
        if isinstance(exc, BaseExceptionGroup):
            return gravest(members_of(exc), judge), False
        facts = Facts(exc, None)
        names = facts.profile.name_set
        if not names.isdisjoint(_HIDING):
            return _held(facts) or _context(exc), False
        if not names.isdisjoint(_HOLDING) or facts.text in _EMPTY:
            return _held(facts), True
    except HOSTILE:
        pass
    return None, False


def _held(facts: Facts) -> BaseException | None:
    # Celery's Retry holds itself in its arguments.
    return next((inner for inner in wrapped(facts) if inner is not facts.exc), None)


def _context(exc: BaseException) -> BaseException | None:
    handled = read(exc, "__context__")
    is_told = isinstance(handled, BaseException) and read(exc, "__suppress_context__") is not True
    return handled if is_told else None
