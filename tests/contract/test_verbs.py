"""The table of verbs holds every door: what a row says is there, and what is there stands in a row."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from remand.client import Client
from remand_app.api.app import build
from remand_app.api.openapi import document
from remand_app.cli import words
from remand_app.config import Settings
from remand_app.domain.errors import InputInvalid
from remand_app.engine.operate import Who
from remand_app.resources.verbs import VERBS, Verb
from remand_app.runtime import Runtime
from remand_workers import commands

assert commands
DOCUMENT = document(build(Runtime(Settings(database_url="postgresql://nobody@127.0.0.1:1/none"))))
COMMANDS = {
    "letter": "dlq",
    "group": "dlq group",
    "step": "step",
    "workflow": "workflow",
    "redrive": "dlq redrive",
    "queue": "queue",
    "dead_queue": "dlq queue",
    "breaker": "breaker",
    "template": "template",
}
ROUTES = {
    "letter": "/dlq/{letter_id}",
    "group": "/dlq/groups/{group_id}",
    "step": "/workflows/{workflow_id}/steps/{step}",
    "workflow": "/workflows/{workflow_id}",
    "redrive": "/redrives/{redrive_id}",
    "queue": "/queues/{queue}",
    "breaker": "/breakers/{name}",
    "template": "/templates/{namespace}/{name}",
}
OTHER_TASKS = {"submit", "submit_many", "get"}
OTHER_DECISIONS = {
    "archive drop", "archive export", "archive restore", "archive run", "dlq add",
    "dlq redrive plan", "notify retry", "submit", "token create", "token revoke",
    "user add", "user disable", "user enable", "user link", "user password", "user set-role",
}  # fmt: skip
"""Commands that record who decided, and are of one door, or make a thing, or take several at once."""
EACH = pytest.mark.parametrize("verb", VERBS, ids=lambda verb: f"{verb.noun}-{verb.name}")


def actions(noun: str) -> set[str]:
    """Return what the body of a noun's PATCH route may ask for."""
    body = DOCUMENT["paths"][ROUTES[noun]]["patch"]["requestBody"]["content"]["application/json"]["schema"]
    if "discriminator" in body:
        return set(body["discriminator"]["mapping"])
    schema = DOCUMENT["components"]["schemas"][body["$ref"].rpartition("/")[2]]
    return set(schema["properties"]["action"]["enum"])


def taken_by(method: str, path: str) -> set[str]:
    """Return what a route takes, in its body or its query."""
    operation = DOCUMENT["paths"][path][method.lower()]
    query = {parameter["name"] for parameter in operation.get("parameters", ())}
    if "requestBody" not in operation:
        return query
    body = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    return query | set(DOCUMENT["components"]["schemas"][body]["properties"])


def test_whoever_decides_by_a_command_decides_by_a_row() -> None:
    rows = {f"{COMMANDS[verb.noun]} {verb.command}" for verb in VERBS if "cli" not in verb.lacks}
    deciding = {
        path
        for path, told in words.every_command().items()
        if {"by", "reason"} & {parameter["name"] for parameter in told["parameters"]}
    }
    # The audit log is filtered by who decided.
    assert deciding - {"audit list"} == rows | OTHER_DECISIONS


@EACH
def test_the_function_of_a_row_takes_what_the_row_says(verb: Verb) -> None:
    assert not verb.missing()
    assert "who" in inspect.signature(verb.function).parameters


@EACH
def test_a_verb_is_at_each_door_that_does_not_lack_it(verb: Verb) -> None:
    command = f"{COMMANDS[verb.noun]} {verb.command}"
    assert (command in words.every_command()) == ("cli" not in verb.lacks)
    assert (command in words.catalogue()["commands"]) == verb.own_command
    if verb.own_route:
        assert {argument.name for argument in verb.arguments} <= taken_by(*verb.own_route.split())
    else:
        assert (verb.name in actions(verb.noun)) == ("api" not in verb.lacks)


@pytest.mark.parametrize("noun", ROUTES)
def test_the_api_does_nothing_that_no_row_names(noun: str) -> None:
    assert actions(noun) == {
        verb.name for verb in VERBS if verb.noun == noun and not verb.own_route and "api" not in verb.lacks
    }


def test_tasks_and_methods_of_the_client_are_those_of_the_rows() -> None:
    named = {verb.task for verb in VERBS if verb.task}
    tasks = {
        name.removeprefix("remand.")
        for name, task in commands.app.tasks.items()
        if getattr(inspect.unwrap(task.run), "__module__", "") == commands.__name__
    }
    assert tasks == named | OTHER_TASKS
    assert {name for name in named | OTHER_TASKS if not callable(getattr(Client, name, None))} == set()


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb.task], ids=lambda verb: verb.task)
def test_a_task_and_its_method_take_the_arguments_of_the_row(verb: Verb) -> None:
    task: Any = commands.app.tasks[f"remand.{verb.task}"]
    for taken in (inspect.signature(task.run), inspect.signature(getattr(Client, verb.task))):
        assert {argument.name for argument in verb.arguments} <= set(taken.parameters)


@pytest.mark.parametrize("reason", [None, "", " "])
def test_a_verb_that_needs_a_reason_does_nothing_without_one(reason: str | None) -> None:
    for verb in [verb for verb in VERBS if verb.needs_reason]:
        with pytest.raises(InputInvalid, match="a reason is needed"):
            verb.act(None, (), Who("ada", reason), {})
