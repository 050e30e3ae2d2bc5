from __future__ import annotations

from datetime import datetime, timedelta

from remand_app.store import live_work
from remand_app.store.database import Database
from tests.support.clock import NOON


def ended(database: Database, at: datetime, attempts: int, failures: int = 0) -> None:
    database.call(
        "insert into remand.traffic (namespace, handler, dependency, bucket, attempts, failures, retries)"
        " values ('t', %s, '', %s, %s, %s, 0)",
        (f"h{attempts}", at, attempts, failures),
    )


def test_stretches_in_which_nothing_ended_are_there_too(database: Database) -> None:
    ended(database, NOON, 3)
    ended(database, NOON + timedelta(seconds=9), 2, failures=1)
    ended(database, NOON + timedelta(seconds=35), 1)

    lately = live_work.ended_lately(database, NOON, NOON + timedelta(seconds=38), 10)

    assert [(one.attempts, one.failures) for one in lately] == [(5, 1), (0, 0), (0, 0), (1, 0)]
    assert [one.at for one in lately] == [NOON + timedelta(seconds=10 * n) for n in range(4)]


def test_what_ended_before_is_not_counted(database: Database) -> None:
    ended(database, NOON - timedelta(seconds=1), 3)

    lately = live_work.ended_lately(database, NOON, NOON + timedelta(seconds=15), 10)

    assert [one.attempts for one in lately] == [0, 0]
