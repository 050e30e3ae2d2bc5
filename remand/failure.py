"""Turn an exception into a value that can be stored: class, message, traceback, causes and verdict.

The value outlives the process, the libraries and the code that raised the exception. An exception need not be
picklable, printable or finite.
"""

from __future__ import annotations

import traceback as tracebacks
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Final

from remand.classify import Classification, classify
from remand.describe import class_name, describe, message_of
from remand.facts import read
from remand.fingerprint import fingerprint
from remand.recorded import facts_of
from remand.rules import RuleBook
from remand.wrapped import members_of

_CAUSES: Final = 20
_FRAMES: Final = 60
_CAUSE_MESSAGE: Final = 512
_CUT: Final = "\n… {} characters left out …\n"


@dataclass(frozen=True, slots=True)
class Failure:
    """Hold one failure as data.

    `error_class` (qualified) and `message` are those of what was raised, or of what a wrapper stands for
    (`remand.describe`); `causes` are `class: message` of what led to it, nearest first, each once.
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
        """Rebuild what `to_json` gives, or gave in an earlier version; keys it does not know are left out.

        Raises:
            KeyError: the error's class or message, or the verdict's category or rule is missing.
        """
        verdict = data["classification"]
        wait = verdict.get("retry_after")
        classification = Classification(
            category=verdict["category"],
            policy=verdict.get("policy", "never"),
            retry_after=None if wait is None else timedelta(seconds=wait),
            rule=verdict["rule"],
            confidence=verdict.get("confidence", 1.0),
            explanation=verdict.get("explanation", ""),
        )
        return cls(
            error_class=data["error_class"],
            message=data["message"],
            traceback=data.get("traceback") or "",
            classification=classification,
            causes=tuple(data.get("causes") or ()),
            facts=data.get("facts") or {},
            fingerprint=data.get("fingerprint") or "",
        )


def _as_it_is(text: str) -> str:
    return text


def capture(
    exc: BaseException,
    *,
    now: datetime | None = None,
    redact: Callable[[str], str] = _as_it_is,
    book: RuleBook | None = None,
    max_message: int = 4096,
    max_traceback: int = 16384,
) -> Failure:
    """Return the exception as a value. Never raises for anything the exception does.

    Lengths are in characters; longer text loses its middle. `redact` sees every text before it is cut,
    so that no half of a secret escapes it. `book` holds the rules that classify it, None: the built-in ones.
    """
    verdict = classify(exc, now=now, book=book)

    def clean(text: str, limit: int) -> str:
        # Bounds the work of `redact`; the second cut drops the edges of this one.
        return cut(storable(redact(cut(text, limit * 8))), limit)

    said = describe(exc, lambda cause: classify(cause, now=now, book=book))
    error_class, message = clean(said.error_class, 512), clean(said.message, max_message)
    trace = clean("".join(_trace(exc, said.exc)), max_traceback)
    return Failure(
        error_class=error_class,
        message=message,
        traceback=trace,
        classification=replace(verdict, explanation=clean(verdict.explanation, 1024)),
        causes=tuple(clean(_line(cause), _CAUSE_MESSAGE) for cause in _led_to(exc, said.exc)),
        facts=_facts(exc, said.exc, clean),
        # Without a message, only the place tells one failure from another.
        fingerprint=fingerprint(error_class, message, "" if message else trace),
    )


def _facts(exc: BaseException, spokesman: BaseException, clean: Callable[[str, int], str]) -> dict[str, Any]:
    """Return the facts of what was raised, with its own class and text where another's are shown."""
    facts = facts_of(exc, clean)
    if spokesman is exc:
        return facts
    return {"class": clean(class_name(exc), 512), "message": clean(message_of(exc), _CAUSE_MESSAGE), **facts}


def _line(exc: BaseException) -> str:
    return f"{class_name(exc)}: {message_of(exc)}"


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


def _led_to(exc: BaseException, spokesman: BaseException) -> list[BaseException]:
    """Return all members of a group and the causes, without the exception itself and what it stands for."""
    members = list(members_of(exc)) if isinstance(exc, BaseExceptionGroup) else []
    causes = [cause for cause in list(chain(spokesman))[1:] if cause is not exc]
    return list({id(error): error for error in [*members, *causes]}.values())[:_CAUSES]


def _trace(exc: BaseException, spokesman: BaseException) -> Iterator[str]:
    """Yield the traceback of the whole chain, oldest cause first as Python prints it.

    What the exception stands for comes before it where the chain does not lead there, as in a group.
    """
    links = list(chain(exc))
    if all(link is not spokesman for link in links):
        known = set(map(id, links))
        links += [link for link in chain(spokesman) if id(link) not in known]
    for link in reversed(links):
        if link is not links[-1]:
            yield "\nThis led to:\n\n"
        yield from _frames(read(link, "__traceback__"))
        yield f"{_line(link)}\n"


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
