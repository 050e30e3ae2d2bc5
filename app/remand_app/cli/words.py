"""Read the words of the command line from `words.json` and make commands of them.

A command knows the module that carries it out, and loads it when it runs. `make docs` writes the file. What
is made of the table of verbs is not in it: its words are read from the rows.
"""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache, cached_property
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command_from_info
from typer.models import CommandInfo

from remand_app.cli.verbs import VERBS, all_exits, flowed

FILE = Path(__file__).with_name("words.json")

_BUILT_IN: Mapping[str, type] = {kind.__name__: kind for kind in (str, int, float, bool, Path)}


@dataclass(frozen=True, slots=True)
class GlobalOptions:
    """Options given before the command."""

    json: bool = False
    config: Path | None = None
    owns_process: bool = False
    """Whether the process does nothing but this command."""


@cache
def catalogue() -> dict[str, Any]:
    """Return what is recorded: `groups` and `commands`, by path, in the order of the help."""
    read: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return read


@cache
def from_table(group: str) -> dict[str, Any]:
    """Return the commands of a group that are made of the table of verbs, as they would be recorded."""
    table_of = catalogue()["groups"].get(group, {}).get("verbs")
    if table_of is None:
        return {}
    from remand_app.cli import verb_words as table

    return {
        f"{group} {verb.command}": {
            "module": table_of["module"],
            "about": flowed(verb.about),
            "examples": table.examples_of(verb),
            "exits": all_exits(table.exits_of(verb)),
            "parameters": [
                *table_of["takes"],
                *(recorded(parameter, parameter.annotation) for parameter in table.parameters_of(verb)),
            ],
        }
        for verb in table.made_of(table_of["noun"])
    }


def every_command() -> dict[str, Any]:
    """Return all commands, by path: those that are recorded, and those of the table of verbs."""
    made = {path: words for group in catalogue()["groups"] for path, words in from_table(group).items()}
    return {**catalogue()["commands"], **made}


class Words(Mapping[str, Any]):
    """The commands and groups of one level, each made when it is asked for."""

    def __init__(self, group: str = "") -> None:
        self.group = group
        self.prefix = f"{group} ".lstrip()
        self.commands = self._of_level(catalogue()["commands"])
        self.groups = self._of_level(catalogue()["groups"])

    def _of_level(self, by_path: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: words
            for path, words in by_path.items()
            for name in [path.removeprefix(self.prefix)]
            if path.startswith(self.prefix) and " " not in name
        }

    @cached_property
    def verbs(self) -> dict[str, Any]:
        """Those that are made of the table of verbs, which a recorded command does not load."""
        return self._of_level(from_table(self.group))

    def __iter__(self) -> Iterator[str]:
        return iter([*self.commands, *self.verbs, *self.groups])

    def __len__(self) -> int:
        return len(self.commands) + len(self.verbs) + len(self.groups)

    def __getitem__(self, name: str) -> Any:
        path = f"{self.prefix}{name}"
        if name in self.groups:
            about = self.groups[name]["about"]
            return Level(name=name, commands=Words(path), help=about, no_args_is_help=True)
        return _made(name, path, self.commands[name] if name in self.commands else self.verbs[name])

    def lines(self) -> list[tuple[str, str, str]]:
        """Return panel, name and first sentence of each."""
        return [
            (words.get("panel") or "Commands", name, _first_sentence(words["about"]))
            for name, words in [*self.commands.items(), *self.verbs.items(), *self.groups.items()]
        ]


def _first_sentence(text: str) -> str:
    return text.split("\n\n", maxsplit=1)[0].split(". ", maxsplit=1)[0].removesuffix(".")


class Level(TyperGroup):
    """A group whose help and completion are read from the words, without what is behind them."""

    def __init__(self, *, commands: Any = None, **more: Any) -> None:
        # typer makes the root, and knows of no commands; whether there are some reads the table of verbs.
        super().__init__(**{**more, "rich_markup_mode": None})
        self.commands: Any = commands if isinstance(commands, Words) else Words()

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the signature is given
        """Return the names, in the order of the help."""
        return list(self.commands)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - as above
        """List what there is, under its panels."""
        words = self.commands
        assert isinstance(words, Words)
        panels: dict[str, list[tuple[str, str]]] = {}
        for panel, name, about in words.lines():
            panels.setdefault(panel, []).append((name, about))
        widest = max(len(name) for name in words)
        for panel, rows in panels.items():
            with formatter.section(panel):
                formatter.write_dl([(name.ljust(widest), about) for name, about in rows])


class _Command(TyperCommand):
    """A command whose help ends with its examples and exit codes, a line each."""

    words: Mapping[str, Any]

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - as above
        words = self.words
        with formatter.section("Examples"):
            for example in words["examples"]:
                formatter.write(f"{' ' * formatter.current_indent}{example}\n")
        with formatter.section("Exit codes"):
            formatter.write_text(" · ".join(f"{code} {meaning}" for code, meaning in words["exits"].items()))


def _made(name: str, path: str, words: Mapping[str, Any]) -> Any:
    def command(ctx: typer.Context, json: bool, config: Path | None, **arguments: Any) -> None:
        from remand_app.cli.context import run_verb
        from remand_app.telemetry import configure_logging_late

        importlib.import_module(words["module"])
        options = ctx.obj if isinstance(ctx.obj, GlobalOptions) else GlobalOptions()
        if options.owns_process:
            # The answer says what happened; log lines of the engine appear only when something is wrong.
            configure_logging_late("WARNING")
        run_verb(VERBS[path].function, json or options.json, config or options.config, arguments)

    parameters = [
        inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context),
        *(replayed(parameter) for parameter in words["parameters"]),
        *OF_EVERY_COMMAND,
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    info = CommandInfo(name=name, cls=_Command, callback=command, help=words["about"])
    made: Any = get_command_from_info(info, pretty_exceptions_short=True, rich_markup_mode=None)
    made.words = words
    return made


def replayed(words: Mapping[str, Any]) -> inspect.Parameter:
    """Return the parameter that `recorded` wrote down."""
    make: Any = typer.Argument if words["kind"] == "argument" else typer.Option
    info = make(*words["declarations"], **words["more"])
    return inspect.Parameter(
        words["name"],
        inspect.Parameter.KEYWORD_ONLY,
        annotation=Annotated[_type(words["type"]), info],
        default=words.get("default", inspect.Parameter.empty),
    )


def recorded(parameter: inspect.Parameter, hint: Any) -> dict[str, Any]:
    """Return a parameter as JSON types; `hint`: its annotation, resolved."""
    is_plain = not hasattr(hint, "__metadata__")
    kind = hint if is_plain else hint.__origin__
    info = typer.Argument() if is_plain else hint.__metadata__[0]
    is_option = isinstance(info, typer.models.OptionInfo)
    blank = vars(typer.Option() if is_option else typer.Argument())
    more = {name: value for name, value in vars(info).items() if value != blank[name]}
    # Within `Annotated` the first flag takes the place of a default.
    declarations = [
        declaration
        for declaration in (more.pop("default", None), *more.pop("param_decls", ()))
        if declaration
    ]
    words = {
        "name": parameter.name,
        "kind": "option" if is_option else "argument",
        "type": _type_name(kind),
        "declarations": declarations,
        "more": more,
    }
    if parameter.default is not inspect.Parameter.empty:
        words["default"] = _plain(parameter.default)
    return words


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value


def _type_name(kind: Any) -> str:
    origin, inner = get_origin(kind), [argument for argument in get_args(kind) if argument is not NoneType]
    if origin in {list, tuple}:
        return f"{origin.__name__}[{', '.join(_type_name(part) for part in inner)}]"
    if origin in {Union, UnionType}:
        assert len(inner) == 1, f"of {kind} only one can be recorded"
        return f"{_type_name(inner[0])}?"
    return kind.__name__ if kind.__name__ in _BUILT_IN else f"{kind.__module__}:{kind.__name__}"


def _type(name: str) -> Any:
    if name.endswith("?"):
        return _type(name[:-1]) | None
    if name.startswith("list["):
        return list[_type(name[5:-1])]  # type: ignore[misc]  # made at run time
    if name.startswith("tuple["):
        return tuple[tuple(_type(part) for part in name[6:-1].split(", "))]  # type: ignore[misc]  # as above
    if name in _BUILT_IN:
        return _BUILT_IN[name]
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


OF_EVERY_COMMAND = (
    _keyword(
        "json", Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")], False
    ),
    _keyword(
        "config",
        Annotated[
            Path | None,
            typer.Option(
                "--config", metavar="PATH", help="Settings file; default: $REMAND_CONFIG, ./remand.toml."
            ),
        ],
        None,
    ),
)
"""Options that each command takes in addition to its own."""
