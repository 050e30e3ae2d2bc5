"""Every PL/pgSQL function of the schema passes plpgsql_check, on a server that has that extension."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from remand_app.store.database import Database

# A trigger's function is checked on each table it is run for, with the transition tables of all its triggers.
_CHECK = """
select function.oid::regprocedure::text, found.level, found.sqlstate, found.lineno, found.statement,
       found.message, coalesce(found.query, '')
  from pg_proc function
  join pg_language language on language.oid = function.prolang and language.lanname = 'plpgsql'
  left join (
         select tgfoid, tgrelid, max(tgoldtable) old_rows, max(tgnewtable) new_rows
           from pg_trigger
          where tgparentid = 0
          group by tgfoid, tgrelid
       ) fired on fired.tgfoid = function.oid
 cross join lateral plpgsql_check_function_tb(
         function.oid, relid => coalesce(fired.tgrelid, 0), fatal_errors => false,
         oldtable => fired.old_rows, newtable => fired.new_rows) found
 where function.pronamespace = 'remand'::regnamespace
 order by 1, found.lineno, found.level
"""
ALLOWED = {
    ("42804", "target type is different type than source type"): "'{}' as the default of an array is text",
}
"""SQLSTATE and message of a warning → why it stands."""


@pytest.fixture
def checker(fresh_database: Database) -> Iterator[Database]:
    """A migrated database with the extension."""
    if not fresh_database.call("select 1 from pg_available_extensions where name = 'plpgsql_check'"):
        pytest.skip("the server has no plpgsql_check (Debian: postgresql-15-plpgsql-check)")
    fresh_database.call("create extension plpgsql_check")
    yield fresh_database
    fresh_database.call("drop extension plpgsql_check")


def findings(database: Database) -> list[tuple[Any, ...]]:
    return [one for one in database.call(_CHECK) if one[1] == "error" or (one[2], one[5]) not in ALLOWED]


def test_no_function_has_errors_or_warnings(checker: Database) -> None:
    assert findings(checker) == []


def test_what_is_wrong_is_found(checker: Database) -> None:
    checker.call(
        "create function remand.bad() returns void language plpgsql as $$"
        " declare unused int; begin perform nothing from remand.steps; end $$"
    )

    assert [(one[0], one[1]) for one in findings(checker)] == [
        ("remand.bad()", "error"),
        ("remand.bad()", "warning"),
    ]
    checker.call("drop function remand.bad()")
