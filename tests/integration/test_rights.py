"""Roles that may not do all, and what is said of it: the right, the command that grants it, no value."""

from __future__ import annotations

import json
import re
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import psycopg2
import pytest
from sqlalchemy.engine import make_url

from remand.errors import PermanentError
from remand_app.domain.errors import DatabaseReadOnly, RightMissing
from remand_app.engine.sweeps.expire import expire
from remand_app.engine.sweeps.never_ready import stalled
from remand_app.engine.sweeps.prune import prune
from remand_app.engine.sweeps.redrive import redrive
from remand_app.engine.sweeps.requeue import requeue
from remand_app.engine.sweeps.rescue import rescue
from remand_app.engine.sweeps.ring import ring
from remand_app.engine.sweeps.stale import stale
from remand_app.store import schema
from remand_app.store.database import Database
from remand_app.store.workers import Incarnation, WorkerHeartbeat
from tests.support.databases import Cluster, str_of
from tests.support.engine import Harness
from tests.support.shapes import always, shape

DOORS = ("call", "begin", "reading")
SECRET = "argon-hash-of-grace"
Command = Callable[..., str]


@pytest.fixture
def guest(cluster: Cluster, own_database_url: str) -> Iterator[str]:
    """The URL for a role that may connect, and nothing else."""
    name = f"guest_{uuid4().hex[:8]}"
    cluster.execute(f"create role {name} login password 'guest'")
    yield str_of(make_url(own_database_url).set(username=name, password="guest"))
    owner = Database(own_database_url)
    owner.call(f"drop owned by {name}")
    owner.dispose()
    cluster.execute(f"drop role {name}")


def granted(owner_url: str, guest_url: str, *grants: str) -> Database:
    owner = Database(owner_url)
    for grant in grants:
        owner.call(grant.replace("ROLE", str(make_url(guest_url).username)))
    owner.dispose()
    return Database(guest_url)


@pytest.mark.parametrize(
    ("before", "statement", "grant"),
    [
        ((), "select * from remand.users", "GRANT USAGE ON SCHEMA remand TO "),
        (("grant usage on schema remand to ROLE",), "select * from remand.users", "GRANT SELECT, INSERT"),
        (("grant usage on schema remand to ROLE",), "select nextval('remand.history_seq')", "ALL SEQUENCES"),
        (("grant usage on schema remand to ROLE",), "drop table remand.users", "GRANT OWNER_OF_REMAND TO "),
        ((), "create schema mine", "GRANT CREATE ON DATABASE "),
    ],
)  # fmt: skip
def test_a_missing_right_is_named_with_the_command_that_grants_it(
    own_database_url: str, guest: str, before: tuple[str, ...], statement: str, grant: str
) -> None:
    database = granted(own_database_url, guest, *before)

    for door in DOORS:
        with pytest.raises(RightMissing) as caught:
            through(database, door, statement)
        assert grant in caught.value.hint
        assert grant in caught.value.details["grant"]
        assert str(make_url(guest).username) in caught.value.message
    database.dispose()


def through(database: Database, door: str, statement: str) -> None:
    if door == "call":
        database.call(statement)
        return
    with database.begin() if door == "begin" else database.reading() as connection:
        connection.exec_driver_sql(statement)


def test_the_command_that_is_named_grants_it(own_database_url: str, guest: str) -> None:
    database = Database(guest)
    for _ in range(2):
        with pytest.raises(RightMissing) as caught:
            database.call("select * from remand.users")
        granted(own_database_url, guest, caught.value.details["grant"]).dispose()

    assert database.call("select * from remand.users where name = 'nobody'") == []
    database.dispose()


def test_a_pulse_says_which_right_is_missing(guest: str) -> None:
    with pytest.raises(RightMissing):
        WorkerHeartbeat(guest, Incarnation(uuid4(), "guest@test", 1, ["steps"], "solo", 1, "test")).beat()


@pytest.mark.parametrize(
    "arguments",
    [
        ("config", "check"),
        ("migrate",),
        ("doctor",),
        ("workflow", "list"),
        ("worker", "--concurrency", "1"),
        ("beat",),
        ("user", "link", "grace"),
        ("submit", "t/echo", "--input", "{}"),
    ],
)
def test_every_command_says_it_shortly(
    command: Command,
    guest: str,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("REMAND_DATABASE_URL", guest)

    told = command(*arguments, "--json", exits=3)

    assert "GRANT USAGE ON SCHEMA remand TO guest_" in told
    assert len(told.splitlines()) < 80
    assert "Traceback" not in told
    assert "this is a bug" not in told
    if arguments[0] not in ("config", "doctor"):
        assert json.loads(told)["error"]["code"] == "RIGHT_MISSING"


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    "statement",
    [
        f"insert into remand.nothing (name) values ('{SECRET}')",
        f"insert into remand.users (name) values ('{SECRET}')",
        f"insert into remand.users (id, name, role, created_by) values ('{SECRET}', '', '', '')",
        f"select '{SECRET}'::int",
        f"select '{SECRET}'::json",
        f"select '{SECRET}' is nonsense",
        f"do $$ begin raise exception 'no' using detail = '{SECRET}'; end $$",
    ],
)
def test_no_error_of_the_driver_repeats_what_it_was_sent(
    own_database_url: str, statement: str, door: str
) -> None:
    database = Database(own_database_url)

    with pytest.raises(Exception) as caught:  # noqa: PT011 - whatever it is, it must not say that
        through(database, door, statement)

    told = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert SECRET not in told.replace(repr(statement), "").replace(statement, "")
    database.dispose()


def test_a_cleaned_error_keeps_its_class_and_its_code(own_database_url: str) -> None:
    database = Database(own_database_url)

    with pytest.raises(psycopg2.errors.UndefinedTable) as caught:
        database.call("select 1 from remand.nothing")

    assert caught.value.pgcode == "42P01"
    assert str(caught.value) == 'relation "remand.nothing" does not exist'
    database.dispose()


def test_the_hash_of_a_password_is_not_printed_where_a_right_is_missing(
    command: Command, own_database_url: str, guest: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    granted(
        own_database_url,
        guest,
        "grant usage on schema remand to ROLE",
        "grant select on all tables in schema remand to ROLE",
    ).dispose()
    monkeypatch.setenv("REMAND_DATABASE_URL", guest)
    monkeypatch.setenv("GRACE", "correct horse battery")

    told = command(
        "user", "add", "grace", "--role", "operator", "--password-variable", "GRACE", "--json", exits=3
    )

    assert "argon2" not in told
    assert "correct horse" not in told
    assert "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES" in told


READ_ONLY = "?options=-c%20default_transaction_read_only%3Don"


@pytest.mark.parametrize("door", DOORS)
def test_a_server_that_takes_no_writes_is_called_that(own_database_url: str, door: str) -> None:
    database = Database(own_database_url + READ_ONLY)

    with pytest.raises(DatabaseReadOnly, match="read-only"):
        through(database, door, "delete from remand.pauses")
    database.dispose()


@pytest.mark.parametrize("arguments", [("migrate", "--revision", "0001"), ("config", "check"), ("doctor",)])
def test_commands_say_that_a_server_takes_no_writes(
    command: Command,
    own_database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("REMAND_DATABASE_URL", own_database_url + READ_ONLY)
    # A standby may become the primary: `migrate` would wait for that.
    monkeypatch.setenv("REMAND_START_WAIT_SECONDS", "0")

    told = command(*arguments, "--json", exits=3)

    assert "default_transaction_read_only" in told
    assert "this is a bug" not in told


def test_migrate_says_what_a_role_needs_that_may_not_create(cluster: Cluster) -> None:
    name = f"maker_{uuid4().hex[:8]}"
    cluster.execute(f"create role {name} login password 'maker'")
    try:
        with cluster.empty() as url:
            database = Database(str_of(make_url(url).set(username=name, password="maker")))
            with pytest.raises(RightMissing) as caught:
                schema.migrate(database)
            assert f"GRANT CREATE ON DATABASE {make_url(url).database} TO {name};" in caught.value.hint
            database.dispose()
    finally:
        cluster.execute(f"drop role {name}")


GRANTS = re.findall(
    r"```sql\n(.*?)```",
    (Path(__file__).parents[2] / "docs/operations/servers.md").read_text().partition("## Rights")[2],
    re.DOTALL,
)


def test_the_documented_rights_are_enough_for_all_but_the_owners_work(
    cluster: Cluster, fresh_database_url: str
) -> None:
    role = f"app_{uuid4().hex[:8]}"
    cluster.execute(f"create role {role} login password 'app'")
    url = str_of(make_url(fresh_database_url).set(username=role, password="app"))
    owner, database = Database(fresh_database_url), Database(url)
    try:
        for grant in GRANTS:
            owner.call(grant.replace("remand_app", role))
        harness = Harness(database)
        harness.publish(shape("two", {"a": (), "b": ("a",)}))
        harness.play(b=always(PermanentError("no")))
        workflow_id = harness.submit("t/two")
        harness.run_to_end(workflow_id)
        assert harness.open_letter(workflow_id).step == "b"
        for sweep in (ring, rescue, expire, prune, redrive, requeue, stale, stalled):
            sweep(harness.engine)
        with pytest.raises(RightMissing, match="owner"):
            database.call("create table remand.workflows_x partition of remand.workflows default")
    finally:
        owner.call(f"drop owned by {role}")
        for one in (owner, database):
            one.dispose()
        cluster.execute(f"drop role {role}")
