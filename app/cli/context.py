"""What every verb gets: settings, engine and output of one invocation; and how a verb becomes a command.

Settings without URLs mean the embedded stack that runs in `data_dir`, if one does.
"""

from __future__ import annotations

import getpass
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from app.cli import errors
from app.cli.output import Output
from app.cli.urls import LateBell, with_urls
from app.config import Settings, load_settings
from app.engine.context import Engine
from app.engine.operate import Who
from app.runtime import Runtime
from app.store.session import Database
from remand.errors import RemandError

USER_VARIABLE = "REMAND_USER"

Verb = TypeVar("Verb", bound=Callable[..., None])

By = Annotated[
    str | None,
    typer.Option("--by", help=f"Who decides: recorded. Default: ${USER_VARIABLE}, else the OS user."),
]
Reason = Annotated[str | None, typer.Option("--reason", help="Why: recorded with the decision.")]
WorkflowId = Annotated[str, typer.Argument(metavar="WORKFLOW", help="Its id, or enough of either end of it.")]


@dataclass(slots=True)
class Globals:
    """Options given before the command."""

    json: bool = False
    config: Path | None = None


class Cli:
    """One invocation. Parts are made when first asked for."""

    def __init__(self, out: Output, config: Path | None) -> None:
        self.out = out
        self.config = config

    @cached_property
    def given(self) -> Settings:
        """The settings as given, URLs possibly unset."""
        return load_settings(self.config)

    @cached_property
    def settings(self) -> Settings:
        """The settings with both URLs, those of the running embedded stack if none are set.

        Raises:
            ConfigInvalid: only one URL is set, or none and no embedded stack runs.
        """
        return with_urls(self.given)

    @cached_property
    def runtime(self) -> Runtime:
        """The parts of this process, its schema checked; bells ring through the broker."""
        runtime = self.unchecked
        runtime.check_schema()
        return runtime

    @cached_property
    def unchecked(self) -> Runtime:
        """The parts of this process, whatever the schema."""
        broker_url = self.settings.broker_url
        assert broker_url is not None
        return Runtime(self.settings, bell=LateBell(broker_url))

    @property
    def engine(self) -> Engine:
        """The engine."""
        return self.runtime.engine

    @property
    def database(self) -> Database:
        """The database."""
        return self.runtime.database

    def who(self, by: str | None, reason: str | None) -> Who:
        """Return who decides, and why."""
        return Who(by or operator(), reason)

    def close(self) -> None:
        """Ring what is owed and let connections go."""
        runtime = self.__dict__.get("unchecked")
        if runtime is not None:
            runtime.engine.bell.flush()
            runtime.database.dispose()


def operator() -> str:
    """Return who types: $REMAND_USER, else the OS user."""
    named = os.environ.get(USER_VARIABLE, "").strip()
    if named:
        return named
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # A container may run as a number that no account has.
        return f"uid {os.getuid()}"


@dataclass(frozen=True, slots=True)
class Help:
    """What the reference says of a command beside its options."""

    path: str
    examples: tuple[str, ...]
    exits: Mapping[int, str]


HELP: dict[str, Help] = {}
"""Command path ("workflow show") → its examples and exit codes."""


class Group:
    """A noun of the command line, or the root, which has no name."""

    def __init__(self, name: str, about: str, **more: Any) -> None:
        self.name = name
        self.app = typer.Typer(name=name or "remand", help=about, no_args_is_help=True, **more)

    def verb(
        self,
        name: str,
        *,
        examples: Sequence[str],
        exits: Iterable[int] | Mapping[int, str] = (),
        panel: str | None = None,
    ) -> Callable[[Verb], Verb]:
        """Make a command of a function whose first parameter is the `Cli`; add --json and --config to it."""
        path = f"{self.name} {name}".strip()
        named = exits if isinstance(exits, Mapping) else {code: errors.EXIT_CODES[code] for code in exits}
        own = {0: errors.EXIT_CODES[0], 2: errors.EXIT_CODES[2], 3: errors.EXIT_CODES[3], **named}
        HELP[path] = Help(path, tuple(examples), dict(sorted(own.items())))

        def register(function: Verb) -> Verb:
            paragraphs = inspect.cleandoc(function.__doc__ or "").split("\n\n")
            text = "\n\n".join(" ".join(one.splitlines()) for one in paragraphs)
            self.app.command(name, help=_plain(text), epilog=epilog(HELP[path]), rich_help_panel=panel)(
                _command(function)
            )
            return function

        return register


START, WORK, RUN, EXPLAIN = "Start here", "Work with it", "Run it for real", "Find out why"
"""Panels of the help, in order."""

ROOT = Group(
    "",
    "Durable workflows on Celery and Postgres. Start with `remand up`, or watch `remand demo`.\n\n"
    "Ids may be shortened to either end. Every command takes --json and --config.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def epilog(told: Help) -> str:
    """Return the end of a command's help: examples, then exit codes."""
    codes = " · ".join(f"{code} {meaning}" for code, meaning in told.exits.items())
    examples = "\n\n".join(f"  {example}" for example in told.examples)
    return _plain(f"Examples:\n\n{examples}\n\n\u200b\n\nExit codes: {codes}")


def _plain(text: str) -> str:
    return text.replace("[", "\\[")


def _command(function: Callable[..., None]) -> Callable[..., None]:
    hints = get_type_hints(function, include_extras=True)
    _, *own = inspect.signature(function).parameters.values()

    def command(ctx: typer.Context, json: bool, config: Path | None, **arguments: Any) -> None:
        given = ctx.obj if isinstance(ctx.obj, Globals) else Globals()
        _run(function, Output(as_json=json or given.json), config or given.config, arguments)

    parameters = [
        _keyword("ctx", typer.Context, inspect.Parameter.empty),
        *(one.replace(annotation=hints[one.name], kind=inspect.Parameter.KEYWORD_ONLY) for one in own),
        _keyword("json", _JSON, False),
        _keyword("config", _CONFIG, None),
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    command.__name__ = function.__name__
    return command


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


_JSON = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
_CONFIG = Annotated[
    Path | None,
    typer.Option("--config", metavar="PATH", help="Settings file; default: $REMAND_CONFIG, ./remand.toml."),
]


def _run(
    function: Callable[..., None], out: Output, config: Path | None, arguments: Mapping[str, Any]
) -> None:
    cli = Cli(out, config)
    try:
        function(cli, **arguments)
        sys.stdout.flush()
    except RemandError as error:
        errors.report(error, out)
        raise typer.Exit(error.exit_code) from None
    except KeyboardInterrupt:
        raise typer.Exit(errors.INTERRUPTED) from None
    except BrokenPipeError:
        # Whoever read us has seen enough; the interpreter must not complain when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(errors.BROKEN_PIPE) from None
    finally:
        cli.close()
