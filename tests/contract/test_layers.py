from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("remand", "app", "workers", "examples", "tools")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def imports_of(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return names


def test_imports_point_one_way() -> None:
    program = Path(sys.executable).with_name("lint-imports")

    ran = subprocess.run(
        [program, "--no-logo", "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert ran.returncode == 0, ran.stdout


def test_the_domain_reads_no_clock_and_draws_no_lots() -> None:
    forbidden = {"random", "time", "secrets", "uuid_utils", "socket", "subprocess", "threading", "os"}

    found = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in (ROOT / "app/remand_app/domain").rglob("*.py")
        for name in imports_of(path)
        if name.partition(".")[0] in forbidden
    }

    assert found == set()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_says_what_it_is(path: Path) -> None:
    tree = ast.parse(path.read_text())

    if tree.body:
        assert ast.get_docstring(tree)


def test_no_module_has_a_name_that_says_nothing() -> None:
    nothing = {"utils", "util", "helpers", "common", "manager", "service", "processor", "base", "misc"}

    assert [path for path in MODULES if path.stem in nothing] == []
