"""The SQL of the store, of the open revision and of Python code is what its linter asks for, and it asks."""

from __future__ import annotations

import pytest

from tools import sqllint

BAD = """create function remand.bad() returns int language plpgsql as $$
begin
  return (
    {});
end $$;
"""


def test_there_is_nothing_to_find(capsys: pytest.CaptureFixture[str]) -> None:
    sqllint.main([])

    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("select s.name\n from remand.steps s", "the name 's'"),
        ("SELECT step.name\n from remand.steps step", "keyword 'SELECT'"),
        ("select step.name\n from remand.steps step where step.attempt = 1", "where begins a line"),
        ("select 1" + " " * 110, "columns, at most 110 fit"),
        ("select step.name\n from", "cannot parse"),
    ],
)
def test_the_linter_finds(query: str, found: str) -> None:
    findings = sqllint.lint(BAD.format(query)) if found != "cannot parse" else sqllint.lint(query)

    assert any(found in finding.text for finding in findings), findings


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ('QUERY = "select s.name from remand.steps s"', "the name 's'"),
        ('QUERY = f"select {COLUMNS} from remand.steps s where s.name = %s"', "the name 's'"),
        ('PART = "s.ended_at is not null"', "the name 's'"),
        ('run("update remand.steps s set state = :state")', "the name 's'"),
        ('QUERY = "SELECT name from remand.steps"', "keyword 'SELECT'"),
        ('QUERY = """\nselect name\n  from remand.steps where attempt = 1\n"""', "where begins a line"),
        ('PART = """\n name\n from remand.steps where attempt = 1\n"""', "where begins a line"),
        ('QUERY = ("select name"\n  " from remand.steps")', "glued"),
        ('QUERY = "select name from remand.steps where name = \'" + name', "cannot read"),
        ('QUERY = """\nselect 1' + " " * 110 + '\n"""', "columns, at most 110 fit"),
    ],
)
def test_the_linter_finds_in_strings_of_python(code: str, found: str) -> None:
    findings = sqllint.lint_python(code)

    assert any(found in finding.text for finding in findings), findings


@pytest.mark.parametrize(
    "code",
    [
        '"""Docstrings select s.words from anywhere."""',
        'QUERY = "select name from remand.steps where name = any(%(names)s) or attempt = :attempt"',
        'QUERY = f"select {COLUMNS} from remand.{table} step where {condition}"',
        'QUERY = "select left(name, 2)\\n  from remand.steps"',
    ],
)
def test_the_linter_leaves_alone(code: str) -> None:
    assert sqllint.lint_python(code) == []


def test_a_finding_names_the_line_of_the_module() -> None:
    code = 'import os\n\nQUERY = """\nselect step.name\n  from remand.steps s\n"""'

    assert [finding.line for finding in sqllint.lint_python(code)] == [5]
