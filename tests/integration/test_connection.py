"""The one door to Postgres: every form of the URL, whatever role, database and environment have set."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from datetime import UTC
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy.engine import make_url

from remand_app.domain.errors import ConfigInvalid, DatabaseMissing, DatabaseUnreachable
from remand_app.embedded.stack import free_port
from remand_app.store.connect import connect
from remand_app.store.database import Database
from remand_app.store.worker_health import worker_health
from remand_app.store.workers import Incarnation, WorkerHeartbeat
from tests.support.databases import Cluster, str_of
from tests.support.waiting import eventually


def one_of(url: str, sql: str) -> Any:
    with contextlib.closing(connect(url)) as connection, connection.cursor() as cursor:
        cursor.execute(sql)
        [found] = cursor.fetchone() or [None]
    return found


@pytest.fixture
def forms(own_database_url: str) -> dict[str, str]:
    """One server in the spellings that people use; the first host of several is away."""
    url = make_url(own_database_url)
    login, name, dead = f"{url.username}:{url.password}@", url.database, free_port()
    return {
        "libpq": f"postgresql://{login}127.0.0.1:{dead},127.0.0.1:{url.port}/{name}",
        "sqlalchemy": f"postgresql://{login}/{name}?host=127.0.0.1:{dead}&host=127.0.0.1:{url.port}",
        "lists": f"postgresql://{login}/{name}?host=127.0.0.1,127.0.0.1&port={dead},{url.port}",
        "heroku": f"postgres://{login}127.0.0.1:{url.port}/{name}\n",
        "blanks": f"postgresql://{login}127.0.0.1:{url.port}/{name}?options=-c%20work_mem%3D9MB+-c%20jit%3Doff",
        "driver": f"postgresql+psycopg2://{login}127.0.0.1:{url.port}/{name}",
    }


@pytest.mark.parametrize("form", ["libpq", "sqlalchemy", "lists", "heroku", "blanks", "driver"])
def test_pool_pulse_and_health_take_the_same_forms(forms: dict[str, str], form: str) -> None:
    url = forms[form]
    database = Database(url)
    pulse = WorkerHeartbeat(url, Incarnation(uuid4(), "door@test", 1, ["steps"], "solo", 1, "test"))

    assert database.call("select 1") == [(1,)]
    with database.begin() as connection:
        assert connection.exec_driver_sql("select current_schema()").scalar_one() == "pg_catalog"
    pulse.beat()
    assert worker_health(url, "door@test", patience_seconds=30) is not None
    pulse.stop()
    database.dispose()


def test_options_of_the_url_are_heeded(forms: dict[str, str]) -> None:
    assert one_of(forms["blanks"], "show work_mem") == "9MB"


NEEDED = {
    "client_encoding": "UTF8",
    "standard_conforming_strings": "on",
    "timezone": "UTC",
    "intervalstyle": "postgres",
    "bytea_output": "hex",
    "search_path": "pg_catalog,pg_temp",
    "statement_timeout": "0",
    "default_transaction_isolation": "read committed",
}
HOSTILE = {
    "client_encoding": "LATIN1",
    "standard_conforming_strings": "off",
    "timezone": "Asia/Kathmandu",
    "intervalstyle": "iso_8601",
    "datestyle": "SQL, DMY",
    "bytea_output": "escape",
    "search_path": "hostile, public, pg_catalog",
    "statement_timeout": "1",
    "default_transaction_isolation": "serializable",
    "row_security": "off",
    "lc_time": "C",
    "lc_numeric": "C",
}


@contextlib.contextmanager
def role_of(cluster: Cluster, url: str) -> Iterator[str]:
    """Yield the URL for a superuser of this test alone, with hostile settings of its own."""
    name, database = f"odd_{uuid4().hex[:8]}", make_url(url).database
    cluster.execute(f"create role {name} superuser login password 'odd'")
    try:
        for setting, value in HOSTILE.items():
            listed = value if setting == "search_path" else f"'{value}'"
            cluster.execute(f"alter role {name} set {setting} = {listed}")
            cluster.execute(f"alter role {name} in database {database} set {setting} = {listed}")
        yield str_of(make_url(url).set(username=name, password="odd"))
    finally:
        cluster.execute(f"drop role if exists {name}")


@pytest.mark.parametrize("setting", NEEDED)
def test_settings_of_role_and_database_change_nothing(
    cluster: Cluster, fresh_database_url: str, setting: str
) -> None:
    with role_of(cluster, fresh_database_url) as url:
        assert one_of(url, f"show {setting}") == NEEDED[setting]
        at = one_of(url, "select timestamptz '2026-03-29 01:30:00+00'")
        assert (at.utcoffset(), at.hour) == (UTC.utcoffset(None), 1)


def test_the_environment_changes_nothing(own_database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "PGCLIENTENCODING": "SQL_ASCII",
        "PGTZ": "Asia/Kathmandu",
        "PGDATESTYLE": "SQL, DMY",
        "PGOPTIONS": "-c search_path=public -c work_mem=9MB -c client_encoding=LATIN1",
    }.items():
        monkeypatch.setenv(name, value)

    found = {name: one_of(own_database_url, f"show {name}") for name in NEEDED}

    assert found == NEEDED
    assert one_of(own_database_url, "select 'ungültig 東京'") == "ungültig 東京"
    assert one_of(own_database_url, "show work_mem") == "9MB"


def test_a_missing_database_is_named_with_the_command_that_makes_it(own_database_url: str) -> None:
    url = str_of(make_url(own_database_url).set(database="not_there"))

    with pytest.raises(DatabaseMissing, match="not_there") as caught:
        Database(url).call("select 1")

    assert "createdb --encoding=UTF8 --template=template0 not_there" in caught.value.hint


@pytest.mark.parametrize(
    ("query", "error"),
    [("?nonsense=1", ConfigInvalid), ("?sslmode=nonsense", DatabaseUnreachable), ("#x", ConfigInvalid)],
)
def test_what_libpq_refuses_is_told_without_the_password(
    own_database_url: str, query: str, error: type[Exception]
) -> None:
    with pytest.raises(error) as caught:
        Database(own_database_url + query).call("select 1")

    assert str(make_url(own_database_url).password) not in str(caught.value)


class Pooler:
    """Stands before a server as PgBouncer does: refuses a start packet with `options`, hands on the rest."""

    def __init__(self, port: int) -> None:
        self._server = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.refusals = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        packet = client.recv(4096)
        while packet[4:8] in (b"\x04\xd2\x16\x2f", b"\x04\xd2\x16\x30"):  # TLS or GSS is asked for
            client.sendall(b"N")
            packet = client.recv(4096)
        if b"options\0" in packet:
            self.refusals += 1
            fields = b"SFATAL\0C08P01\0Munsupported startup parameter: options\0\0"
            client.sendall(b"E" + (len(fields) + 4).to_bytes(4, "big") + fields)
            client.close()
            return
        server = socket.create_connection(("127.0.0.1", self._server))
        server.sendall(packet)
        threading.Thread(target=self._pump, args=(server, client), daemon=True).start()
        self._pump(client, server)

    @staticmethod
    def _pump(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError), source, target:
            while chunk := source.recv(65_536):
                target.sendall(chunk)


def test_a_pooler_that_knows_no_options_is_asked_for_what_it_keeps_apart(own_database_url: str) -> None:
    url = make_url(own_database_url)
    with contextlib.closing(Pooler(int(url.port or 5432))) as pooler:
        through = str_of(url.set(host="127.0.0.1", port=pooler.port))

        assert one_of(through, "show timezone") == "UTC"
        assert one_of(through, "show client_encoding") == "UTF8"
        # A shared connection would keep it for whoever comes next.
        assert one_of(through, "show search_path") == '"$user", public'
        eventually(lambda: pooler.refusals == 3)
