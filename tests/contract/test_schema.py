"""The schema says of itself what models, domain and files say of it."""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from remand_app.domain.transitions import RULES
from remand_app.store import schema
from remand_app.store.database import Database
from remand_app.store.tables import PARTITIONED, SCHEMA, metadata
from remand_migrations.runner import scripts_of
from remand_migrations.texts import RELEASED, drafted, newest_texts, open_folder, texts_of

ROOT = Path(__file__).parents[2]
FUNCTIONS = sorted((ROOT / "app/remand_app/store/sql").glob("*.sql"))
STATEMENTS = [*FUNCTIONS, *sorted((ROOT / "app/remand_app/store").glob("*.py"))]
FROZEN = ROOT / "migrations/remand_migrations/sql"
PARTITION = re.compile(rf"({'|'.join(PARTITIONED)})(_archive)?_(default|\d{{4}}_\w+)")


def is_modelled(item: Any, name: str | None, kind: str, reflected: bool, other: object) -> bool:
    table = item if kind == "table" else getattr(item, "table", None)
    if table is None:
        return True
    return table.name != "schema_version" and PARTITION.fullmatch(table.name) is None


def test_the_migrations_make_what_the_models_say(database: Database) -> None:
    with database.engine.connect() as connection:
        context = MigrationContext.configure(
            connection,
            opts={
                "include_schemas": True,
                "include_name": lambda name, kind, _: kind != "schema" or name == SCHEMA,
                "include_object": is_modelled,
                "compare_type": True,
                "compare_server_default": True,
            },
        )
        differences = compare_metadata(context, metadata)

    assert differences == []


def test_the_check_of_models_would_find_a_difference(fresh_database: Database) -> None:
    fresh_database.call("alter table remand.run_queue drop column pid")
    with fresh_database.engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"include_schemas": True, "include_object": is_modelled}
        )
        differences = compare_metadata(context, metadata)

    assert any("pid" in str(difference) for difference in differences)


@pytest.mark.parametrize("table", metadata.sorted_tables, ids=lambda table: table.name)
def test_checks_and_comments_are_those_of_the_models(database: Database, table: sa.Table) -> None:
    checks = {
        name: re.sub(r"\s", "", definition)
        for name, definition in database.call(
            "select conname, pg_get_constraintdef(oid) from pg_constraint"
            " where contype = 'c' and conrelid = %s::regclass",
            (f"remand.{table.name}",),
        )
    }
    wanted = {str(one.name) for one in table.constraints if isinstance(one, sa.CheckConstraint)}

    assert set(checks) == wanted
    for one in table.constraints:
        if isinstance(one, sa.CheckConstraint):
            quoted = re.findall(r"'([^']*)'", str(one.sqltext))
            assert all(f"'{value}'" in checks[str(one.name)] for value in quoted), one.name


def test_every_table_and_column_has_a_comment(database: Database) -> None:
    silent = database.call(
        "select c.relname, a.attname from pg_class c"
        " join pg_attribute a on a.attrelid = c.oid and a.attnum >= 0 and not a.attisdropped"
        " where c.relnamespace = 'remand'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition"
        "   and c.relname <> 'schema_version' and col_description(c.oid, a.attnum) is null"
        " union all"
        " select c.relname, '' from pg_class c"
        " where c.relnamespace = 'remand'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition"
        "   and c.relname <> 'schema_version' and obj_description(c.oid, 'pg_class') is null"
    )

    assert silent == []


def test_partitions_have_the_indexes_and_checks_of_their_tables(database: Database) -> None:
    rows = database.call(
        "select p.relname, c.relname, (select count(*) from pg_index i where i.indrelid = c.oid),"
        "       (select count(*) from pg_index i where i.indrelid = p.oid),"
        "       (select count(*) from pg_constraint k where k.conrelid = c.oid and k.contype in ('c', 'f')),"
        "       (select count(*) from pg_constraint k where k.conrelid = p.oid and k.contype in ('c', 'f'))"
        "  from pg_inherits h join pg_class c on c.oid = h.inhrelid join pg_class p on p.oid = h.inhparent"
        " where p.relnamespace = 'remand'::regnamespace and p.relkind = 'p'"
    )

    # Of each the default partition and three months; of its twin in the archive the default alone.
    assert len(rows) == len(PARTITIONED) * 5
    assert [row for row in rows if row[2] != row[3] or row[4] < row[5]] == []


def test_the_open_revision_has_the_functions_that_changed() -> None:
    folder = open_folder()

    assert ({} if folder is None else texts_of(folder)) == drafted(), "make schema"


def test_what_is_released_never_changes() -> None:
    changed = [
        path
        for digest, path in (line.split() for line in RELEASED.read_text().splitlines())
        if hashlib.sha256((RELEASED.parent / path).read_bytes()).hexdigest() != digest
    ]

    assert changed == [], (
        "databases were migrated by these files already: take your change back, make it in the open revision"
        " (a function: in app/remand_app/store/sql, then `make schema`; a table: its tables.sql and down.sql)"
    )


def test_what_is_released_is_released_whole() -> None:
    listed = {line.split()[1] for line in RELEASED.read_text().splitlines()}
    released = {path.partition("/")[2].partition("_")[0] for path in listed if path.startswith("versions/")}
    folders = [FROZEN.parent / "sql" / name for name in released]

    assert {
        path.partition("/")[2].partition("/")[0] for path in listed if path.startswith("sql/")
    } <= released
    assert {f"sql/{folder.name}/{path.name}" for folder in folders for path in folder.iterdir()} <= listed


def test_a_function_that_forbids_scans_compiles_nothing(database: Database) -> None:
    # What is forbidden counts as dear beyond measure, and what is dear is compiled, for longer than it takes.
    forbids = database.call(
        "select proname, 'jit=off' = any(proconfig) from pg_proc where 'enable_seqscan=off' = any(proconfig)"
    )

    assert len(forbids) > 30
    assert [name for name, is_off in forbids if not is_off] == []


@pytest.mark.parametrize("path", FUNCTIONS, ids=lambda path: path.stem)
def test_a_function_is_the_newest_frozen_copy(path: Path) -> None:
    copies = sorted(FROZEN.glob(f"*/{path.name}"))

    assert copies, f"no migration has {path.name}"
    assert copies[-1].read_text() == path.read_text()


@pytest.mark.parametrize("path", FUNCTIONS, ids=lambda path: path.stem)
def test_a_function_says_first_what_it_is(path: Path) -> None:
    lines = path.read_text().splitlines()

    assert lines[0].startswith("-- ")
    assert len(lines) <= 110
    assert re.search(rf"create or replace (function|view) remand\.{path.stem}\b", path.read_text())


@pytest.mark.parametrize("path", STATEMENTS, ids=lambda path: path.name)
def test_parents_are_looked_up_by_their_whole_key(path: Path) -> None:
    # "name = any(depends_on)" reads every step of the workflow, and compares each with every parent.
    assert not re.search(r"= any\s*\(\s*\w+\.(depends_on|children)", path.read_text())


def test_the_database_has_the_functions_of_the_files_and_no_others(database: Database) -> None:
    kept = dict(
        database.call("select proname, prosrc from pg_proc where pronamespace = 'remand'::regnamespace")
    )
    kept.pop("refuse_change")
    for name in superseded():
        # Code of the release before this one calls it while both run.
        kept.pop(name)
    views = {row[0] for row in database.call("select viewname from pg_views where schemaname = 'remand'")}

    assert kept.keys() | views == {path.stem for path in FUNCTIONS}
    for path in FUNCTIONS:
        text = path.read_text()
        if path.stem in kept and "$$" in text:
            assert kept[path.stem] == text.split("$$")[1], path.stem
        elif path.stem in kept:
            assert parsed_body(database, path.stem) == parsed_body(database, path.stem, text), path.stem


def parsed_body(database: Database, name: str, text: str = "select") -> str:
    """Return the parsed body of a function, as it would be after a statement."""
    with database.engine.connect() as connection:
        connection.exec_driver_sql(text)
        body: str = connection.exec_driver_sql(
            "select pg_get_function_sqlbody(p.oid) from pg_proc p"
            f" where p.pronamespace = 'remand'::regnamespace and p.proname = '{name}'"
        ).scalar_one()
        connection.rollback()
    return body


def test_no_caller_decides_what_names_in_functions_mean(database: Database) -> None:
    # Either its search_path is fixed, or its body was parsed when it was made.
    open_ones = database.call(
        "select proname from pg_proc"
        " where pronamespace = 'remand'::regnamespace and prosqlbody is null"
        "   and not coalesce('search_path=pg_catalog, pg_temp' = any(proconfig), false)"
    )

    assert open_ones == []


def test_one_function_alone_acts_with_the_rights_of_its_owner(database: Database) -> None:
    definers = database.call(
        "select proname from pg_proc where pronamespace = 'remand'::regnamespace and prosecdef"
    )

    assert definers == [("monitored_staleness",)]


def superseded() -> set[str]:
    """Return the functions that this code has no more, and no revision has dropped."""
    modules = [script.module for script in scripts_of().walk_revisions()]
    retired = {name for module in modules if "_revision" in vars(module) for name in module._revision.retires}
    return newest_texts(before=sys.maxsize).keys() - {path.stem for path in FUNCTIONS} - retired


def test_a_function_whose_arguments_change_has_a_new_name(database: Database) -> None:
    # Under the same name it would stand beside the old one, and callers would have to say which they mean.
    twice = database.call(
        "select proname from pg_proc where pronamespace = 'remand'::regnamespace"
        " group by 1 having count(*) > 1"
    )

    assert twice == []


def test_the_rules_in_the_database_are_those_of_the_domain(database: Database) -> None:
    rows = database.call("select kind, from_state, event, to_state from remand.transition_rule")

    assert set(rows) == set(RULES)
    assert len(rows) == len(RULES)


def test_an_illegal_move_cannot_be_stored(raw_database: Database) -> None:
    with pytest.raises(Exception, match="history_legal_move"):
        raw_database.call(
            "insert into remand.history (workflow_id, kind, from_state, event, to_state, at, by)"
            " values (gen_random_uuid(), 'workflow', 'complete', 'reopen', 'pending', now(), 'test')"
        )


@pytest.mark.parametrize(
    "statement",
    [
        "update remand.workflows set state = 'done'",
        "update remand.workflows set open_steps = -1",
        "update remand.workflows set state = 'complete'",
        "update remand.workflows set priority = 10",
        "update remand.steps set state = 'finished'",
        "update remand.steps set state = 'complete'",
        "update remand.run_queue set phase = 'claimed'",
        "update remand.run_queue set worker = gen_random_uuid()",
        "insert into remand.run_queue select * from remand.run_queue",
    ],
)
def test_what_cannot_be_is_refused_by_the_tables(database: Database, statement: str) -> None:
    from tests.support.engine import Harness
    from tests.support.shapes import shape

    harness = Harness(database)
    harness.publish(shape("one", {"a": ()}))
    harness.submit("t/one")

    with pytest.raises(Exception, match="violates"):
        database.call(statement)


def test_the_head_is_the_only_one() -> None:
    revisions = sorted(
        path.stem.partition("_")[0] for path in (ROOT / "migrations/remand_migrations/versions").glob("*.py")
    )

    assert schema.head() == revisions[-1]
    assert {path.name for path in FROZEN.iterdir() if path.is_dir()} <= set(revisions)


@pytest.mark.parametrize(
    ("view", "twin"), [("moves", "archived_moves"), ("all_attempts", "archived_attempts")]
)
def test_the_archive_is_shown_as_live_work_is(view: str, twin: str) -> None:
    _, _, live = (ROOT / f"app/remand_app/store/sql/{view}.sql").read_text().partition("\n")
    _, _, archived = (ROOT / f"app/remand_app/store/sql/{twin}.sql").read_text().partition("\n")

    assert archived == re.sub(rf"remand\.({'|'.join(PARTITIONED)}) ", r"remand.\1_archive ", live).replace(
        f"view remand.{view} ", f"view remand.{twin} "
    )


@pytest.mark.parametrize(
    "path", sorted((ROOT / "app/remand_app/store").glob("**/*.py")), ids=lambda path: path.name
)
def test_rows_become_values_by_the_names_of_their_columns(path: Path) -> None:
    # A later schema adds columns while this code runs on.
    text = path.read_text()

    assert not re.search(r"\b[A-Z]\w*\(\*(row|rows)\b", text), "rows.read, or Database.read"
    assert not re.search(r"select (\w+\.)?\* from remand\.(?!\w+\()", text), "name the columns"
