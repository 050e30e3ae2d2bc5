"""Find the exceptions that an exception stands for: causes that Python and libraries keep in it, and members.

All reads are guarded, as everywhere exceptions are read; nothing that could wait is called.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from remand.facts import Facts, item, read

_MEMBERS: Final = 200
_ATTRIBUTES: Final = (
    "orig", "reason", "os_error", "exc", "cause", "original_exception", "last_exception",
    "inner_exception",
)  # fmt: skip


def wrapped(facts: Facts) -> Iterator[BaseException]:
    """Yield what an exception stands for: causes that Python and libraries keep in it."""
    cause = read(facts.exc, "__cause__")
    if isinstance(cause, BaseException):
        yield cause
    present = facts.present
    for name in _ATTRIBUTES:
        if name in present and isinstance(inner := facts.get(name), BaseException):
            yield inner
    if (attempt := facts.get("last_attempt")) is not None:
        # tenacity keeps a finished future; a private field is read because `.exception()` may wait. retrying
        # keeps what `sys.exc_info` gave.
        for inner in (read(attempt, "_exception"), item(read(attempt, "value"), 1)):
            if isinstance(inner, BaseException):
                yield inner
    kwargs, args, errors = facts.get("kwargs"), facts.get("args"), facts.get("errors")
    held: list[Any] = [item(kwargs, "error")] if isinstance(kwargs, dict) else []
    held += args[:5] if isinstance(args, tuple) else ()
    held += list(errors.values())[:5] if isinstance(errors, dict) else ()
    yield from (inner for inner in held if isinstance(inner, BaseException))


def members_of(group: BaseException) -> Iterator[BaseException]:
    """Yield the exceptions of a group and of the groups in it, in their order, each once, at most 200."""
    pending, seen = [group], set[int]()
    for _ in range(_MEMBERS):
        if not pending:
            return
        exc = pending.pop()
        if id(exc) in seen:
            continue
        seen.add(id(exc))
        if isinstance(exc, BaseExceptionGroup):
            members = [m for m in list(exc.exceptions)[:_MEMBERS] if isinstance(m, BaseException)]
            pending.extend(reversed(members))
        else:
            yield exc
