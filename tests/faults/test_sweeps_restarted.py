"""Postgres is restarted in the middle of each sweep: the next ends it, to the same outcome. Source: D8."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from remand_app.domain.errors import DatabaseUnreachable
from remand_app.store import schema
from remand_app.store.database import Database
from tests.support.own_servers import OwnPostgres
from tests.support.sweeps import SWEEPS, Strike, in_peace, outcome, scene, swept


@pytest.fixture(scope="module")
def postgres() -> Iterator[OwnPostgres]:
    with tempfile.TemporaryDirectory(prefix="remand-sweeps-", ignore_cleanup_errors=True) as folder:
        server = OwnPostgres(Path(folder))
        server.start()
        try:
            yield server
        finally:
            server.stop()


@pytest.fixture(scope="module")
def database(postgres: OwnPostgres) -> Iterator[Database]:
    made = Database(postgres.url)
    schema.migrate(made)
    yield made
    made.dispose()


@pytest.mark.parametrize("name", SWEEPS)
def test_a_sweep_goes_on_after_the_server_was_restarted_half_way(
    postgres: OwnPostgres, database: Database, name: str
) -> None:
    def restart() -> None:
        postgres.stop()
        postgres.start()

    wanted = in_peace(database, name)
    sweep, strike = swept(scene(database), name), Strike(restart)
    with strike.reach(database):
        sweep()
        statements = strike.seen
    harness = scene(database)
    sweep = swept(harness, name)
    with strike.reach(database):
        strike.left = statements // 2
        with pytest.raises(DatabaseUnreachable):
            sweep()

    sweep()
    sweep()

    assert outcome(harness) == wanted
