"""Databases in which Remand could not work are refused before anything is stored there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
from sqlalchemy.engine import make_url

from remand_app.domain.errors import DatabaseReadOnly, DatabaseUnsuited
from remand_app.store import schema, suitability
from remand_app.store.database import Database
from tests.support.databases import Cluster, str_of


@pytest.fixture(scope="module", params=["SQL_ASCII", "LATIN1"])
def foreign_url(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[str]:
    """A database of another encoding."""
    name = f"remand_test_{request.param.lower()}_{uuid4().hex[:8]}"
    cluster.execute(
        f"create database {name} encoding '{request.param}' template template0 lc_collate 'C' lc_ctype 'C'"
    )
    yield str_of(cluster.url.set(database=name))
    cluster.execute(f"drop database {name} with (force)")


def test_another_encoding_is_refused_with_the_command_that_makes_a_good_one(foreign_url: str) -> None:
    database = Database(foreign_url)

    with pytest.raises(DatabaseUnsuited, match="must be UTF8") as caught:
        schema.migrate(database)

    assert "createdb --encoding=UTF8 --template=template0" in caught.value.hint
    assert schema.current(database) is None
    database.dispose()


@pytest.mark.parametrize(
    "arguments",
    [
        ("config", "check"),
        ("doctor",),
        ("migrate",),
        ("migrate", "--dry"),
        ("workflow", "list"),
        ("submit", "t/any"),
        ("worker",),
        ("serve", "--port", "0"),
    ],
)
def test_every_command_refuses_it(
    command: Callable[..., str], foreign_url: str, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setenv("REMAND_DATABASE_URL", foreign_url)

    assert "createdb --encoding=UTF8" in command(*arguments, "--json", exits=3)


def test_what_the_command_makes_is_taken(cluster: Cluster) -> None:
    name = f"remand_test_utf8_{uuid4().hex[:8]}"
    cluster.execute(f"create database {name} encoding 'UTF8' template template0")
    database = Database(str_of(cluster.url.set(database=name)))
    try:
        assert suitability.check_writable(database).encoding == "UTF8"
    finally:
        database.dispose()
        cluster.execute(f"drop database {name} with (force)")


@pytest.mark.parametrize("scope", ["alter database {database}", "alter role {role}"])
def test_a_read_only_setting_is_named_with_what_takes_it_back(
    cluster: Cluster, fresh_database_url: str, scope: str
) -> None:
    role = f"reader_{uuid4().hex[:8]}"
    cluster.execute(f"create role {role} login superuser password 'x'")
    url = make_url(fresh_database_url).set(username=role, password="x")
    what = scope.format(database=url.database, role=role)
    cluster.execute(f"{what} set default_transaction_read_only = on")
    database = Database(str_of(url))
    try:
        with pytest.raises(DatabaseReadOnly) as caught:
            suitability.check_writable(database)
        assert f"{what.upper()} RESET" in caught.value.hint.upper()
    finally:
        database.dispose()
        cluster.execute(f"drop role {role}")
