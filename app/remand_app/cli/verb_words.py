"""What a row of the table of verbs is on the command line: its words, without what carries it out."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from remand_app.cli.verbs import By, DryRun, Reason
from remand_app.resources.verbs import Argument, Noun, Verb, verbs_of

_TYPES: dict[str, Any] = {"texts": list[str], "flag": bool, "priority": int, "count": int}
_METAVARS = {"json": "JSON|@FILE|-", "object": "JSON|@FILE|-", "duration": "DURATION"}


def made_of(noun: Noun) -> Iterator[Verb]:
    """Yield the verbs whose commands are made of their rows."""
    return (verb for verb in verbs_of(noun, "cli") if not verb.own_command)


def exits_of(verb: Verb) -> tuple[int, ...]:
    """Return the exit codes that a verb has in addition to those of every command."""
    return verb.exits or ((4, 5) if verb.is_refusable else (4,))


def examples_of(verb: Verb) -> tuple[str, ...]:
    """Return command lines."""
    return tuple(f"remand {line}" for line in verb.examples)


def parameters_of(verb: Verb) -> Iterator[inspect.Parameter]:
    """Yield the parameters of a verb's command, but for those that name the thing."""
    for argument in verb.arguments:
        yield parameter(argument.name, *_option(argument))
    if verb.previews:
        yield parameter("dry_run", DryRun, False)
    yield parameter("reason", Reason, None)
    yield parameter("by", By, None)


def parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    """Return a parameter that is given by its name."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _option(argument: Argument) -> tuple[Any, Any]:
    """Return the annotation and the default of what an argument is on the command line."""
    kind = _TYPES.get(argument.kind, str)
    default: Any = inspect.Parameter.empty
    if not argument.required:
        kind, default = (kind, False) if argument.kind == "flag" else (kind | None, None)
    if argument.typed and not argument.typed.startswith("-"):
        return Annotated[kind, typer.Argument(metavar=argument.typed, help=argument.about)], default
    metavar = argument.metavar or _METAVARS.get(argument.kind)
    name = argument.typed or f"--{argument.name.replace('_', '-')}"
    return Annotated[kind, typer.Option(name, help=argument.about, metavar=metavar)], default
