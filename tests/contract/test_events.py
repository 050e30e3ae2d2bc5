"""Hold the calls of `log` in the code against the catalogue, and the catalogue against the calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import pytest

from remand.failure import capture
from remand_app.engine.drain_state import Drained
from remand_app.engine.routing import Routing
from remand_app.store.claims import EndedBadly
from remand_app.telemetry import EVENTS, EventName

ROOT = Path(__file__).parents[2]
FREE = frozenset({"exc_info", "stack_info"})


@dataclass(frozen=True, slots=True)
class Call:
    where: str
    event: EventName
    fields: frozenset[str]
    has_more: bool
    """A part of the fields comes from a mapping that the text of the call does not show."""


def calls() -> Iterator[Call]:
    for folder in ("app", "workers"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call) and _is_log(node):
                    yield Call(
                        f"{path.relative_to(ROOT)}:{node.lineno}",
                        ast.literal_eval(node.args[0]),
                        frozenset(word.arg for word in node.keywords if word.arg) - FREE,
                        any(word.arg is None for word in node.keywords),
                    )


def _is_log(node: ast.Call) -> bool:
    return (
        isinstance(node.func, ast.Name)
        and node.func.id == "log"
        and bool(node.args)
        and isinstance(node.args[0], ast.Constant)
    )


CALLS = list(calls())


@pytest.mark.parametrize("call", [pytest.param(call, id=call.where) for call in CALLS])
def test_a_call_gives_only_fields_of_the_catalogue(call: Call) -> None:
    assert call.event in EVENTS
    assert call.fields <= set(EVENTS[call.event].fields)


@pytest.mark.parametrize("event", EVENTS)
def test_every_event_is_logged_with_every_field_somewhere(event: EventName) -> None:
    found = [call for call in CALLS if call.event == event]
    assert found, "nobody logs it: remove it from app/remand_app/telemetry/events.py"
    if not any(call.has_more for call in found):
        assert frozenset[str]().union(*(call.fields for call in found)) == set(EVENTS[event].fields)


def test_a_drain_reports_the_fields_of_the_catalogue() -> None:
    assert set(Drained("steps").fields()) == set(EVENTS["drain.ended"].fields)


def test_a_failed_attempt_reports_the_fields_of_the_catalogue() -> None:
    failure = capture(ValueError("no"))
    end = EndedBadly(UUID(int=1), "charge", 1, UUID(int=2), "failed", failure, "never")

    assert set(Routing.fields(end)) == set(EVENTS["attempt.failed"].fields)
