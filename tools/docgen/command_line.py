"""Write the reference of the command line; verbs of the table have a page of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from remand_app.cli import root
from remand_app.cli.exits import EXIT_CODES
from remand_app.cli.verbs import FROM_TABLE, VERBS, Verb
from tools.docgen import command_words
from tools.docgen.usage import default, parameters, usage, written
from tools.docgen.verbs import link_to

_ABOUT_JSON = (
    "With `--json`, standard output holds one JSON document: the answer, or `{error: {code, message, hint, "
    "details}}`. Logs and progress go to standard error."
)


def command_line() -> str:
    """Return the page."""
    group: Any = typer.main.get_command(root.app)
    listed = "\n".join(f"| `{code}` | {meaning} |" for code, meaning in EXIT_CODES.items())
    parts = [
        "# Command line\n",
        f"{group.help}\n",
        f"## Exit codes\n\n| code | meaning |\n|---|---|\n{listed}\n",
        f"{_ABOUT_JSON}\n",
    ]
    return "\n".join([*parts, *_commands(group, "")])


def _commands(group: Any, prefix: str) -> Iterator[str]:
    for name in sorted(group.commands):
        command = group.commands[name]
        path = f"{prefix}{name}"
        if getattr(command, "commands", None):
            yield f"## remand {path}\n\n{command.help}\n"
            if path in FROM_TABLE:
                yield f"What can be done to one: {link_to(FROM_TABLE[path].noun)}.\n"
            yield from _commands(command, f"{path} ")
        elif not command_words.is_of_table(path):
            yield _command(command, VERBS[path], "###" if prefix else "##")


def _command(command: Any, told: Verb, heading: str) -> str:
    rows = [f"| {written(param)} | {param.help or ''}{default(param)} |" for param in parameters(command)]
    codes = " · ".join(f"`{code}` {meaning}" for code, meaning in told.exits.items())
    examples = "\n".join(told.examples)
    table = "| | |\n|---|---|\n" + "\n".join(rows)
    return (
        f"{heading} remand {told.path}\n\n`{usage(told.path, command)}`\n\n{command.help}\n\n{table}\n\n"
        f"```console\n{examples}\n```\n\nExit codes: {codes}\n"
    )
