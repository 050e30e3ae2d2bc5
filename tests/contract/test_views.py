"""The views that people's own SQL relies on: each column in its order, as the reference tells it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from remand_app.store.database import Database

PAGE = (Path(__file__).parents[2] / "docs/reference/views.md").read_text()
VIEWS = re.findall(r"^## remand\.(v_\w+)$", PAGE, re.MULTILINE)


def told(view: str) -> list[tuple[str, str]]:
    """Return the columns of a view and their meanings, as the page has them."""
    section = PAGE.partition(f"## remand.{view}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.+) \|$", section, re.MULTILINE)
    return [(name, meaning.replace("\\|", "|")) for name, meaning in rows]


def test_every_view_of_the_interface_is_in_the_reference(database: Database) -> None:
    query = "select viewname from pg_views where schemaname = 'remand' and starts_with(viewname, 'v_')"
    found = database.call(query)

    assert sorted(VIEWS) == sorted(row[0] for row in found)
    assert {"v_dlq_dashboard", "v_dlq_investigation_queue"} <= set(VIEWS)


@pytest.mark.parametrize("view", VIEWS)
def test_the_reference_says_of_a_view_what_the_database_says(database: Database, view: str) -> None:
    stored = database.call(
        "select attname::text, coalesce(col_description(attrelid, attnum), 'without a meaning')"
        " from pg_attribute where attrelid = %s::regclass and attnum > 0 order by attnum",
        (f"remand.{view}",),
    )

    assert told(view) == stored
    assert database.call("select obj_description(%s::regclass)", (f"remand.{view}",)) != [(None,)]


@pytest.mark.parametrize("view", VIEWS)
def test_no_view_has_what_users_put_in_or_got_out(database: Database, view: str) -> None:
    columns = {name for name, _ in told(view)}

    assert columns & {"input", "result", "checkpoint", "failure", "snapshot", "metadata"} == set()


@pytest.mark.parametrize("view", VIEWS)
def test_a_column_of_instants_has_a_zone(database: Database, view: str) -> None:
    found = database.call(
        "select column_name::text, data_type::text from information_schema.columns"
        " where table_schema = 'remand' and table_name = %s",
        (view,),
    )

    assert {kind for name, kind in found if name.endswith("_at")} <= {"timestamp with time zone"}
    assert "timestamp without time zone" not in {kind for _, kind in found}
