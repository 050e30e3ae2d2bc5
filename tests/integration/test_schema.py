from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from remand_app.domain.errors import DatabaseUnreachable, SchemaMissing, SchemaTooNew, SchemaTooOld
from remand_app.store import schema
from remand_app.store.database import Database
from tests.support.databases import Cluster


@pytest.fixture
def unmigrated(empty_database_url: str) -> Iterator[Database]:
    database = Database(empty_database_url)
    yield database
    database.dispose()


def contents(database: Database) -> list[tuple[object, ...]]:
    return database.call(
        "select 'relation', relname::text, relkind::text from pg_class"
        " where relnamespace = 'remand'::regnamespace"
        " union all select 'column', a.attrelid::regclass::text || '.' || a.attname,"
        " format_type(a.atttypid, a.atttypmod)"
        " from pg_attribute a join pg_class c on c.oid = a.attrelid"
        " where c.relnamespace = 'remand'::regnamespace and a.attnum > 0 and not a.attisdropped"
        " union all select 'constraint', conrelid::regclass::text || '.' || conname,"
        " pg_get_constraintdef(oid)"
        " from pg_constraint where connamespace = 'remand'::regnamespace"
        " union all select 'function', oid::regprocedure::text, md5(prosrc) from pg_proc"
        " where pronamespace = 'remand'::regnamespace order by 1, 2"
    )


def test_the_schema_goes_up_down_and_up_again(unmigrated: Database) -> None:
    schema.migrate(unmigrated)
    first = contents(unmigrated)
    schema.check(unmigrated)

    schema.migrate(unmigrated, "base")
    left = {row[1] for row in contents(unmigrated) if row[0] == "relation"}
    schema.migrate(unmigrated)

    assert left <= {"schema_version", "schema_version_pkc"}
    assert contents(unmigrated) == first


def test_a_revision_that_is_taken_back_leaves_the_one_before(unmigrated: Database) -> None:
    schema.migrate(unmigrated, "0001")
    first = contents(unmigrated)

    schema.migrate(unmigrated)
    schema.migrate(unmigrated, "0001")

    assert contents(unmigrated) == first


def test_migrating_twice_changes_nothing(unmigrated: Database) -> None:
    schema.migrate(unmigrated)
    before = contents(unmigrated)

    schema.migrate(unmigrated)

    assert contents(unmigrated) == before


def test_two_migrations_at_once_wait_for_each_other(unmigrated: Database) -> None:
    failed: list[BaseException] = []

    def migrate() -> None:
        try:
            schema.migrate(unmigrated)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=migrate) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failed == []
    schema.check(unmigrated)


def test_an_unmigrated_database_is_named_as_such(unmigrated: Database) -> None:
    with pytest.raises(SchemaMissing, match="remand migrate"):
        schema.check(unmigrated)


def test_a_schema_of_the_future_is_refused(fresh_database: Database) -> None:
    fresh_database.call("update remand.schema_version set version_num = '9999', serves = '{9998}'")

    with pytest.raises(SchemaTooNew, match="9999"):
        schema.check(fresh_database)
    with pytest.raises(SchemaTooNew, match="9999"):
        schema.migrate(fresh_database)


def test_a_schema_that_is_behind_is_refused(
    fresh_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "head", lambda: "9999")

    with pytest.raises(SchemaTooOld, match="needs 9999"):
        schema.check(fresh_database)


def test_an_unreachable_database_is_named_without_its_password(cluster: Cluster) -> None:
    database = Database("postgresql://somebody:hunter2@127.0.0.1:1/nothing")

    with pytest.raises(DatabaseUnreachable, match=r"127\.0\.0\.1:1/nothing") as caught:
        schema.check(database)
    with pytest.raises(DatabaseUnreachable) as called:
        database.call("select 1")

    assert "hunter2" not in str(caught.value) + str(called.value)
