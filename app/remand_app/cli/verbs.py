"""Declare the command line: which nouns and verbs there are, their arguments and their help.

A command is declared beside the function that carries it out, or made of a row of the table of verbs.
Words of the former are recorded in `words.json`: help, completion and usage errors load no engine.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from remand_app.cli.exits import EXIT_CODES

if TYPE_CHECKING:
    from remand_app.resources.verb import Noun

USER_VARIABLE = "REMAND_USER"

Function = TypeVar("Function", bound=Callable[..., None])

By = Annotated[
    str | None,
    typer.Option("--by", help=f"Who decides: recorded. Default: ${USER_VARIABLE}, else the OS user."),
]
Reason = Annotated[str | None, typer.Option("--reason", help="Why: recorded with the decision.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Only say what it would do: nothing is changed, nothing is sent.")
]
WorkflowId = Annotated[str, typer.Argument(metavar="WORKFLOW", help="Its id, or enough of either end of it.")]

After = Annotated[
    str | None, typer.Option("--after", metavar="CURSOR", help="Go on behind a page: its `next`.")
]
Limit = Annotated[int, typer.Option("--limit", min=1, max=10_000, help="At most so many.")]

START, WORK, RUN, EXPLAIN = "Start here", "Work with it", "Run it for real", "Find out why"
"""Panels of the help, in order."""


@dataclass(frozen=True, slots=True)
class Verb:
    """A command: its words, and the function that does it, whose first parameter is the `Cli`."""

    path: str
    function: Callable[..., None]
    about: str
    examples: tuple[str, ...]
    exits: Mapping[int, str]
    panel: str | None


VERBS: dict[str, Verb] = {}
"""Command path ("workflow show") → verb, of the modules that are loaded."""


@dataclass(frozen=True, slots=True)
class TableVerbs:
    """What a noun takes from the table of verbs (`remand_app.resources.verbs`)."""

    noun: Noun
    module: str
    """It carries them out."""
    takes: tuple[tuple[str, Any], ...]
    """The arguments that name the thing, and their annotations."""


FROM_TABLE: dict[str, TableVerbs] = {}
"""Group → what it takes from the table of verbs, of the modules that are loaded."""


def flowed(text: str) -> str:
    """Return the paragraphs of a text, each in one line."""
    return "\n\n".join(" ".join(part.splitlines()) for part in inspect.cleandoc(text).split("\n\n"))


def all_exits(exits: Iterable[int] | Mapping[int, str]) -> dict[int, str]:
    """Return the exit codes of a command with their meanings, those of every command among them."""
    named = exits if isinstance(exits, Mapping) else {code: EXIT_CODES[code] for code in exits}
    return dict(sorted({0: EXIT_CODES[0], 2: EXIT_CODES[2], 3: EXIT_CODES[3], **named}.items()))


class Group:
    """A noun of the command line, or the root, which has no name."""

    def __init__(self, name: str, about: str) -> None:
        self.name = name
        self.about = about

    def verb(
        self,
        name: str,
        *,
        examples: Sequence[str],
        exits: Iterable[int] | Mapping[int, str] = (),
        panel: str | None = None,
    ) -> Callable[[Function], Function]:
        """Make a command of a function whose first parameter is the `Cli`; all have --json and --config."""
        path = f"{self.name} {name}".strip()

        def register(function: Function) -> Function:
            about = flowed(function.__doc__ or "")
            VERBS[path] = Verb(path, function, about, tuple(examples), all_exits(exits), panel)
            return function

        return register


ROOT = Group(
    "",
    "Durable workflows on Celery and Postgres. Start with `remand up`, or watch `remand demo`.\n\n"
    "Ids may be shortened to either end. Every command takes --json and --config.",
)
