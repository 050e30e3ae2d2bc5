"""Guarded reading: attributes, entries and text of exceptions that may raise or lie.

Nothing here calls code that could do I/O.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar, overload

HOSTILE: Final = (Exception, SystemExit, GeneratorExit)
"""What user code may raise while it is read. An interrupt or a timeout of the worker itself must pass."""

_TEXT_LIMIT: Final = 8192


def read(thing: object, name: str) -> Any:
    """Return an attribute, or None when it is missing or its getter raises."""
    try:
        return getattr(thing, name, None)
    except HOSTILE:
        return None


def item(thing: object, key: object) -> Any:
    """Return an entry of a mapping or of something that behaves like one, or None."""
    if thing is None:
        return None
    try:
        return thing[key]  # type: ignore[index]
    except HOSTILE:
        return None


def text_of(exc: BaseException) -> str:
    """Return the message of an exception, cut to 8 KiB; empty when it cannot be printed."""
    try:
        text = str(exc)
        return text if len(text) <= _TEXT_LIMIT else text[:_TEXT_LIMIT]
    except HOSTILE:
        return ""


def qualified(cls: type) -> str:
    """Return `module.Class`, as rules name it."""
    return f"{cls.__module__}.{cls.__qualname__}"


T = TypeVar("T")


class Once(Generic[T]):
    """Keep what a property returned, as `functools.cached_property` does, without the lock of Python 3.11."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self._name = compute.__name__

    @overload
    def __get__(self, facts: None, owner: type) -> Once[T]: ...
    @overload
    def __get__(self, facts: object, owner: type) -> T: ...
    def __get__(self, facts: object | None, owner: type) -> Once[T] | T:
        if facts is None:
            return self
        value = facts.__dict__[self._name] = self._compute(facts)
        return value
