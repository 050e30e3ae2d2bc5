"""Errors that users' handlers may raise, and the root of the product's own error tree.

A handler says what should happen by the class it raises; all others are judged by `remand.classify`.
This module knows nothing of the service and imports only the standard library.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import ClassVar


class RemandError(Exception):
    """Carry one failure of the product: what went wrong, where, and what to do about it.

    `code` is stable across releases and safe to match on; `exit_code` is what the command line returns.
    """

    code: ClassVar[str] = "REMAND_ERROR"
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str = "", details: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details: dict[str, object] = dict(details or {})

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message

    def __reduce__(self) -> tuple[object, ...]:
        # Keyword-only arguments are lost by the default protocol; pool workers send errors as pickles.
        return (type(self), (self.message,), dict(self.__dict__))

    def to_dict(self) -> dict[str, object]:
        """Return the error as JSON types: `code`, `message`, `hint`, `details`."""
        return {"code": self.code, "message": self.message, "hint": self.hint, "details": dict(self.details)}


class RetryableError(Exception):
    """Ask for another attempt, not before `retry_after` (seconds or a timedelta) when one is given.

    `category` decides the policy: `transient` and `network` back off exponentially, `resource` linearly.
    """

    default_category: ClassVar[str] = "transient"

    def __init__(
        self,
        message: str = "",
        *,
        retry_after: timedelta | float | None = None,
        category: str | None = None,
    ) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.category = category or self.default_category

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), self.args, dict(self.__dict__))


class RateLimited(RetryableError):
    """Say that the other side limits how often it may be called; backs off exponentially."""

    default_category: ClassVar[str] = "resource"


class PermanentError(Exception):
    """Say that no retry can help; the step goes to the dead letter queue at once.

    `category` is one of `permanent`, `validation`, `permission`: it tells the investigator where to look.
    """

    def __init__(self, message: str = "", *, category: str = "permanent") -> None:
        super().__init__(message)
        self.category = category

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), self.args, dict(self.__dict__))


class WorkerLost(Exception):
    """Record that the process running the step died; made by the engine, never raised in a handler."""


class StepTimeout(BaseException):
    """Interrupt a handler whose time is up.

    A `BaseException`, so that a handler's own `except Exception` cannot swallow it; handlers may catch it to
    clean up and must let it pass.
    """


class StepCancelled(BaseException):
    """Tell a handler, from `ctx.heartbeat()`, that the step is no longer its own and its result is void."""
