"""What the happy path costs: round trips, commits, WAL and rows, counted where they happen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from remand_app.store.database import Database
from tests.support.engine import Harness
from tests.support.shapes import CHAIN, DIAMOND, shape

MAX_COMMITS = 8
MAX_WAL_KB = 8


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every statement that this process sends, by the name of the function it calls, without its version."""
    sent: list[str] = []
    really = Database.cursor

    @contextmanager
    def counting(database: Database) -> Iterator[Any]:
        with really(database) as cursor:

            class Counting:
                def execute(self, sql: str, arguments: Any = None) -> None:
                    name = sql.partition("remand.")[2].partition("(")[0].removesuffix("_v2")
                    sent.append(name or sql)
                    cursor.execute(sql, arguments)

                def __getattr__(self, name: str) -> Any:
                    return getattr(cursor, name)

            yield Counting()

    monkeypatch.setattr(Database, "cursor", counting)
    return sent


def warm(harness: Harness, graph: Any) -> None:
    """Publish, and let the executor learn how long its steps take."""
    harness.publish(shape("w", graph))
    harness.play()
    harness.submit_many("t/w", range(5))
    harness.run_until_quiet()


def test_a_batch_is_one_claim_and_one_settle(harness: Harness, statements: list[str]) -> None:
    warm(harness, {"a": ()})
    harness.submit_many("t/w", range(40))
    statements.clear()

    drained = harness.drain()

    assert (drained.claimed, drained.completed, drained.batches) == (40, 40, 1)
    assert statements == ["claim", "settle"]


def test_a_chain_is_one_claim_and_a_settle_a_step(harness: Harness, statements: list[str]) -> None:
    warm(harness, CHAIN)
    harness.submit("t/w")
    statements.clear()

    harness.drain()

    assert statements == ["claim", *["settle"] * 4]


@pytest.mark.parametrize("graph", [CHAIN, DIAMOND], ids=["chain", "diamond"])
def test_many_workflows_share_their_round_trips(
    harness: Harness, statements: list[str], graph: dict[str, Any]
) -> None:
    warm(harness, graph)
    harness.submit_many("t/w", range(50))
    statements.clear()

    drained = harness.drain()

    assert drained.completed == 200
    assert len(statements) <= 2 * drained.batches + 1


def test_a_submit_is_one_statement(harness: Harness, statements: list[str]) -> None:
    warm(harness, CHAIN)
    harness.submit("t/w:1")
    statements.clear()

    harness.submit("t/w:1")
    harness.submit_many("t/w:1", range(500))

    assert [name for name in statements if name] == ["submit", "submit"]


def wal_kb(database: Database) -> tuple[float, int]:
    """WAL that this connection wrote, and how many images of whole pages are in it."""
    database.call("select pg_stat_force_next_flush()")
    [(size, images)] = database.call(
        "select wal_bytes, wal_fpi from pg_stat_get_backend_wal(pg_backend_pid())"
    )
    return float(size) / 1024, int(images)


def commits(database: Database) -> int:
    database.call("select pg_stat_force_next_flush()")
    [(count,)] = database.call("select xact_commit from pg_stat_database where datname = current_database()")
    return int(count)


@pytest.mark.parametrize("graph", [CHAIN, DIAMOND], ids=["chain", "diamond"])
def test_a_happy_workflow_commits_as_rarely_as_was_promised(
    fresh_database: Database, graph: dict[str, Any]
) -> None:
    harness = Harness(fresh_database)
    warm(harness, graph)
    before = commits(fresh_database)
    own = commits(fresh_database) - before
    for _ in range(20):
        harness.submit("t/w:1")
        harness.drain()

    assert (commits(fresh_database) - before - 2 * own) / 20 <= MAX_COMMITS


@pytest.mark.parametrize("graph", [CHAIN, DIAMOND], ids=["chain", "diamond"])
def test_a_happy_workflow_writes_as_little_wal_as_was_promised(
    fresh_database: Database, graph: dict[str, Any]
) -> None:
    harness = Harness(fresh_database)
    [(version,)] = fresh_database.call("select current_setting('server_version_num')::int")
    if version < 180000:
        pytest.skip("PostgreSQL counts the WAL of a connection since version 18")
    warm(harness, graph)
    # The first touch of a page after a checkpoint writes its image: that is the checkpoint's cost.
    for _ in range(20):
        before, images_before = wal_kb(fresh_database)
        for _ in range(10):
            harness.submit("t/w:1")
            harness.drain()
        after, images = wal_kb(fresh_database)
        if images == images_before:
            break

    print(f"{(after - before) / 10:.2f} KB of WAL a workflow, {images - images_before} page images")
    assert (after - before) / 10 <= MAX_WAL_KB


def test_a_happy_workflow_writes_no_history_and_no_attempts(harness: Harness) -> None:
    warm(harness, DIAMOND)

    counts = harness.database.call(
        "select (select count(*) from remand.history), (select count(*) from remand.attempts),"
        " (select count(*) from remand.run_queue)"
    )

    assert counts == [(0, 0, 0)]
