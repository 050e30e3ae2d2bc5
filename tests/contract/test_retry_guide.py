"""The guide to retry policies tells every knob with its default, and each has a test that it matters."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from remand_app.domain.breaker import DEFAULT_BREAKER, BreakerOverrides
from remand_app.domain.decide import EndedAttempt, Retry, schedule
from remand_app.domain.retry import CATEGORIES, DEFAULT_RETRY, POLICIES, RetryOverrides
from remand_app.domain.retry_budget import BudgetSpec

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs/guides/choose-a-retry-policy.md").read_text()
ROWS = {
    cells[0].strip("` "): cells[1:]
    for line in GUIDE.splitlines()
    if line.startswith("| `")
    for cells in [[cell.strip() for cell in line.strip("| ").split(" | ")]]
}
NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)


def knobs(model: type[BaseModel], defaults: object, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, field in model.model_fields.items():
        default = getattr(defaults, name)
        inner = [kind for kind in get_args(field.annotation) if isinstance(kind, type)]
        table = next((kind for kind in inner if issubclass(kind, BaseModel)), None)
        if table is not None:
            yield from knobs(table, default, f"{prefix}{name}.")
        else:
            yield prefix + name, default


KNOBS = {
    **dict(knobs(RetryOverrides, DEFAULT_RETRY)),
    **dict(knobs(BudgetSpec, BudgetSpec(), "retry_budget.")),
    **dict(knobs(BreakerOverrides, DEFAULT_BREAKER, "breaker.")),
}
PROOFS = {
    node.name: "\n".join(ast.unparse(part) for part in [*node.decorator_list, node])
    for node in ast.walk(ast.parse((ROOT / "tests/integration/test_settings_matter.py").read_text()))
    if isinstance(node, ast.FunctionDef)
}


def shown(default: Any) -> str:
    match default:
        case None:
            return "none"
        case bool():
            return str(default).lower()
        case float() | int():
            return f"{default:g}"
        case frozenset():
            return ", ".join(sorted(default))
        case MappingProxyType():
            return "none"
        case _:
            raise AssertionError(f"how is {default!r} shown?")


def test_the_search_finds_knobs_of_every_table() -> None:
    assert {"max_attempts", "fibonacci.cap_seconds", "retry_budget.ratio", "breaker.probes"} <= KNOBS.keys()


@pytest.mark.parametrize("knob", KNOBS)
def test_the_guide_tells_a_knob_with_its_default_and_unit(knob: str) -> None:
    assert knob in ROWS, "the guide leaves it out"
    default, meaning = ROWS[knob][:2]
    assert default == shown(KNOBS[knob])
    if knob.endswith("_seconds"):
        assert "second" in meaning.lower()


def test_the_guide_tells_no_knob_that_is_not_there() -> None:
    told = {one for one in ROWS if re.fullmatch(r"[a-z_]+\.[a-z_]+|[a-z]+_[a-z_]+", one)}
    assert told - KNOBS.keys() == set()


@pytest.mark.parametrize("knob", KNOBS)
def test_a_knob_has_a_test_that_changing_it_changes_what_happens(knob: str) -> None:
    table, _, key = knob.rpartition(".")
    name = knob.replace(".", "_") if table in ("retry_budget", "breaker") else f"retry_{table or key}"
    proofs = [text for proof, text in PROOFS.items() if proof.startswith(f"test_{name}_")]
    assert any(key in text for text in proofs), (
        f"write test_{name}_… about {key} in tests/integration/test_settings_matter.py"
    )


@pytest.mark.parametrize("word", [*POLICIES, *CATEGORIES])
def test_the_guide_tells_every_policy_and_category(word: str) -> None:
    assert re.search(rf"^\| (`\w+`, )*`{word}`", GUIDE, re.MULTILINE)


def span(text: str) -> timedelta:
    hours, minutes = re.search(r"(\d+) h", text), re.search(r"(\d+) min", text)
    return timedelta(hours=int(hours[1]) if hours else 0, minutes=int(minutes[1]) if minutes else 0)


@pytest.mark.parametrize("attempts", [3, 5, 8, 12])
def test_the_guide_is_right_on_how_long_a_step_holds_out(attempts: int) -> None:
    [head] = re.findall(r"^\| `max_attempts` (\|.*`)", GUIDE, re.MULTILINE)
    [row] = re.findall(rf"^\| {attempts}(?: \(default\))? \| (.*) \|$", GUIDE, re.MULTILINE)
    for policy, told in zip(re.findall(r"`(\w+)`", head), row.split(" | "), strict=True):
        spec = replace(DEFAULT_RETRY, max_attempts=attempts)
        plan = schedule(EndedAttempt("failed", 1, 0, "network", policy), spec, now=NOW)
        waits = [one.decision.delay for one in plan if isinstance(one.decision, Retry)]
        assert sum(waits, timedelta()) == span(told), policy
