"""Hold the calls of `log` in the code against the catalogue: their names and their fields."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.telemetry import EVENTS

ROOT = Path(__file__).parents[2]
FREE = frozenset({"exc_info", "stack_info"})


def calls() -> Iterator[tuple[str, str, set[str]]]:
    for folder in ("app", "workers"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if _is_log(node):
                    assert isinstance(node, ast.Call)
                    where = f"{path.relative_to(ROOT)}:{node.lineno}"
                    yield (
                        where,
                        ast.literal_eval(node.args[0]),
                        {word.arg for word in node.keywords if word.arg},
                    )


def _is_log(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "log"
        and bool(node.args)
        and isinstance(node.args[0], ast.Constant)
    )


@pytest.mark.parametrize(("where", "event", "fields"), [pytest.param(*call, id=call[0]) for call in calls()])
def test_a_call_gives_only_fields_of_the_catalogue(where: str, event: str, fields: set[str]) -> None:
    assert event in EVENTS, where
    assert fields - FREE <= set(EVENTS[event].fields), where
