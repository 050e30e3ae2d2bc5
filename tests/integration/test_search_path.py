"""Callers whose search_path puts objects of their own first: our functions and views run none of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg2
import psycopg2.extensions
import pytest

from remand.errors import PermanentError
from remand_app.store.database import Database
from tests.support.engine import Harness
from tests.support.shapes import always, shape

WORDS = sorted(
    {
        word
        for path in (Path(__file__).parents[2] / "app/remand_app/store/sql").glob("*.sql")
        for word in re.findall(r"\b([a-z_][a-z0-9_]+)\(", path.read_text())
    }
)
SHADOWS = """
do $$
declare v record; v_n int := 0;
begin
  create schema evil;
  for v in select c.relname from pg_class c
            where c.relnamespace = 'remand'::regnamespace and c.relkind in ('r', 'p', 'v')
  loop
    execute format('create table evil.%%I (fooled int)', v.relname);
  end loop;
  for v in
    select p.proname, pg_get_function_identity_arguments(p.oid) given, p.proargtypes::regtype[] types
      from pg_proc p
     where p.pronamespace = 'pg_catalog'::regnamespace and p.prokind = 'f' and p.provariadic = 0
       and not p.proretset and p.proname = any(%(words)s)
       and not exists (select from pg_type t where t.oid = any(p.proargtypes) and t.typtype = 'p')
  loop
    execute format('create function evil.%%I(%%s) returns text language plpgsql as %%L', v.proname,
                   array_to_string(v.types, ', '), 'begin raise exception $e$fooled by a function$e$; end');
  end loop;
  for v in
    select o.oprname, o.oprleft::regtype lefts, o.oprright::regtype rights, o.oprresult::regtype result
      from pg_operator o
      join pg_type l on l.oid = o.oprleft and l.typtype <> 'p'
      join pg_type r on r.oid = o.oprright and r.typtype <> 'p'
     where o.oprnamespace = 'pg_catalog'::regnamespace
       and o.oprname in ('=', '<>', '<', '>', '<=', '>=', '+', '-', '*', '/', '||', '->>', '->')
  loop
    v_n := v_n + 1;
    execute format(
      'create function evil.operator_%%s(%%s, %%s) returns %%s language plpgsql as %%L',
      v_n, v.lefts, v.rights, v.result, 'begin raise exception $e$fooled by an operator$e$; end');
    execute format('create operator evil.%%s (leftarg = %%s, rightarg = %%s, function = evil.operator_%%s)',
                   v.oprname, v.lefts, v.rights, v_n);
  end loop;
end $$
"""
CLAIM = "select workflow_id, step, attempt from remand.claim_v2('steps', 10, %s, %s, 60, 10, 0, 5, 500000)"


@pytest.fixture
def fooled(fresh_database: Database) -> Iterator[psycopg2.extensions.cursor]:
    """A session in which the caller's functions, operators and tables stand before Postgres' own."""
    fresh_database.call(SHADOWS, {"words": WORDS})
    session = psycopg2.connect(fresh_database.url)
    session.autocommit = True
    with session.cursor() as cursor:
        cursor.execute("set search_path = evil, pg_catalog, remand")
        yield cursor
    session.close()


def rows(cursor: psycopg2.extensions.cursor, sql: str, *arguments: Any) -> list[tuple[Any, ...]]:
    cursor.execute(sql, arguments or None)
    return cursor.fetchall()


@pytest.mark.parametrize("statement", ["select 'a'::text = 'b'::text", "select clock_timestamp()"])
def test_the_trap_works(fooled: psycopg2.extensions.cursor, statement: str) -> None:
    with pytest.raises(psycopg2.errors.RaiseException, match="fooled"):
        rows(fooled, statement)


def test_functions_do_what_they_do_whatever_the_callers_path(
    fooled: psycopg2.extensions.cursor, fresh_database: Database
) -> None:
    harness = Harness(fresh_database)
    harness.publish(shape("two", {"a": (), "b": ("a",)}))
    worker = harness.worker
    [(template,)] = fresh_database.call("select id from remand.templates")
    [(workflow,)] = rows(
        fooled,
        "select workflow_id from remand.submit_v2(%s, array[%s]::uuid[], array['{}']::jsonb[],"
        " array[null]::text[], array[5]::smallint[], 'anna', 12)",
        template,
        "018f0000-0000-7000-8000-000000000001",
    )
    claimed = rows(fooled, CLAIM, str(worker.id), 1)
    settled = rows(
        fooled,
        "select work.step from remand.settle_v2(array[%s]::uuid[], array['a'], array[1], array['1']::jsonb[],"
        " %s, 1, 'steps', 10, 60, 10, 500000, 'claimed') outcome, unnest(outcome.claims) work",
        workflow,
        str(worker.id),
    )
    given_back = rows(
        fooled,
        "select remand.give_back(%s, 1, array[%s]::uuid[], array['b'], array[]::uuid[], array[]::text[])",
        str(worker.id),
        workflow,
    )

    assert claimed == [(workflow, "a", 1)]
    assert settled == [("b",)]
    assert given_back
    assert fresh_database.call("select name, state from remand.steps order by name") == [
        ("a", "complete"),
        ("b", "enqueued"),
    ]
    rows(fooled, "select remand.cancel(array[%s]::uuid[], 'anna', 'no more', pg_catalog.now())", workflow)
    assert fresh_database.call("select state from remand.workflows") == [("cancelled",)]


def test_a_trigger_counts_whatever_the_callers_path(
    fooled: psycopg2.extensions.cursor, fresh_database: Database
) -> None:
    harness = Harness(fresh_database)
    harness.publish(shape("one", {"a": ()}, retry={"max_attempts": 1}))
    harness.play(a=always(PermanentError("no")))
    harness.submit("t/one")
    harness.run_until_quiet()

    fooled.execute("update remand.dead_letters set claimed_by = 'anna'")

    assert fooled.rowcount == 1


def test_views_show_what_they_show_whatever_the_callers_path(
    fooled: psycopg2.extensions.cursor, fresh_database: Database
) -> None:
    harness = Harness(fresh_database)
    harness.publish(shape("one", {"a": ()}, retry={"max_attempts": 1}))
    harness.play(a=always(PermanentError("no")))
    harness.submit("t/one")
    harness.run_until_quiet()
    views = fresh_database.call("select viewname from pg_views where schemaname = 'remand'")

    for (view,) in views:
        shown = rows(fooled, f"select * from remand.{view}")
        assert len(shown) == len(fresh_database.call(f"select * from remand.{view}")), view
    for function in (
        "remand.lifetime(1)",
        "remand.uuid7_floor('2026-01-01Z'::timestamptz)",
        "remand.new_uuid7()",
    ):
        rows(fooled, f"select * from {function}")
