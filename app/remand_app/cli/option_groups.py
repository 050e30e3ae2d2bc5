"""Let commands share groups of options: a command gets each group as one parameter."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any


def with_options(**makers: Callable[..., Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of functions in the place of its parameters of these names.

    A maker takes the `Cli` and its options, and returns what the command gets.
    """

    def change(function: Callable[..., None]) -> Callable[..., None]:
        options = {name: _parameters(maker) for name, maker in makers.items()}

        @wraps(function)
        def command(cli: Any, **typed: Any) -> None:
            made = {
                name: maker(cli, **{option.name: typed.pop(option.name) for option in options[name]})
                for name, maker in makers.items()
            }
            function(cli, **made, **typed)

        first, *own = inspect.signature(function, eval_str=True).parameters.values()
        shown = [
            option.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for parameter in own
            for option in options.get(parameter.name, [parameter])
        ]
        command.__signature__ = inspect.Signature([first, *shown])  # type: ignore[attr-defined]
        command.__annotations__ = {option.name: option.annotation for option in (first, *shown)}
        return command

    return change


def _parameters(maker: Callable[..., Any]) -> list[inspect.Parameter]:
    _, *options = inspect.signature(maker, eval_str=True).parameters.values()
    return options
