from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from remand_app import beat_schedule
from remand_app.config import Settings, settings_reference
from remand_app.config.reference import TABLES

ROOT = Path(__file__).parents[2]
REFERENCE = (ROOT / "docs/reference/settings.md").read_text()
INTERVALS = {entry.interval for entry in beat_schedule.BEAT_SCHEDULE.values()}
SOURCES = "\n".join(
    path.read_text() for folder in ("app", "workers", "remand") for path in (ROOT / folder).rglob("*.py")
)


@pytest.mark.parametrize("name", [name for name in Settings.model_fields if name not in TABLES])
def test_a_setting_is_documented_with_its_variable_and_its_unit(name: str) -> None:
    meaning = Settings.model_fields[name].description or ""

    assert f"REMAND_{name.upper()}" in REFERENCE
    assert meaning.rstrip(".") in REFERENCE.replace("\\", "")
    if name.endswith("_seconds"):
        assert "second" in meaning.lower() or "how long" in meaning.lower()
    if name.endswith("_bytes"):
        assert "bytes" in meaning


@pytest.mark.parametrize(
    "name", [f"{table}.{name}" for table, model in TABLES.items() for name in model.model_fields]
)
def test_a_key_of_a_table_is_documented(name: str) -> None:
    assert name in REFERENCE


def test_the_reference_is_the_generated_one() -> None:
    assert settings_reference().strip() in REFERENCE


@pytest.mark.parametrize("name", list(Settings.model_fields))
def test_a_setting_is_read_by_somebody(name: str) -> None:
    assert name in INTERVALS or re.search(rf"settings\.{name}\b", SOURCES)


PROOFS = {
    node.name
    for path in (ROOT / "tests/integration").glob("test_settings_*.py")
    for node in ast.walk(ast.parse(path.read_text()))
    if isinstance(node, ast.FunctionDef)
}


@pytest.mark.parametrize(
    "name",
    [*(name for name in Settings.model_fields if name not in TABLES and name not in INTERVALS),
     *(f"{table}_{name}" for table, model in TABLES.items() for name in model.model_fields)],
)  # fmt: skip
def test_a_setting_has_a_test_that_changing_it_changes_something(name: str) -> None:
    assert any(proof.startswith(f"test_{name}_") or proof == f"test_{name}" for proof in PROOFS), (
        f"write test_{name}_... in tests/integration/test_settings_*.py"
    )
