"""Make commands from the table of verbs: words, arguments and help from the row, the answer from the noun."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import typer

from app.cli.arguments import read_json
from app.cli.context import By, Cli, Group, Reason
from app.cli.dry_run import DryRun, answer_dry_run
from app.domain.instants import read_instant
from app.resources.verbs import Argument, Noun, Verb, verbs_of

NEVER = "never"
"""Typed in the place of an instant: there is none."""
_TYPES: dict[str, Any] = {"texts": list[str], "flag": bool, "integer": int}


@dataclass(frozen=True, slots=True)
class Target:
    """What a verb is done to."""

    key: tuple[Any, ...]
    """What the engine's function is given."""
    workflow_id: UUID | None = None
    """Of which a preview is shown."""


@dataclass(frozen=True, slots=True)
class Done:
    """What a verb did."""

    verb: Verb
    key: tuple[Any, ...]
    value: Any
    """What the engine's function returned."""
    given: dict[str, Any]
    """The arguments, and who decided, `by`."""


def make_commands(
    group: Group,
    noun: Noun,
    *,
    takes: Sequence[tuple[str, Any]],
    find: Callable[..., Target],
    answer: Callable[[Cli, Done], None],
    but: Sequence[str] = (),
) -> None:
    """Give a noun of the command line its verbs, but for those with a command of their own.

    `takes`: the arguments that name the thing, which `find` is given after the `Cli`.
    """
    module = inspect.getmodule(find)
    assert module is not None, "it stands in the file of its noun"
    for verb in verbs_of(noun, "cli"):
        if verb.name not in but:
            exits = (4, 5) if verb.is_refusable else (4,)
            examples = tuple(f"remand {line}" for line in verb.examples)
            command = _command(verb, takes, find, answer, module.__name__)
            group.verb(verb.name.replace("_", "-"), exits=exits, examples=examples)(command)


def _command(
    verb: Verb,
    takes: Sequence[tuple[str, Any]],
    find: Callable[..., Target],
    answer: Callable[[Cli, Done], None],
    module: str,
) -> Callable[..., None]:
    def command(cli: Cli, **typed: Any) -> None:
        dry_run, who = typed.pop("dry_run", False), cli.who(typed.pop("by", None), typed.pop("reason", None))
        given = _given(verb, typed)
        target = find(cli, *(typed[name] for name, _ in takes))
        if dry_run and target.workflow_id is not None:
            answer_dry_run(cli, target.workflow_id, lambda engine: verb.act(engine, target.key, who, given))
        else:
            value = verb.act(cli.engine, target.key, who, given)
            answer(cli, Done(verb, target.key, value, {**given, "by": who.by}))

    command.__doc__ = verb.about
    command.__module__ = module
    parameters = [
        *(_parameter(name, annotation, inspect.Parameter.empty) for name, annotation in takes),
        *(_parameter(argument.name, *_option(argument)) for argument in verb.arguments),
        *([_parameter("dry_run", DryRun, False)] if verb.previews else []),
        _parameter("reason", Reason, None),
        _parameter("by", By, None),
    ]
    first = inspect.Parameter("cli", inspect.Parameter.POSITIONAL_ONLY, annotation=Cli)
    command.__signature__ = inspect.Signature([first, *parameters])  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _option(argument: Argument) -> tuple[Any, Any]:
    """Return the annotation and the default of what an argument is on the command line."""
    kind = _TYPES.get(argument.kind, str)
    default: Any = inspect.Parameter.empty
    if not argument.required:
        kind, default = (kind, False) if argument.kind == "flag" else (kind | None, None)
    if argument.typed and not argument.typed.startswith("-"):
        return Annotated[kind, typer.Argument(metavar=argument.typed, help=argument.about)], default
    metavar = "JSON|@FILE|-" if argument.kind in {"json", "object"} else None
    name = argument.typed or f"--{argument.name.replace('_', '-')}"
    return Annotated[kind, typer.Option(name, help=argument.about, metavar=metavar)], default


def _given(verb: Verb, typed: dict[str, Any]) -> dict[str, Any]:
    values = {argument: typed.pop(argument.name, None) for argument in verb.arguments}
    return {
        argument.name: _read(argument, value)
        for argument, value in values.items()
        if value not in (None, False)
    }


def _read(argument: Argument, value: Any) -> Any:
    match argument.kind:
        case "json" | "object":
            return read_json(value, argument.name)
        case "instant":
            return _instant(value)
        case _:
            return value


def _instant(text: str) -> datetime | None:
    return None if text == NEVER else read_instant(text, naive_is_utc=True)
