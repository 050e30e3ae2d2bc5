"""Handlers: what a step runs, the context it gets, and the registry in which workers find it.

A handler is a function `(ctx) -> JSON`, plain or async, or a class whose instances can be called like that.
Only an exception is a failure: a returned dict that says "failed" is a result like any other.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar, overload

JSON = Any
"""What JSON can say: None, bool, int, float, str, and lists and dicts of them."""

HandlerFunction = Callable[["StepContext"], "JSON | Awaitable[JSON]"]
_Handler = TypeVar("_Handler", bound=Callable[..., Any])


def _no_heartbeat() -> None: ...


def _no_checkpoint(value: JSON) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StepContext:
    """What a handler knows of the attempt it runs."""

    workflow_id: str
    step: str
    attempt: int
    """Number of this attempt, from 1."""
    input: JSON
    """The workflow's input; or the step's own, from the template or from an operator."""
    parents: Mapping[str, JSON] = field(default_factory=dict)
    """Results of the steps this one depends on; None for one that was resolved by hand or failed."""
    last_checkpoint: JSON = None
    """What an earlier attempt saved last, None if nothing."""
    deadline: datetime | None = None
    """When the soft timeout raises `StepTimeout` in the handler; None where the pool cannot interrupt."""
    read_workflow_input: Callable[[], JSON] | None = None
    read_failures: Callable[[], Mapping[str, JSON]] | None = None
    on_heartbeat: Callable[[], None] = _no_heartbeat
    on_checkpoint: Callable[[JSON], None] = _no_checkpoint

    @property
    def workflow_input(self) -> JSON:
        """What the workflow was submitted with, also where the step has an input of its own.

        Read anew each time: one short query in a worker.
        """
        return self.input if self.read_workflow_input is None else self.read_workflow_input()

    @property
    def failures(self) -> Mapping[str, JSON]:
        """Why failed steps that this one depends on failed: `error_class` and `message` by step name.

        For steps with `after: failure` or `always`. Read anew each time: one short query in a worker.
        """
        return {} if self.read_failures is None else self.read_failures()

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt of this step: give it to services that recognise a repeated call."""
        return f"{self.workflow_id}:{self.step}"

    def heartbeat(self) -> None:
        """Say that the step is alive: its lease is renewed.

        Raises:
            StepCancelled: the step is no longer this attempt's; stop, nothing it returns will count.
        """
        self.on_heartbeat()

    def checkpoint(self, value: JSON) -> None:
        """Save a value that the next attempt finds in `last_checkpoint`; counts as a heartbeat.

        Raises:
            StepCancelled: the step is no longer this attempt's.
            RemandError: the value is not JSON or too large.
        """
        self.on_checkpoint(value)


class Handlers:
    """Handlers by name. One registry is filled by `@handler`; tests make their own."""

    def __init__(self) -> None:
        self._by_name: dict[str, HandlerFunction] = {}

    def add(self, name: str, function: Callable[..., Any]) -> None:
        """Register under a name; the same name for another function is a mistake.

        Raises:
            ValueError: the name is taken.
        """
        known = self._by_name.get(name)
        if known is not None and _origin(known) != _origin(function):
            raise ValueError(
                f"handler {name!r} is already {_origin(known)}; {_origin(function)} needs another name"
            )
        made: Any = function() if inspect.isclass(function) else function
        self._by_name[name] = made

    def find(self, name: str) -> HandlerFunction | None:
        """Return the handler, None when nobody registered that name in this process."""
        return self._by_name.get(name)

    def names(self) -> list[str]:
        """Return all names, sorted."""
        return sorted(self._by_name)


def _origin(function: Any) -> str:
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}.{named.__qualname__}"


registry = Handlers()
"""The registry that `@handler` fills and workers read."""


@overload
def handler(name: _Handler) -> _Handler: ...


@overload
def handler(name: str | None = None) -> Callable[[_Handler], _Handler]: ...


def handler(name: Any = None) -> Any:
    """Register a function, or a class whose instances are callable, as a handler.

    Without a name it is "<module>.<function>". Write `@handler` or `@handler("shop.charge")`.
    """
    if callable(name):
        registry.add(_origin(name), name)
        return name

    def register(function: _Handler) -> _Handler:
        registry.add(name or _origin(function), function)
        return function

    return register
