"""Record what rules look at in an exception, as JSON, so that they can be asked again when it is gone.

`{"bases": [qualified names over the whole MRO], "codes": {"status": 503, ...}}`. Further keys, where there is
something to say: `"says"`, the flags `retryable` and `retriable`; `"installed"`, the bases that belong to
libraries; `"wrapped"`, the same record of each exception that it wraps, the nearest first, with class and
message, and `"context": true` for one that was merely being handled; `"nothing_sent": true`
(`remand.not_sent`); `"class"` and `"message"` of the exception itself where the exception that it wraps is
shown instead (`remand.describe`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final

from remand.facts import HOSTILE, Facts, read, text_of
from remand.not_sent import is_nothing_sent
from remand.rules.rule import Key
from remand.wrapped import members_of, wrapped

Clean = Callable[[str, int], str]
"""Redact a text and cut it to so many characters."""

_BASES: Final = 30
_CODES: Final = 30
_WRAPPED: Final = 5
_WRAPPED_MESSAGE: Final = 512
_NAME: Final = 256
_FLAGS: Final = ("retryable", "retriable")
_LARGEST: Final = 2**53
_OF_A_VENDOR: Final = ("api_code", "code_word")
"""Kinds that are read from a vendor's codes, which are recorded as they stand."""


def facts_of(exc: BaseException, clean: Clean) -> dict[str, Any]:
    """Return the facts of an exception and of what it wraps. Never raises for anything the exception does."""
    facts = _facts(exc, clean)
    if is_nothing_sent(exc):
        facts["nothing_sent"] = True
    if wrapped := [_told(inner, clean) | _how(is_context) for inner, is_context in _inside(exc)]:
        facts["wrapped"] = wrapped
    return facts


def _how(is_context: bool) -> dict[str, Any]:
    return {"context": True} if is_context else {}


def _told(exc: BaseException, clean: Clean) -> dict[str, Any]:
    facts = _facts(exc, clean)
    name = facts["bases"][0] if facts["bases"] else "unknown"
    return {"class": name, "message": clean(text_of(exc), _WRAPPED_MESSAGE), **facts}


def _facts(exc: BaseException, clean: Clean) -> dict[str, Any]:
    try:
        facts = Facts(exc, None)
        bases = [clean(name, _NAME) for name in facts.names[:_BASES]]
        said = {name: word for name in _FLAGS if isinstance(word := facts.get(name), bool)}
        installed = [clean(name, _NAME) for name in facts.profile.installed[:_BASES]]
        return (
            {"bases": bases, "codes": _codes(facts, clean)}
            | ({"says": said} if said else {})
            | ({"installed": installed} if installed else {})
        )
    except HOSTILE:
        return {"bases": [], "codes": {}}


def _codes(facts: Facts, clean: Clean) -> dict[str, Any]:
    """Return the codes by kind; a list where there are several of one kind."""
    codes: dict[str, Any] = {}
    for kind, key in islice(_codes_as_they_stand(facts), _CODES):
        plain = _plain(key, clean)
        known = codes.get(kind)
        if known is None:
            codes[kind] = plain
        elif isinstance(known, list):
            if plain not in known:
                known.append(plain)
        elif known != plain:
            codes[kind] = [known, plain]
    return codes


def _codes_as_they_stand(facts: Facts) -> Iterator[tuple[str, Key]]:
    for kind, key in facts.exact_codes():
        if kind not in _OF_A_VENDOR:
            yield kind, key
    for code in facts.vendor_codes:
        yield "api_code", code


def _plain(key: Key, clean: Clean) -> Key:
    """Return a code as a JSON value: enumerations and other subclasses become their plain values."""
    if isinstance(key, str):
        return clean(str.__str__(key), _NAME)
    number = int.__add__(key, 0)
    return number if -_LARGEST < number < _LARGEST else f"{number:.6e}"


def _inside(exc: BaseException) -> list[tuple[BaseException, bool]]:
    """Return what an exception wraps and what that wraps, in the order in which rules are asked.

    Each comes with a flag: whether it is a mere context.
    """
    inside: list[tuple[BaseException, bool]] = []
    seen, pending = {id(exc)}, _held(exc)
    while pending and len(inside) < _WRAPPED:
        inner, is_context = pending.pop(0)
        if id(inner) not in seen:
            seen.add(id(inner))
            inside.append((inner, is_context))
            pending = [*_held(inner), *pending]
    return inside


def _held(exc: BaseException) -> list[tuple[BaseException, bool]]:
    if isinstance(exc, BaseExceptionGroup):
        return [(member, False) for member in members_of(exc)]
    try:
        held = [(inner, False) for inner in wrapped(Facts(exc, None))]
    except HOSTILE:
        return []
    context = read(exc, "__context__")
    if isinstance(context, BaseException) and read(exc, "__suppress_context__") is not True:
        held.append((context, True))
    return held
