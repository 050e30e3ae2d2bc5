"""What a row of the table of verbs says."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from remand_app.domain.access import Permission

Noun = Literal["letter", "group", "step", "workflow", "redrive", "queue", "dead_queue", "breaker", "template"]
Door = Literal["api", "cli", "dashboard"]
Kind = Literal["text", "prose", "texts", "flag", "json", "object", "priority", "count", "instant", "duration"]

MAX_SECONDS = 31_536_000
"""Longest duration that a verb takes: a year."""


@dataclass(frozen=True, slots=True)
class Argument:
    """What a verb takes. One that is not given is not passed on: the engine's default holds."""

    name: str
    kind: Kind
    about: str
    required: bool = False
    parameter: str = ""
    """What the engine's function calls it; empty: the same."""
    typed: str = ""
    """On the command line: "WORD", a positional argument, or an option such as "--from"; empty: --name."""
    metavar: str = ""
    """What stands on the command line for the value of an option; empty: its type."""
    example: str = ""

    @property
    def of_engine(self) -> str:
        """The name of the engine's parameter."""
        return self.parameter or self.name

    def checked(self, value: Any) -> Any:
        """Return a value of it that came through any door.

        Raises:
            InputInvalid: it is no object of JSON, or no duration up to a year.
        """
        problem = hint = ""
        if self.kind == "object" and not isinstance(value, dict):
            problem, hint = "no object", 'as {"ticket": 417}'
        elif self.kind == "duration" and value is not None and not 0 <= value <= MAX_SECONDS:
            problem, hint = "no duration from 0 to a year", "in seconds"
        if problem:
            from remand_app.domain.errors import InputInvalid  # noqa: PLC0415 - help needs rows, and no errors

            raise InputInvalid(f"{self.name} is {problem}", hint=hint)
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """Something that can be done to a thing of a noun."""

    noun: Noun
    name: str
    engine: str
    """module:function of remand_app; its parameters are the engine, the thing, `who` and the arguments."""
    permission: Permission
    title: str
    """What the form of the dashboard is called."""
    about: str
    """What it does, for people: help, document and form."""
    done: str
    """What the dashboard says afterwards; {0} is the thing's name, {value} what the function returned."""
    arguments: tuple[Argument, ...] = ()
    when: Callable[[Any], bool] | None = None
    """Whether it is possible for a value of the noun; None: always."""
    button: str = ""
    is_dangerous: bool = False
    previews: bool = True
    """Whether it can be tried without effect."""
    needs_reason: bool = False
    keeps_workflow: bool = False
    """It changes the letter alone, not its workflow."""
    examples: tuple[str, ...] = ()
    """Command lines, without "remand"."""
    lacks: tuple[Door, ...] = ()
    typed: str = ""
    """Its name on the command line; empty: its own."""
    exits: tuple[int, ...] = ()
    """Exit codes of its command, but for those of all; empty: 4, and 5 where there is a `when`."""
    own_command: bool = False
    """The command line has a command of its own for it, with more options."""
    own_route: str = ""
    """The API's own route for it, as "POST /dlq/{letter_id}/notes"; empty: a PATCH of the thing."""
    task: str = ""
    """The Celery task and the method of the client, which have one name; empty: there is none."""

    def act(self, engine: Any, key: tuple[Any, ...], who: Any, arguments: Mapping[str, Any]) -> Any:
        """Do it.

        Raises:
            InputInvalid: an argument is not what it should be, or a reason is needed and none was given.
            RemandError: as the function of the engine.
        """
        self._check_reason(who)
        values = {
            argument.of_engine: argument.checked(arguments[argument.name])
            for argument in self.arguments
            if argument.name in arguments
        }
        return self.function(engine, *key, who=who, **values)

    def _check_reason(self, who: Any) -> None:
        if self.needs_reason and not (who.reason or "").strip():
            from remand_app.domain.errors import InputInvalid  # noqa: PLC0415 - as above

            raise InputInvalid(f"a reason is needed to {self.command} a {self.noun}", hint='--reason "why"')

    @property
    def command(self) -> str:
        """Its name on the command line."""
        return self.typed or self.name.replace("_", "-")

    def told(self, key: tuple[Any, ...], value: Any) -> str:
        """Return what is said of it once it was done."""
        return self.done.format(*key, value=value)

    @property
    def is_refusable(self) -> bool:
        """Whether there are states in which it is not possible."""
        return self.when is not None

    def is_possible(self, thing: Any) -> bool:
        """Whether it can be done to a thing now."""
        return self.when is None or self.when(thing)

    @property
    def function(self) -> Callable[..., Any]:
        """The function of the engine."""
        module, _, name = self.engine.partition(":")
        function: Callable[..., Any] = getattr(importlib.import_module(f"remand_app.{module}"), name)
        return function

    def missing(self) -> set[str]:
        """Return the arguments that the function does not take: none, or the row is wrong."""
        return {argument.of_engine for argument in self.arguments} - set(
            inspect.signature(self.function).parameters
        )
