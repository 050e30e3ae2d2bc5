"""Write the reference of verbs from their table: how each is said at each door."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import typer

from remand_app.api.verbs import NOUN_OF
from remand_app.cli import root
from remand_app.cli.exits import EXIT_CODES
from remand_app.cli.verb_words import exits_of
from remand_app.cli.verbs import FROM_TABLE
from remand_app.resources.verbs import Argument, Noun, Verb, verbs_of
from tools.docgen.usage import parameters, usage, written

_TITLES: Mapping[Noun, str] = MappingProxyType(
    {
        "workflow": "Workflows",
        "step": "Steps",
        "letter": "Dead letters",
        "group": "Causes of dead letters",
        "redrive": "Redrives",
        "queue": "Queues",
        "dead_queue": "Dead queues",
        "breaker": "Breakers",
        "template": "Templates",
    }
)
_TYPES = MappingProxyType(
    {
        "text": "string",
        "prose": "string",
        "texts": "list of string",
        "flag": "boolean",
        "json": "any JSON",
        "object": "object",
        "priority": "integer",
        "count": "integer",
        "instant": "date-time",
        "duration": "seconds",
    }
)
_OF_ALL = frozenset({"reason", "by", "dry_run", "json", "config"})
_ABOUT = """\
What people do to things, whichever door they come through: the [command line](cli.md), the
[HTTP API](api.md) and the dashboard have the same verbs, made from one table. A verb over Celery is a task
and a method of [the client](../guides/from-any-celery-app.md).

Every command takes these, and the body of a PATCH the field where one is named; `--dry-run` only where the
verb says so. What another route takes, and where, stands with [that route](api.md):

| option | field of the body | what |
|---|---|---|
| `--reason VALUE` | `reason` | Why: recorded with the decision. |
| `--by VALUE` | | Who decides: recorded. Default: $REMAND_USER, else the OS user. HTTP: who is signed in. |
| `--dry-run` | `dry_run` | Only say what it would do: nothing is changed, nothing is sent. |
| `--json` | | One JSON document on standard output. |
| `--config PATH` | | Settings file; default: $REMAND_CONFIG, ./remand.toml. |

Exit codes of all: {exits} · `4` where a thing is named: {absent}
"""


def link_to(noun: Noun) -> str:
    """Return a link to the verbs of a noun."""
    title = _TITLES[noun]
    return f"[{title.lower()}](verbs.md#{title.lower().replace(' ', '-')})"


def verbs(document: Mapping[str, Any]) -> str:
    """Return the page. `document`: of the API."""
    exits = " · ".join(f"`{code}` {EXIT_CODES[code]}" for code in (0, 2, 3))
    groups = {table.noun: path for path, table in FROM_TABLE.items()}
    routes = {
        NOUN_OF[name]: f"PATCH {path}"
        for path, operations in document["paths"].items()
        for name in bodies_of(operations.get("patch", {}))
        if name in NOUN_OF
    }
    parts = ["# Verbs\n", _ABOUT.format(exits=exits, absent=EXIT_CODES[4])]
    for noun, title in _TITLES.items():
        parts.append(f"## {title}\n")
        parts += [_verb(verb, groups[noun], routes) for verb in verbs_of(noun)]
    return "\n".join(parts)


def bodies_of(operation: Mapping[str, Any]) -> list[str]:
    """Return the names of the bodies that a route takes."""
    if "requestBody" not in operation:
        return []
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    return [body["$ref"].rpartition("/")[2] for body in schema.get("oneOf", [schema])]


def _verb(verb: Verb, group: str, routes: Mapping[Noun, str]) -> str:
    path = f"{group} {verb.command}"
    command: Any = typer.main.get_command(root.app)
    for word in path.split():
        command = command.commands[word]
    if verb.own_command:
        options = f"Its options are those of [the command](cli.md#{f'remand {path}'.replace(' ', '-')})."
    else:
        options = f"| | field of the body | |\n|---|---|---|\n{_options(verb, command)}"
    examples = "\n".join(f"remand {line}" for line in verb.examples)
    return (
        f"### remand {path}\n\n`{usage(path, command)}`\n\n{verb.about}\n\n{options}\n\n"
        f"```console\n{examples}\n```\n\n{' · '.join(_told(verb, routes))}\n"
    )


def _options(verb: Verb, command: Any) -> str:
    arguments = {argument.name: argument for argument in verb.arguments}
    return "\n".join(
        f"| {written(param)} | {_field(arguments.get(param.name))} | {param.help} |"
        for param in parameters(command)
        if param.name not in _OF_ALL
    )


def _field(argument: Argument | None) -> str:
    if argument is None:
        return ""
    return f"`{argument.name}`{' (required)' if argument.required else ''}: {_TYPES[argument.kind]}"


def _told(verb: Verb, routes: Mapping[Noun, str]) -> Iterator[str]:
    if verb.own_route:
        yield f"HTTP `{verb.own_route}`"
    elif "api" not in verb.lacks:
        yield f'HTTP `{routes[verb.noun]}` with `{{"action": "{verb.name}"}}`'
    yield f"permission `{verb.permission}`"
    if verb.task:
        yield f"Celery task `remand.{verb.task}`, method `{verb.task}` of the client"
    if verb.needs_reason:
        yield "needs a reason"
    if verb.previews:
        yield "takes `--dry-run`"
    if 5 in exits_of(verb):
        yield f"exit code `5`, over HTTP 409: {EXIT_CODES[5]}"
