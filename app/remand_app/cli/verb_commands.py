"""Carry out commands made of the table of verbs: the row says what is done, the noun what is answered."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from remand_app.cli.arguments import read_json, read_seconds
from remand_app.cli.context import Cli, Group
from remand_app.cli.dry_run import answer_dry_run
from remand_app.cli.verb_words import examples_of, exits_of, made_of, parameter, parameters_of
from remand_app.cli.verbs import FROM_TABLE, TableVerbs
from remand_app.domain.instants import read_instant
from remand_app.resources.verbs import Argument, Noun, Verb

NEVER = "never"
"""Typed in the place of an instant: there is none."""


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
    arguments: dict[str, Any]
    """The arguments, and who decided, `by`."""


def make_commands(
    group: Group,
    noun: Noun,
    *,
    takes: Sequence[tuple[str, Any]],
    find: Callable[..., Target],
    answer: Callable[[Cli, Done], None],
) -> None:
    """Give a noun of the command line its verbs, but for those with a command of their own.

    `takes`: the arguments that name the thing, which `find` is given after the `Cli`.
    """
    FROM_TABLE[group.name] = TableVerbs(noun, find.__module__, tuple(takes))
    for verb in made_of(noun):
        command = _command(verb, takes, find, answer)
        group.verb(verb.command, exits=exits_of(verb), examples=examples_of(verb))(command)


def _command(
    verb: Verb,
    takes: Sequence[tuple[str, Any]],
    find: Callable[..., Target],
    answer: Callable[[Cli, Done], None],
) -> Callable[..., None]:
    def command(cli: Cli, **typed: Any) -> None:
        dry_run, who = typed.pop("dry_run", False), cli.who(typed.pop("by", None), typed.pop("reason", None))
        arguments = _given(verb, typed)
        target = find(cli, *(typed[name] for name, _ in takes))
        if dry_run and target.workflow_id is not None:
            answer_dry_run(
                cli, target.workflow_id, lambda engine: verb.act(engine, target.key, who, arguments)
            )
        else:
            value = verb.act(cli.engine, target.key, who, arguments)
            answer(cli, Done(verb, target.key, value, {**arguments, "by": who.by}))

    command.__doc__ = verb.about
    command.__module__ = find.__module__
    parameters = [*(parameter(name, annotation) for name, annotation in takes), *parameters_of(verb)]
    first = inspect.Parameter("cli", inspect.Parameter.POSITIONAL_ONLY, annotation=Cli)
    command.__signature__ = inspect.Signature([first, *parameters])  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _given(verb: Verb, typed: dict[str, Any]) -> dict[str, Any]:
    values = {argument: typed.pop(argument.name, None) for argument in verb.arguments}
    return {
        argument.name: _read(argument, value)
        for argument, value in values.items()
        if value is not None and value is not False
    }


def _read(argument: Argument, value: Any) -> Any:
    match argument.kind:
        case "json" | "object":
            return read_json(value, argument.name)
        case "instant":
            return _instant(value)
        case "duration":
            return read_seconds(value)
        case _:
            return value


def _instant(text: str) -> datetime | None:
    return None if text == NEVER else read_instant(text, naive_is_utc=True)
