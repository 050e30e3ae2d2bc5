"""What a command loads: modules are counted, in a process of its own, not time."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence

import pytest

from remand_app.cli import words
from remand_app.cli.verbs import VERBS

_LOADED = """
import atexit, json, os, sys
atexit.register(lambda: os.write(int(os.environ["TOLD"]), json.dumps(sorted(sys.modules)).encode()))
sys.argv = ["remand", *sys.argv[1:]]
from remand_app.cli.main import main
main()
"""
HEAVY = ("alembic", "celery", "fastapi", "jsonschema", "jinja2", "kombu", "sqlalchemy", "structlog", "yaml")
OURS = (
    "remand_app.config",
    "remand_app.engine",
    "remand_app.runtime",
    "remand_app.store",
    "remand_app.telemetry",
    "remand.rules.http",
)
HELP_AND_TAB = (
    ["--version"],
    ["--help"],
    [],
    ["dlq"],
    ["dlq", "redrive", "--help"],
    ["workflow", "list", "--help"],
)


def loaded(arguments: Sequence[str], code: int | None = None, **environment: str) -> set[str]:
    """Run a command line in a new process; return the modules it had when it ended."""
    reading, writing = os.pipe()
    clean = {name: value for name, value in os.environ.items() if not name.startswith("REMAND_")}
    ended = subprocess.run(
        [sys.executable, "-c", _LOADED, *arguments],
        env={**clean, **environment, "TOLD": str(writing)},
        pass_fds=[writing],
        capture_output=True,
        check=False,
    )
    os.close(writing)
    with os.fdopen(reading) as told:
        modules = set(json.loads(told.read()))
    assert code is None or ended.returncode == code, ended.stderr
    return modules


def under(modules: set[str], names: Sequence[str]) -> list[str]:
    return sorted(one for one in modules if any(one == name or one.startswith(f"{name}.") for name in names))


@pytest.mark.parametrize("arguments", HELP_AND_TAB, ids=" ".join)
def test_help_loads_nothing_that_works(arguments: list[str]) -> None:
    modules = loaded(arguments)

    assert under(modules, [*HEAVY, *OURS, "rich"]) == []
    assert len(modules) < 400


def test_a_tab_loads_nothing_that_works() -> None:
    tab = {"_REMAND_COMPLETE": "complete_bash", "COMP_WORDS": "remand dlq gro", "COMP_CWORD": "2"}

    assert under(loaded([], 0, **tab), [*HEAVY, *OURS, "rich"]) == []


@pytest.mark.parametrize(
    "arguments", [["wrkflow"], ["dlq", "lst"], ["dlq", "list", "--bogus"], ["dlq", "list", "--limit", "x"]],
    ids=" ".join,
)  # fmt: skip
def test_wrong_usage_loads_nothing_that_works(arguments: list[str]) -> None:
    assert under(loaded(arguments, 2), [*HEAVY, *OURS, "rich"]) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["workflow", "list"], ["dlq", "list", "--json"], ["queue", "list"], ["dlq", "groups"],
        ["dlq", "triage"], ["breaker", "list"], ["step", "show", "1f9c02", "a"],
        ["audit", "list"], ["dlq", "redrive", "list"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_question_loads_neither_alembic_nor_celery_nor_the_rules(arguments: list[str]) -> None:
    nowhere = {
        "REMAND_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nowhere",
        "REMAND_BROKER_URL": "redis://127.0.0.1:1/0",
    }
    modules = loaded(arguments, 3, **nowhere)

    not_for_questions = [one for one in HEAVY if one not in {"sqlalchemy", "yaml"}]
    assert under(modules, [*not_for_questions, "remand.rules.http", "workers"]) == []


def test_listing_letters_loads_no_verbs() -> None:
    nowhere = {
        "REMAND_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nowhere",
        "REMAND_BROKER_URL": "redis://127.0.0.1:1/0",
    }

    assert under(loaded(["dlq", "list"], 3, **nowhere), ["remand_app.engine.operate", "yaml"]) == []


def test_importing_the_sdk_loads_no_rules() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", "import remand, sys, json; print(json.dumps(sorted(sys.modules)))"],
        capture_output=True, check=True,
    )  # fmt: skip
    modules = set(json.loads(ended.stdout))

    assert under(modules, ["remand.rules.http", "remand.rules.text", "celery"]) == []


def test_each_command_is_recorded_as_its_module_declares_it() -> None:
    # The one module that loads all commands, whichever tests ran before.
    importlib.import_module("tools.docgen.command_words")
    assert set(words.every_command()) == set(VERBS), "run: make docs"
