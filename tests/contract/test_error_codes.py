"""Every code that a door answers with is in the reference of errors, and nothing else is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

from remand_app.domain import problem_codes

ROOT = Path(__file__).parents[2]
TOLD = (ROOT / "docs/reference/errors.md").read_text()
_TELLERS = {"show", "complain", "_plain"}
"""Functions that take the code of an error as text."""
_PROBLEMS = {"Problem", "_problem", "add", "add_at", "_unreadable", "_taken", "_refuse"}
_BRANCHES = {"BAD_INPUT", "NOT_FOUND", "CONFLICT", "UNFIT", "REFUSED", "REMAND_ERROR"}
"""Of classes that are never raised themselves; some of these words are codes of HTTP alone."""
_CODE = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*")


def modules() -> Iterator[ast.Module]:
    for package in ("app", "remand", "workers"):
        for path in sorted((ROOT / package).rglob("*.py")):
            yield ast.parse(path.read_text())


def _text(node: ast.AST | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def codes_of_errors() -> set[str]:
    """Return the codes of all classes of errors, and those that are written where an error is told."""
    found: set[str] = set()
    for module in modules():
        for node in ast.walk(module):
            if isinstance(node, ast.ClassDef):
                found |= {_text(line.value) or "" for line in node.body if _sets_code(line)}
            elif isinstance(node, ast.Call) and _name(node) in _TELLERS and node.args:
                found.add(_text(node.args[0]) or "")
    return {one for one in found if _CODE.fullmatch(one)} - _BRANCHES


def _sets_code(line: ast.stmt) -> TypeGuard[ast.Assign | ast.AnnAssign]:
    targets = line.targets if isinstance(line, ast.Assign) else [getattr(line, "target", None)]
    return any(isinstance(one, ast.Name) and one.id == "code" for one in targets)


def codes_of_problems() -> set[str]:
    """Return the codes that problems are made with, and those that pairs of message and code name."""
    found: set[str] = set()
    for module in modules():
        for node in ast.walk(module):
            if isinstance(node, ast.Call) and _name(node) in _PROBLEMS and len(node.args) > 1:
                found.add(_text(node.args[-1]) or "")
            elif isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple) and node.value.elts:
                found.add(_text(node.value.elts[-1]) or "")
    known = {*problem_codes.OF_SETTINGS, *problem_codes.OF_TEMPLATES}
    return {one for one in found if re.fullmatch(r"[A-Z]+(_[A-Z]+)+|[a-z]+(_[a-z]+)+", one) or one in known}


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def test_every_code_of_an_error_is_in_the_reference() -> None:
    codes = codes_of_errors()
    assert {"NO_ANSWER", "WAIT_TIMED_OUT", "CLASS_NOT_FOUND", "USAGE", "INTERNAL", "OUTPUT_LOST"} <= codes
    assert {one for one in codes if f"| `{one}` |" not in TOLD} == set()


def test_every_code_of_a_problem_has_its_meaning() -> None:
    known = {*problem_codes.OF_SETTINGS, *problem_codes.OF_TEMPLATES}
    assert codes_of_problems() - known == set()
    assert known - codes_of_problems() == set()
    assert {one for one in known if f"| `{one}` |" not in TOLD} == set()


def test_no_code_is_told_twice() -> None:
    of_errors = TOLD.partition("## Problems")[0]
    codes = re.findall(r"^\| `([A-Z_]+)` \|", of_errors, re.MULTILINE)
    assert sorted(codes) == sorted(set(codes))
