"""The SQL of the store and of the open revision is what its linter asks for, and the linter asks for it."""

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
