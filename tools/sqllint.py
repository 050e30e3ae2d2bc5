"""Lint the SQL of the store and of the open revision, bodies of functions included.

`python -m tools.sqllint [FILE...]` reads app/store/sql and the open revision, or the files that are named,
and prints a line for each finding. PostgreSQL's own parser (pglast) parses the texts and splits them into
tokens; to sqlfluff the body of a function is a string, in which it finds nothing.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pglast
from pglast.parser import ParseError, Token, parse_plpgsql_json, scan

from migrations.texts import FUNCTIONS, open_folder

WIDTH = 110
_JOINS = {"LEFT", "RIGHT", "FULL", "INNER", "CROSS"}
_CLAUSES = {"FROM", "WHERE", "GROUP_P", "HAVING", "ORDER", "LIMIT", "RETURNING", "UNION", "JOIN", *_JOINS}
_QUERIES = {"SELECT", "UPDATE", "DELETE_P", "INSERT"}
# Keywords before which a word of _CLAUSES is part of an expression or of its verb.
_NOT_AFTER = {"FROM": {"DISTINCT", "DELETE_P"}, "JOIN": _JOINS}
_BODY = re.compile(r"\$(\w*)\$(.*?)\$\1\$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Finding:
    line: int
    text: str


def main(arguments: list[str]) -> int:
    """Print what is found; return how a process ends: 1 if anything was."""
    count = 0
    for path in [Path(name) for name in arguments] or _default_files():
        for finding in lint(path.read_text()):
            sys.stdout.write(f"{path}:{finding.line}: {finding.text}\n")
            count += 1
    return int(count > 0)


def _default_files() -> list[Path]:
    folder = open_folder()
    return [*sorted(FUNCTIONS.glob("*.sql")), *(sorted(folder.glob("*.sql")) if folder else ())]


def lint(text: str) -> list[Finding]:
    """Return what is against the rules, in order of lines."""
    found = [
        Finding(number, f"line of {len(line)} columns, at most {WIDTH} fit")
        for number, line in enumerate(text.splitlines(), start=1)
        if len(line) > WIDTH
    ]
    found += _parse_errors(text)
    for line, body in _parts(text):
        found += [Finding(one.line + line, one.text) for one in _token_findings(body)]
    return sorted(found, key=lambda one: one.line)


def _parse_errors(text: str) -> Iterator[Finding]:
    try:
        for raw in pglast.parse_sql(text):
            start = raw.stmt_location or 0
            statement = text[start : start + (raw.stmt_len or len(text))]
            if "language plpgsql" in statement:
                parse_plpgsql_json(statement)
    except ParseError as error:
        yield Finding(1, f"PostgreSQL cannot parse it: {error.args[0]}")


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """Yield the text without its function bodies, then each body, with how many lines are before it."""
    yield 0, _BODY.sub(lambda body: "''" + "\n" * body[0].count("\n"), text)
    for body in _BODY.finditer(text):
        yield text.count("\n", 0, body.start(2)), body[2]


def _token_findings(text: str) -> Iterator[Finding]:
    tokens = [token for token in scan(text) if token.name not in {"SQL_COMMENT", "C_COMMENT"}]
    lines = [text.count("\n", 0, token.start) + 1 for token in tokens]
    for token, line in zip(tokens, lines, strict=True):
        word = text[token.start : token.end + 1]
        if token.name == "IDENT" and len(word) == 1:
            yield Finding(line, f"the name {word!r} says nothing: use the table's, or a word for its role")
        if token.kind != "NO_KEYWORD" and word != word.lower():
            yield Finding(line, f"keyword {word!r}: lower case")
    yield from _clause_findings(tokens, lines)


def _clause_findings(tokens: list[Token], lines: list[int]) -> Iterator[Finding]:
    """Yield clauses that stand behind something, in a query that has more than one line."""
    for group in _groups(tokens):
        first = next((index for index in group if tokens[index].name in _QUERIES), None)
        if first is None or lines[first] == lines[group[-1]]:
            continue
        for before, index in pairwise(group):
            name = tokens[index].name
            if (
                name in _CLAUSES
                and tokens[before].name not in _NOT_AFTER.get(name, ())
                and lines[index - 1] == lines[index]
                and tokens[index - 1].name != "ASCII_40"
            ):
                yield Finding(lines[index], f"{name.removesuffix('_P').lower()} begins a line of its own")


def _groups(tokens: list[Token]) -> Iterator[list[int]]:
    """Yield the tokens between parentheses or between the ends of statements, without inner groups."""
    open_groups: list[list[int]] = [[]]
    for index, token in enumerate(tokens):
        if token.name in {"ASCII_41", "ASCII_59"}:
            if len(open_groups) > 1 or token.name == "ASCII_59":
                yield open_groups[-1]
            open_groups[-1:] = [] if token.name == "ASCII_41" and len(open_groups) > 1 else [[]]
        open_groups[-1].append(index)
        if token.name == "ASCII_40":
            open_groups.append([])
    yield from open_groups


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
