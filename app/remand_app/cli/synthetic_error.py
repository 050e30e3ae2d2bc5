"""Build an exception like one that was seen elsewhere: class, message, attributes, headers, cause.

The real class is used where it can be imported, and is not called; otherwise a class of the same name is
made.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from types import ModuleType, SimpleNamespace
from typing import Any

import typer

_ERRNO = re.compile(r"\[Errno (\d+)\] (.*)", re.DOTALL)
_LAST_LINE = re.compile(r"^(?P<name>[A-Za-z_][\w.]*)(?:: (?P<message>.*))?$")
_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


def look_alike(
    name: str,
    message: str,
    *,
    attributes: Mapping[str, Any],
    headers: Mapping[str, str],
    bases: Sequence[str] = (),
    cause: str | None = None,
) -> BaseException:
    """Return the exception; `name` without a module is one of Python's own.

    Raises:
        typer.BadParameter: the name is no class name.
    """
    exception = _made(class_named(name, bases), message)
    for path, value in attributes.items():
        _set(exception, path.split("."), value)
    if headers:
        _set(exception, ["headers"], dict(headers))
    if cause is not None:
        exception.__cause__ = _made(class_named(cause, ()), "")
    return exception


def class_named(name: str, bases: Sequence[str]) -> type[BaseException]:
    """Return the class of a qualified name, made on top of `bases` if it is not installed here."""
    if not _NAME.fullmatch(name):
        raise typer.BadParameter(f"{name!r} is no name of a class, such as requests.exceptions.HTTPError")
    module, _, own = name.rpartition(".")
    try:
        kind = getattr(importlib.import_module(module or "builtins"), own, None)
    except ImportError:
        kind = None
    if isinstance(kind, type) and issubclass(kind, BaseException):
        return kind
    above = tuple(class_named(base, ()) for base in bases) or (_NotInstalled,)
    return type(own, above, {"__module__": module or "__main__", "__qualname__": own})


class _NotInstalled(Exception):
    __module__, __qualname__ = "builtins", "Exception"


def not_installed(exception: BaseException) -> list[str]:
    """Return the names of its classes, and of its cause's, of which nothing but the name is known."""
    chain = [link for link in (exception, exception.__cause__) if link is not None]
    return [_full_name(type(link)) for link in chain if isinstance(link, _NotInstalled)]


def nearest_name(name: str) -> str | None:
    """Return the exception that a name is almost that of, among Python's own or in its module."""
    module, _, own = name.rpartition(".")
    namespace = sys.modules.get(module or "builtins")
    close = get_close_matches(own, _exceptions(namespace), n=1, cutoff=0.75)
    return ".".join([*([module] if module else []), close[0]]) if close else None


def _exceptions(module: ModuleType | None) -> list[str]:
    named = vars(module) if module is not None else {}
    return [
        name for name, value in named.items() if isinstance(value, type) and issubclass(value, BaseException)
    ]


def _full_name(kind: type) -> str:
    return kind.__qualname__ if kind.__module__ == "__main__" else f"{kind.__module__}.{kind.__qualname__}"


def _made(kind: type[BaseException], message: str) -> BaseException:
    numbered = _ERRNO.match(message)
    if numbered and issubclass(kind, OSError):
        return kind.__new__(kind, int(numbered[1]), numbered[2])
    exception = kind.__new__(kind, message)
    exception.args = (message,)
    return exception


def _set(holder: Any, path: Sequence[str], value: Any) -> None:
    first, *rest = path
    if rest:
        inner = getattr(holder, first, None)
        if inner is None:
            inner = SimpleNamespace()
        _set(inner, rest, value)
        value = inner
    try:
        setattr(holder, first, value)
    except (AttributeError, TypeError) as error:
        raise typer.BadParameter(f"attribute {first!r} cannot be set: {error}") from None


def read_pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    """Return NAME=VALUE options as a mapping.

    Raises:
        typer.BadParameter: one has no "=".
    """
    pairs = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"{option} {text!r} is not NAME=VALUE")
        pairs[name] = value
    return pairs


def read_value(text: str) -> Any:
    """Return what an attribute's text means: JSON if it is, else the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def read_traceback(text: str) -> tuple[str, str]:
    """Return the class and message at the end of a Python traceback.

    Raises:
        typer.BadParameter: there is none.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    frames = [number for number, line in enumerate(lines) if line.startswith("  ")]
    for number in range((frames[-1] if frames else -1) + 1, len(lines)):
        match = _LAST_LINE.match(lines[number])
        if match:
            rest = lines[number + 1 :]
            return match["name"], "\n".join([match["message"] or "", *rest]).strip()
    raise typer.BadParameter("there is no line `module.Class: message` at the end of this text")
