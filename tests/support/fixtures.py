"""Fixtures that need servers; `tests/conftest.py` loads them for every folder.

`database` is this test process's own, emptied before each test and held to the invariants after it;
`fresh_database` is one of its own for tests that change the schema or count what the server did.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from argon2 import PasswordHasher

from remand_app.config import Settings
from remand_app.engine import access, signin
from remand_app.store.database import Database
from tests.support.bell import RecordingBell
from tests.support.brokers import clean_broker
from tests.support.clock import FakeClock
from tests.support.databases import Cluster, empty_all
from tests.support.engine import Harness, settings_for
from tests.support.invariants import check_invariants
from tests.support.servers import Servers, servers


def _worker_number() -> int:
    return int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))


@pytest.fixture(scope="session")
def test_servers() -> Iterator[Servers]:
    """The servers of this run, shared by all its test processes."""
    with servers(os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))) as up:
        yield up


@pytest.fixture(scope="session")
def cluster(test_servers: Servers) -> Iterator[Cluster]:
    """The database server, with a migrated template."""
    made = Cluster(test_servers.database_url)
    with made.template():
        yield made


@pytest.fixture(scope="session")
def own_database_url(cluster: Cluster) -> Iterator[str]:
    """A migrated database that this test process keeps for all its tests."""
    with cluster.fresh() as url:
        yield url


@pytest.fixture(scope="session")
def _light_passwords() -> Iterator[None]:
    """Let a hash of a password cost nothing: at full strength each takes a core for a tenth of a second."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (access, signin):
            patch.setattr(module, "HASHER", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
        yield


@pytest.fixture
def strong_passwords(_light_passwords: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Hash passwords as the product does."""
    for module in (access, signin):
        monkeypatch.setattr(module, "HASHER", PasswordHasher())
    signin._nobodys_hash.cache_clear()
    yield
    signin._nobodys_hash.cache_clear()


@pytest.fixture(scope="session")
def _own_database(own_database_url: str, _light_passwords: None) -> Iterator[Database]:
    database = Database(own_database_url, pool_size=10)
    yield database
    database.dispose()


@pytest.fixture
def database_url(database: Database, own_database_url: str) -> str:
    """The URL of `database`, for programs that connect themselves."""
    return own_database_url


@pytest.fixture
def raw_database(_own_database: Database) -> Database:
    """An empty, migrated database without the check of the invariants: for rows that no engine would make."""
    empty_all(_own_database)
    return _own_database


@pytest.fixture
def limits() -> list[Settings]:
    """The settings whose limits hold in this test; what is not set says the templates."""
    return [Settings()]


@pytest.fixture
def database(raw_database: Database, limits: list[Settings]) -> Iterator[Database]:
    """An empty, migrated database that must keep the invariants."""
    yield raw_database
    check_invariants(raw_database, limits[-1])


@pytest.fixture
def fresh_database_url(cluster: Cluster) -> Iterator[str]:
    """A migrated database of this test alone."""
    with cluster.fresh() as url:
        yield url


@pytest.fixture
def fresh_database(fresh_database_url: str) -> Iterator[Database]:
    """A migrated database of this test alone, which must keep the invariants."""
    database = Database(fresh_database_url)
    yield database
    check_invariants(database)
    database.dispose()


@pytest.fixture
def empty_database_url(cluster: Cluster) -> Iterator[str]:
    """A database without our schema."""
    with cluster.empty() as url:
        yield url


@pytest.fixture
def broker_url(test_servers: Servers) -> Iterator[str]:
    """An empty broker of this test process alone."""
    with clean_broker(test_servers.broker_url, _worker_number()) as url:
        yield url


@pytest.fixture(scope="session")
def any_broker_url(test_servers: Servers) -> Iterator[str]:
    """A broker for tests that need one and read no message: a vhost of its own takes each half a second."""
    with clean_broker(test_servers.broker_url, _worker_number()) as url:
        yield url


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def bell() -> RecordingBell:
    return RecordingBell()


@pytest.fixture
def harness(database: Database, clock: FakeClock, bell: RecordingBell) -> Harness:
    """The engine in this process, on a clock that stands still."""
    return Harness(database, clock, bell)


@pytest.fixture
def harness_with(
    database: Database, clock: FakeClock, bell: RecordingBell, limits: list[Settings]
) -> Callable[..., Harness]:
    """Make a harness with settings of its own."""

    def make(**settings: object) -> Harness:
        limits.append(settings_for(**settings))
        return Harness(database, clock, bell, limits[-1])

    return make


@pytest.fixture
def command(
    database_url: str,
    any_broker_url: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., str]:
    """Run `remand …` on the database and a broker of the run, and return what it says."""
    # Only for who asks: to load the command line takes its time.
    import remand_app.cli.main  # noqa: F401 - registers the commands
    from remand_app.cli.invoke import run

    monkeypatch.setenv("REMAND_DATABASE_URL", database_url)
    monkeypatch.setenv("REMAND_BROKER_URL", any_broker_url)
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str, exits: int = 0) -> str:
        capsys.readouterr()
        assert run(list(arguments)) == exits
        return capsys.readouterr().out

    return call


@pytest.fixture
def no_umask() -> Iterator[None]:
    """Let every file have the mode that its maker names, as under a shell with umask 000."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def ids_of_any_month(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tests submit under ids of any year, as a client with a wild clock once could."""
    monkeypatch.setattr("remand_app.engine.workflow_ids.CLOCKS_DIFFER", timedelta(days=365_000))
    monkeypatch.setattr("remand_app.engine.workflow_ids.EARLIEST", datetime(1970, 1, 1, tzinfo=UTC))
