"""The table of verbs holds every door: what a row says is there, and what is there stands in a row."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from app.api.app import build
from app.api.openapi import document
from app.cli import words
from app.config import Settings
from app.domain.errors import InputInvalid
from app.engine.operate import Who
from app.resources.verbs import VERBS, Verb
from app.runtime import Runtime
from remand.client import Client
from workers import commands

assert commands
DOCUMENT = document(build(Runtime(Settings(database_url="postgresql://nobody@127.0.0.1:1/none"))))
COMMANDS = {"letter": "dlq", "group": "dlq group", "step": "step", "workflow": "workflow"}
ROUTES = {
    "letter": "/dlq/{letter_id}",
    "group": "/dlq/groups/{group_id}",
    "step": "/workflows/{workflow_id}/steps/{step}",
    "workflow": "/workflows/{workflow_id}",
}
OTHER_TASKS = {"submit", "submit_many", "get", "pause_template", "resume_template"}
EACH = pytest.mark.parametrize("verb", VERBS, ids=lambda verb: f"{verb.noun}-{verb.name}")


def actions(noun: str) -> set[str]:
    body = DOCUMENT["paths"][ROUTES[noun]]["patch"]["requestBody"]["content"]["application/json"]["schema"]
    return set(body["discriminator"]["mapping"])


@EACH
def test_the_function_of_a_row_takes_what_the_row_says(verb: Verb) -> None:
    assert not verb.missing()
    assert "who" in inspect.signature(verb.function).parameters


@EACH
def test_a_verb_is_at_each_door_that_does_not_lack_it(verb: Verb) -> None:
    command = f"{COMMANDS[verb.noun]} {verb.name.replace('_', '-')}"
    assert (command in words.every_command()) == ("cli" not in verb.lacks)
    if verb.own_route:
        method, path = verb.own_route.split()
        assert method.lower() in DOCUMENT["paths"][path]
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
