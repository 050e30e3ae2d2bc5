"""Turn an exception into a value that can be stored: class, message, traceback, causes and verdict.

The value outlives the process, the libraries and the code that raised it; an exception need not be picklable,
printable or finite.
"""

from __future__ import annotations

import traceback as tracebacks
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Final

from remand.classify import Classification, classify
from remand.facts import HOSTILE, qualified, read
from remand.fingerprint import fingerprint
from remand.recorded import facts_of
from remand.rules import BOOK, RuleBook
from remand.wrapped import members_of

_CAUSES: Final = 20
_FRAMES: Final = 60
_CAUSE_MESSAGE: Final = 512
_UNPRINTABLE: Final = "[the exception cannot be printed]"
_CUT: Final = "\n… {} characters left out …\n"


@dataclass(frozen=True, slots=True)
class Failure:
    """Hold one failure as data.

    `error_class` is qualified; `causes` are `class: message` of what led to it, nearest first, each once.
    `facts`: what rules look at (`remand.recorded`). `fingerprint`: the same for failures that differ in
    values only; empty for a failure recorded without one.
    """

    error_class: str
    message: str
    traceback: str
    classification: Classification
    causes: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    fingerprint: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return JSON types only; `retry_after` in seconds or null."""
        verdict = self.classification
        wait = verdict.retry_after
        return {
            "error_class": self.error_class,
            "message": self.message,
            "traceback": self.traceback,
            "causes": list(self.causes),
            "classification": {
                "category": verdict.category,
                "policy": verdict.policy,
                "retry_after": None if wait is None else wait.total_seconds(),
                "rule": verdict.rule,
                "confidence": verdict.confidence,
                "explanation": verdict.explanation,
            },
            "facts": dict(self.facts),
            "fingerprint": self.fingerprint,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Failure:
        """Rebuild what `to_json` gave; facts and fingerprint may be missing. Raises KeyError for the rest."""
        verdict = data["classification"]
        wait = verdict["retry_after"]
        classification = Classification(
            category=verdict["category"],
            policy=verdict["policy"],
            retry_after=None if wait is None else timedelta(seconds=wait),
            rule=verdict["rule"],
            confidence=verdict["confidence"],
            explanation=verdict["explanation"],
        )
        return cls(
            error_class=data["error_class"],
            message=data["message"],
            traceback=data["traceback"],
            classification=classification,
            causes=tuple(data["causes"]),
            facts=data.get("facts", {}),
            fingerprint=data.get("fingerprint", ""),
        )


def _as_it_is(text: str) -> str:
    return text


def capture(
    exc: BaseException,
    *,
    now: datetime | None = None,
    redact: Callable[[str], str] = _as_it_is,
    book: RuleBook = BOOK,
    max_message: int = 4096,
    max_traceback: int = 16384,
) -> Failure:
    """Return the exception as a value. Never raises for anything the exception does.

    Lengths are in characters; longer text loses its middle. `redact` sees every text before it is cut,
    so that no half of a secret escapes it. `book` holds the rules that classify it.
    """
    verdict = classify(exc, now=now, book=book)

    def clean(text: str, limit: int) -> str:
        # Bounds the work of `redact`; the edges of this cut are thrown away by the second one.
        return cut(storable(redact(cut(text, limit * 8))), limit)

    error_class, message = clean(_class_name(exc), 512), clean(_message(exc), max_message)
    trace = clean("".join(_trace(exc)), max_traceback)
    return Failure(
        error_class=error_class,
        message=message,
        traceback=trace,
        classification=replace(verdict, explanation=clean(verdict.explanation, 1024)),
        causes=tuple(clean(f"{_class_name(c)}: {_message(c)}", _CAUSE_MESSAGE) for c in _led_to(exc)),
        facts=facts_of(exc, clean),
        # Where nothing is said, the place is all that tells one failure from another.
        fingerprint=fingerprint(error_class, message, "" if message else trace),
    )


def storable(text: str) -> str:
    """Return text that every database and JSON takes: NUL and lone surrogates become U+FFFD."""
    text = text.replace("\x00", "\ufffd")
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def cut(text: str, limit: int) -> str:
    """Return the text, or its two ends around a marker, at most `limit` characters."""
    if len(text) <= limit:
        return text
    marker = _CUT.format(len(text) - limit)
    room = max(limit - len(marker) - 8, 0)
    head = room // 2
    return (text[:head] + marker + text[len(text) - (room - head) :])[:limit]


def chain(exc: BaseException) -> Iterator[BaseException]:
    """Yield the exception and what led to it, nearest first, each once, at most twenty."""
    seen: set[int] = set()
    current: BaseException | None = exc
    while current is not None and id(current) not in seen and len(seen) <= _CAUSES:
        seen.add(id(current))
        yield current
        cause = read(current, "__cause__")
        if cause is None and read(current, "__suppress_context__") is not True:
            cause = read(current, "__context__")
        current = cause if isinstance(cause, BaseException) else None


def _led_to(exc: BaseException) -> list[BaseException]:
    members = [m for m in members_of(exc) if m is not exc] if isinstance(exc, BaseExceptionGroup) else []
    return (members + list(chain(exc))[1:])[:_CAUSES]


def _class_name(exc: BaseException) -> str:
    try:
        return qualified(type(exc))
    except HOSTILE:
        return "unknown"


def _message(exc: BaseException) -> str:
    try:
        return str(exc)
    except HOSTILE:
        return _UNPRINTABLE


def _trace(exc: BaseException) -> Iterator[str]:
    """Yield the traceback of the whole chain, oldest cause first as Python prints it."""
    links = list(chain(exc))
    for link in reversed(links):
        if link is not links[-1]:
            yield "\nThis led to:\n\n"
        yield from _frames(read(link, "__traceback__"))
        yield f"{_class_name(link)}: {_message(link)}\n"


def _frames(start: object) -> Iterator[str]:
    if not isinstance(start, TracebackType):
        return
    yield "Traceback (most recent call last):\n"
    entries = list(_walk(start))
    left_out = len(entries) - 2 * _FRAMES
    shown = entries if left_out <= 0 else entries[:_FRAMES] + entries[-_FRAMES:]
    for number, (frame, line) in enumerate(shown):
        if left_out > 0 and number == _FRAMES:
            yield f"  … {left_out} frames left out …\n"
        code = frame.f_code
        yield from tracebacks.format_list([(code.co_filename, line, code.co_name, None)])


def _walk(start: TracebackType) -> Iterator[tuple[Any, int]]:
    current: TracebackType | None = start
    while current is not None:
        yield current.tb_frame, current.tb_lineno
        current = current.tb_next
