"""Revisions as they run: what they lock, what a kill leaves, who waits for whom."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import sqlalchemy as sa
from alembic import command

import remand_app.cli.main  # noqa: F401 - registers the commands
from remand_app.cli.invoke import run
from remand_app.domain.errors import Busy, DatabaseUnreachable, SchemaTooNew
from remand_app.store import schema
from remand_app.store.database import Database
from remand_migrations import plan as plans
from remand_migrations import runner
from remand_migrations.order import is_before, revisions, way
from tests.support.rehearsed import COLUMNS, INDEX, PLACES
from tests.support.waiting import eventually

MODULES = {script.revision: script.module for script in runner.scripts_of().walk_revisions()}
# What keeps others from their work; ROW EXCLUSIVE and less keep nobody.
_STRONG = """
select coalesce(parent.relname, relation.relname), array_agg(distinct held.mode)
  from pg_locks held
  join pg_class relation on relation.oid = held.relation and relation.relnamespace = 'remand'::regnamespace
  left join pg_class parent on relation.relispartition and relation.relkind = 'r'
   and parent.oid = (select inhparent from pg_inherits where inhrelid = relation.oid)
 where held.pid = pg_backend_pid() and relation.relkind in ('r', 'p', 'v')
   and held.mode not in ('AccessShareLock', 'RowShareLock', 'RowExclusiveLock')
   and relation.oid = any(%(before)s)
 group by 1
"""
_INVALID = """
select indisvalid from pg_index where not indisvalid and indrelid = 'remand.steps_default'::regclass
"""
_MODES = {
    "AccessExclusiveLock": "ACCESS EXCLUSIVE",
    "ExclusiveLock": "EXCLUSIVE",
    "ShareRowExclusiveLock": "SHARE ROW EXCLUSIVE",
    "ShareLock": "SHARE",
    "ShareUpdateExclusiveLock": "SHARE UPDATE EXCLUSIVE",
}


@pytest.fixture
def unmigrated(empty_database_url: str) -> Iterator[Database]:
    database = Database(empty_database_url)
    yield database
    database.dispose()


def held(connection: sa.Connection, before: list[int]) -> dict[str, str]:
    """Return the strongest lock that a transaction has on each relation that was there before it."""
    rows = connection.exec_driver_sql(_STRONG, {"before": before}).all()
    return {table: next(word for mode, word in _MODES.items() if mode in modes) for table, modes in rows}


@pytest.mark.parametrize("module", MODULES.values(), ids=list(MODULES))
def test_a_revision_locks_what_it_says(unmigrated: Database, module: ModuleType) -> None:
    if module.down_revision is not None:
        schema.migrate(unmigrated, module.down_revision)
    config = runner.config_of()
    with unmigrated.engine.connect() as connection:
        connection.exec_driver_sql("create schema if not exists remand")
        before = list(connection.scalars(sa.text("select oid::bigint from pg_class")))
        exists = set(connection.scalars(sa.text("select relname from pg_class")))
        config.attributes |= {"connection": connection, "say": lambda _: None}
        command.upgrade(config, module.revision)
        locked = held(connection, before)
        connection.rollback()
    locked.pop("schema_version", None)

    declared = plans.locks_of(module)
    assert locked == {table: mode for table, mode in declared.items() if table in exists}


def test_the_plan_says_what_is_to_run_and_what_it_locks(unmigrated: Database) -> None:
    schema.migrate(unmigrated, "0001")
    unmigrated.call("analyze remand.workflows")

    planned = schema.plan(unmigrated)

    assert [revision.revision for revision in planned] == list(revisions()[1:])
    first = planned[0]
    assert first.in_transaction
    assert first.serves == "0001"
    assert first.locks is not None
    assert {lock.table: lock.mode for lock in first.locks}["workflows"] == "ACCESS EXCLUSIVE"
    assert all(lock.bytes > 0 for lock in first.locks if lock.table == "workflows")
    assert schema.current(unmigrated) == "0001"


def test_the_plan_of_going_back_undoes_the_newest_first(fresh_database: Database) -> None:
    planned = schema.plan(fresh_database, "0001")

    assert [revision.revision for revision in planned] == list(reversed(revisions()[1:]))
    assert all(revision.is_undone for revision in planned)


def test_what_a_kill_leaves_is_gone_on_with(unmigrated: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("remand_migrations.revision.Revision.upgrade", killed)
        patch.setattr(MODULES["0003"]._revision.__class__, "_change", killed)
        with pytest.raises(KeyboardInterrupt):
            schema.migrate(unmigrated)
    left = schema.current(unmigrated)
    schema.migrate(unmigrated)

    assert left == "0002"
    assert schema.check(unmigrated) == schema.head()


def test_a_table_in_use_keeps_nobody_waiting_behind_the_migration(unmigrated: Database) -> None:
    schema.migrate(unmigrated, "0001")
    said: list[str] = []
    is_over = threading.Event()

    def migrate() -> None:
        schema.migrate(unmigrated, say=said.append)
        is_over.set()

    thread = threading.Thread(target=migrate)
    with unmigrated.begin() as holder:
        holder.execute(sa.text("select 1 from remand.workflows"))
        thread.start()
        while not any("in use" in line for line in said):
            assert not is_over.wait(0.05)
        # Between two tries, or within one: half a second at most, and no deadlock.
        for _ in range(20):
            unmigrated.call("set statement_timeout = '2s'; select count(*) from remand.workflows")
    thread.join()

    assert is_over.is_set()
    assert schema.check(unmigrated) == schema.head()


def test_a_table_that_stays_in_use_is_told(unmigrated: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    schema.migrate(unmigrated, "0001")
    monkeypatch.setattr(runner, "TRIES", 2)

    with unmigrated.begin() as holder:
        holder.execute(sa.text("select 1 from remand.workflows"))
        with pytest.raises(Busy):
            schema.migrate(unmigrated)

    assert schema.current(unmigrated) == "0001"


def test_code_goes_on_beside_a_newer_schema_that_serves_it(fresh_database: Database) -> None:
    fresh_database.call(
        "update remand.schema_version set version_num = '9999', serves = serves || %s::text", (schema.head(),)
    )

    assert schema.check(fresh_database) == "9999"
    schema.migrate(fresh_database)
    assert schema.plan(fresh_database) == []
    assert schema.current(fresh_database) == "9999"
    with pytest.raises(SchemaTooNew, match="9999"):
        schema.migrate(fresh_database, "0002")


def test_a_newer_schema_that_serves_none_of_ours_is_refused(fresh_database: Database) -> None:
    fresh_database.call(
        "update remand.schema_version set version_num = '9999', serves = serves || '9998'::text"
    )

    with pytest.raises(SchemaTooNew, match="9999"):
        schema.check(fresh_database)


def test_each_revision_serves_the_code_before_it() -> None:
    # Code is exchanged process by process: old and new run beside each other.
    for name, module in MODULES.items():
        assert not is_before(name, plans.serves(module))
        if module.down_revision is not None:
            assert not is_before(module.down_revision, plans.serves(module)), name


def test_revisions_are_compared_by_their_order(tmp_path: Path) -> None:
    for name in ("9999_a.py", "10000_b.py", "0001_c.py"):
        (tmp_path / name).touch()
    known = revisions((tmp_path,))

    assert known == ("0001", "9999", "10000")
    assert is_before("9999", "10000")
    assert way(known, None, "9999") == ["0001", "9999"]
    assert way(known, "10000", "0001") == ["10000", "9999"]


@pytest.mark.parametrize("revision", [COLUMNS, INDEX])
def test_a_rehearsed_revision_goes_up_and_down(fresh_database: Database, revision: str) -> None:
    [*before, last] = schema.plan(fresh_database, revision, PLACES)
    schema.migrate(fresh_database, revision, places=PLACES)
    reached = schema.current(fresh_database)
    schema.migrate(fresh_database, schema.head(), places=PLACES)

    assert last.revision == reached == revision
    assert last.in_transaction == (revision == COLUMNS)
    assert last.serves == schema.head()
    assert last.locks is not None
    assert {(lock.table, lock.mode) for lock in last.locks} >= {
        ("steps", "ACCESS EXCLUSIVE" if revision == COLUMNS else "SHARE UPDATE EXCLUSIVE")
    }
    assert len(before) == (revision == INDEX)
    assert schema.check(fresh_database) == schema.head()


def test_an_index_that_a_kill_left_invalid_is_made_again(fresh_database: Database) -> None:
    schema.migrate(fresh_database, COLUMNS, places=PLACES)
    failed: list[BaseException] = []

    def migrate() -> None:
        try:
            schema.migrate(fresh_database, INDEX, places=PLACES)
        except DatabaseUnreachable as error:
            failed.append(error)

    thread = threading.Thread(target=migrate)
    with fresh_database.begin() as holder:
        # The index waits for the end of this transaction, which may write to the table.
        holder.execute(sa.text("lock table remand.steps_default in row exclusive mode"))
        thread.start()
        eventually(lambda: fresh_database.call(_INVALID), timeout=30)
        fresh_database.call(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where query like 'create index concurrently%%' and datname = current_database()"
        )
        thread.join()
    left = fresh_database.call(_INVALID)
    schema.migrate(fresh_database, INDEX, places=PLACES)

    assert len(failed) == 1
    assert left
    assert fresh_database.call(_INVALID) == []
    assert schema.current(fresh_database) == INDEX


def test_a_partition_that_comes_later_has_the_index_too(fresh_database: Database) -> None:
    schema.migrate(fresh_database, INDEX, places=PLACES)
    fresh_database.call(
        "select remand.attach_period('later', '2050-01-01Z', '2050-02-01Z',"
        " array(select remand.draft_period('later')))"
    )

    assert fresh_database.call(
        "select count(*) from pg_index where indrelid = 'remand.steps_later'::regclass"
        " and pg_get_indexdef(indexrelid) like '%%(queue, cost)%%'"
    ) == [(1,)]


def test_the_command_tells_the_plan_and_its_steps(
    unmigrated: Database, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REMAND_DATABASE_URL", unmigrated.url)
    schema.migrate(unmigrated, "0001")

    assert run(["migrate", "--plan"]) == 0
    assert "ACCESS EXCLUSIVE" in capsys.readouterr().out
    assert run(["migrate", "--plan", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert run(["migrate"]) == 0

    assert "0003: tables" in capsys.readouterr().err
    assert (told["from"], told["to"], told["changed"]) == ("0001", schema.head(), False)
    assert [revision["revision"] for revision in told["plan"]] == list(revisions()[1:])
    assert {lock["table"] for lock in told["plan"][0]["locks"]} >= {"workflows", "steps"}
