"""Lint the SQL of the store and of the open revision, bodies of functions and strings of Python included.

`python -m tools.sqllint [FILE...]` reads the store's SQL, the open revision and the service's Python code,
or the files that are named, and prints a line for each finding. PostgreSQL's own parser (pglast) parses the
texts and splits them into tokens; to sqlfluff the body of a function is a string, in which it finds
nothing. Strings of Python may hold a part of a statement, so they are not parsed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pglast
from pglast.parser import ParseError, Token, parse_plpgsql_json, scan

import remand_app
from remand_migrations.texts import FUNCTIONS, open_folder
from tools.inline_sql import inline_sql

WIDTH = 110
_JOINS = {"LEFT", "RIGHT", "FULL", "INNER", "CROSS"}
_CLAUSES = {"FROM", "WHERE", "GROUP_P", "HAVING", "ORDER", "LIMIT", "RETURNING", "UNION", "JOIN", *_JOINS}
_QUERIES = {"SELECT", "UPDATE", "DELETE_P", "INSERT"}
# Keywords behind which a word of _CLAUSES is part of an expression or of its verb.
_NOT_AFTER = {"FROM": {"DISTINCT", "DELETE_P"}, "JOIN": _JOINS}
_OWN_TYPE = re.compile(r"\bremand\.claimed_step\b")
_BODY = re.compile(r"\$(\w*)\$(.*?)\$\1\$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Finding:
    line: int
    text: str


def main(arguments: list[str]) -> int:
    """Print what is found; return how a process ends: 1 if anything was."""
    count = 0
    for path in [Path(name) for name in arguments] or _default_files():
        text = path.read_text()
        for finding in lint_python(text) if path.suffix == ".py" else lint(text):
            sys.stdout.write(f"{path}:{finding.line}: {finding.text}\n")
            count += 1
    return int(count > 0)


def _default_files() -> list[Path]:
    folder = open_folder()
    code = Path(remand_app.__file__).parent.rglob("*.py")
    return [*sorted(FUNCTIONS.glob("*.sql")), *sorted(folder.glob("*.sql") if folder else ()), *sorted(code)]


def lint(text: str) -> list[Finding]:
    """Return what is against the rules, in order of lines."""
    findings = [*_wide_lines(text), *_parse_errors(text)]
    for line, body in _parts(text):
        findings += _later(_token_findings(body), line)
    return sorted(findings, key=lambda finding: finding.line)


def lint_python(source: str) -> list[Finding]:
    """Return what is against the rules in the SQL that stands in strings of a module, in order of lines."""
    findings: list[Finding] = []
    for sql in inline_sql(source):
        findings += _later(_wide_lines(sql.text), sql.line - 1)
        if sql.is_glued:
            findings.append(Finding(sql.line, "glued from several strings: one in triple quotes"))
        try:
            findings += _later(_token_findings(sql.text, is_part=True), sql.line - 1)
        except ParseError as error:
            findings.append(Finding(sql.line, f"PostgreSQL cannot read it: {error.args[0]}"))
    return sorted(findings, key=lambda finding: finding.line)


def _later(findings: Iterable[Finding], lines: int) -> Iterator[Finding]:
    return (Finding(finding.line + lines, finding.text) for finding in findings)


def _wide_lines(text: str) -> Iterator[Finding]:
    for number, line in enumerate(text.splitlines(), start=1):
        if len(line) > WIDTH:
            yield Finding(number, f"line of {len(line)} columns, at most {WIDTH} fit")


def _parse_errors(text: str) -> Iterator[Finding]:
    try:
        for raw in pglast.parse_sql(text):
            start = raw.stmt_location or 0
            statement = text[start : start + (raw.stmt_len or len(text))]
            if "language plpgsql" in statement:
                # Without a server, the parser of bodies knows Postgres' own types alone.
                parse_plpgsql_json(_OWN_TYPE.sub("text", statement))
    except ParseError as error:
        yield Finding(1, f"PostgreSQL cannot parse it: {error.args[0]}")


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """Yield the text without its function bodies, then each body, with how many lines are before it."""
    yield 0, _BODY.sub(lambda body: "''" + "\n" * body[0].count("\n"), text)
    for body in _BODY.finditer(text):
        yield text.count("\n", 0, body.start(2)), body[2]


def _token_findings(text: str, *, is_part: bool = False) -> Iterator[Finding]:
    tokens = [token for token in scan(text) if token.name not in {"SQL_COMMENT", "C_COMMENT"}]
    lines = [text.count("\n", 0, token.start) + 1 for token in tokens]
    for token, line in zip(tokens, lines, strict=True):
        word = text[token.start : token.end + 1]
        if token.name == "IDENT" and len(word) == 1:
            yield Finding(line, f"the name {word!r} says nothing: use the table's, or a word for its role")
        if token.kind != "NO_KEYWORD" and word != word.lower():
            yield Finding(line, f"keyword {word!r}: lower case")
    yield from _clause_findings(tokens, lines, is_part=is_part)


def _clause_findings(tokens: list[Token], lines: list[int], *, is_part: bool) -> Iterator[Finding]:
    """Yield clauses that stand behind something, in a query, or a part of one, that has several lines."""
    for group in _groups(tokens):
        first = next((index for index in group if tokens[index].name in _QUERIES), None)
        if is_part and first is None and group[:1] == [0]:
            first = 0
        if first is None or lines[first] == lines[group[-1]]:
            continue
        for before, index in pairwise(group):
            stands_behind = lines[index - 1] == lines[index] and tokens[index - 1].name != "ASCII_40"
            if stands_behind and _is_clause(tokens, before, index):
                name = tokens[index].name.removesuffix("_P").lower()
                yield Finding(lines[index], f"{name} begins a line of its own")


def _is_clause(tokens: list[Token], before: int, index: int) -> bool:
    name = tokens[index].name
    is_function = name in _JOINS and tokens[index + 1 : index + 2] and tokens[index + 1].name == "ASCII_40"
    return name in _CLAUSES and tokens[before].name not in _NOT_AFTER.get(name, ()) and not is_function


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
