"""One of a sweep at a time, for as long as it takes."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import make_url

from remand_app.domain.errors import DatabaseUnreachable
from remand_app.store.database import Database
from remand_app.store.sweep_lock import alone
from tests.support.waiting import eventually

_THERE = "select 1 from pg_stat_activity where pid = %s"


def test_each_sweep_is_alone_with_itself_only(database: Database) -> None:
    with (
        alone(database, "stale") as first,
        alone(database, "stale") as second,
        alone(database, "archive") as other,
    ):
        assert (first, second, other) == (True, False, True)

    with alone(database, "stale") as next_one:
        assert next_one


def test_who_dies_holds_nobody_up(database: Database) -> None:
    with pytest.raises(ZeroDivisionError), alone(database, "stale"):
        raise ZeroDivisionError

    with alone(database, "stale") as next_one:
        assert next_one


def test_a_server_that_ends_idle_transactions_lets_a_long_sweep_be(
    database: Database, database_url: str
) -> None:
    options = {"options": "-c idle_in_transaction_session_timeout=100"}
    impatient = Database(
        make_url(database_url).update_query_dict(options).render_as_string(hide_password=False)
    )
    try:
        with alone(impatient, "stale") as first:
            with pytest.raises(DatabaseUnreachable):
                idle_until_ended(impatient, database)
            with alone(database, "stale") as second:
                assert (first, second) == (True, False)
    finally:
        impatient.dispose()


def idle_until_ended(impatient: Database, database: Database) -> None:
    """Idle in a transaction that is younger than the sweep's, which would have been ended before it."""
    with impatient.begin() as connection:
        backend = connection.scalar(sa.text("select pg_backend_pid()"))
        eventually(lambda: not database.call(_THERE, (backend,)), message="idle transactions are ended")
