"""Find the SQL that stands in strings of Python code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

# A statement, a part of one, or a column of an alias.
_IS_SQL = re.compile(
    r"\b(?:select(?!,| on )|insert into|delete from|order by|for update)\b|\bupdate \w+\.\w+"
    r"|\b(?:from|join) remand\.|(?<![\w.])[a-z]\.[a-z_]{2,}",
    re.IGNORECASE,
)
_PARAMETER = re.compile(r"%\(\w+\)s|%s|(?<![:\w]):[a-z]\w*")
_FIELD = re.compile(r"\{\w*\}")


@dataclass(frozen=True, slots=True)
class InlineSql:
    """A text with a placeholder for each parameter and each interpolated part, on the lines that it had."""

    line: int
    text: str
    is_glued: bool
    """It stands in several literals, one after the other, on several lines."""


def inline_sql(source: str) -> Iterator[InlineSql]:
    """Yield the SQL in the strings of a module, docstrings apart."""
    tree = ast.parse(source)
    parts = set(_parts(tree))
    for node in ast.walk(tree):
        text = None if node in parts else _text(node)
        if text is not None and _IS_SQL.search(text):
            assert isinstance(node, ast.expr)
            is_glued = node.end_lineno not in {node.lineno, node.lineno + text.count("\n")}
            yield InlineSql(node.lineno, _FIELD.sub("part", _PARAMETER.sub("$1", text)), is_glued)


def _parts(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield docstrings, and the pieces of f-strings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield from node.values


def _text(node: ast.AST) -> str | None:
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=values):
            return "".join(_text(value) or "part" for value in values)
        case _:
            return None
