"""No setting of the archive is inert."""

from __future__ import annotations

from datetime import timedelta
from itertools import count
from typing import Any

import pytest

from remand_app.domain.archive import Way
from remand_app.domain.errors import NotExported
from remand_app.engine.archive import plan, run
from remand_app.engine.archive_export import drop
from remand_app.engine.sweeps.archive import archive
from remand_app.store import archive_moves
from remand_app.store import archive_runs as books
from remand_app.store.database import Database
from tests.integration.test_archive import DUE, MAY, WHO, ended, in_may, rows, submitted
from tests.support.engine import Harness


def due(database: Database, finished: int = 3, live: int = 0, **archive: Any) -> Harness:
    """Return a harness with workflows of May, in July."""
    harness = in_may(database, **archive)
    ended(harness, finished)
    submitted(harness, live)
    harness.clock.now = DUE
    return harness


@pytest.mark.parametrize("enabled", [True, False])
def test_archive_enabled_is_whether_the_sweep_archives(fresh_database: Database, *, enabled: bool) -> None:
    harness = due(fresh_database, enabled=enabled)

    assert archive(harness.engine).workflows == (3 if enabled else 0)
    assert run(harness.engine).workflows == (0 if enabled else 3)


@pytest.mark.parametrize(("days", "goes"), [(30, True), (33, False)])
def test_archive_retention_days_is_how_long_they_stay(
    fresh_database: Database, days: int, *, goes: bool
) -> None:
    harness = due(fresh_database, retention_days=days)

    assert archive(harness.engine).workflows == (3 if goes else 0)


@pytest.mark.parametrize(("size", "batches"), [(1, 3), (2, 2)])
def test_archive_batch_size_is_what_one_transaction_copies(
    fresh_database: Database, monkeypatch: pytest.MonkeyPatch, size: int, batches: int
) -> None:
    harness = due(fresh_database, live=1, most_stragglers=0, batch_size=size)
    moved, move_batch = [], archive_moves.move_batch

    def counted(*arguments: Any, **named: Any) -> Any:
        done = move_batch(*arguments, **named)
        moved.extend([] if done is None else [done.run.workflows])
        return done

    monkeypatch.setattr(archive_moves, "move_batch", counted)

    assert archive(harness.engine).workflows == 3
    assert len(moved) == batches


@pytest.mark.parametrize(("most", "way"), [(2, Way.PERIOD), (1, Way.BATCH)])
def test_archive_most_stragglers_is_with_how_many_a_period_goes_whole(
    fresh_database: Database, most: int, way: Way
) -> None:
    harness = due(fresh_database, live=2, most_stragglers=most)

    assert [one.way for one in plan(harness.engine)] == [way]


@pytest.mark.parametrize("hold", [0.2, 0.4])
def test_archive_hold_seconds_is_how_long_nobody_waits_longer_than(
    fresh_database: Database, monkeypatch: pytest.MonkeyPatch, hold: float
) -> None:
    harness = due(fresh_database, hold_seconds=hold)
    asked: list[str] = []

    with fresh_database.begin() as reader:
        reader.exec_driver_sql("lock table only remand.workflows in access share mode")
        limit_hold = archive_moves.limit_hold

        def limited(connection: Any, seconds: float) -> None:
            limit_hold(connection, seconds)
            asked.append(connection.exec_driver_sql("show statement_timeout").scalar_one())

        monkeypatch.setattr(archive_moves, "limit_hold", limited)
        assert archive(harness.engine).workflows == 0

    assert set(asked) == {f"{hold * 1000:.0f}ms"}
    assert rows(harness.database)[0] == 3


def test_archive_budget_seconds_is_when_the_rest_is_left_to_the_next(fresh_database: Database) -> None:
    harness = due(fresh_database, live=1, most_stragglers=0, batch_size=1, budget_seconds=4)
    ticks = count()

    first = run(harness.engine, monotonic=lambda: float(next(ticks)))
    second = run(harness.engine)

    assert not first.is_finished
    assert 0 < first.workflows < 3
    assert (first.workflows + second.workflows, second.is_finished) == (3, True)


@pytest.mark.parametrize(("policy", "goes"), [("archive", True), ("keep", False)])
def test_archive_policies_are_what_becomes_of_an_outcome(
    fresh_database: Database, policy: str, *, goes: bool
) -> None:
    harness = due(fresh_database, policies={"complete": policy})

    assert archive(harness.engine).workflows == (3 if goes else 0)
    assert len(books.runs(harness.database, limit=9)) == 1


@pytest.mark.parametrize(("days", "goes"), [(365, True), (367, False), (0, False)])
def test_archive_keep_days_is_when_a_period_may_go_unexported(
    fresh_database: Database, days: int, *, goes: bool
) -> None:
    harness = due(fresh_database, keep_days=days)
    run(harness.engine)
    harness.clock.now = MAY.ends_at + timedelta(days=366)

    if goes:
        assert drop(harness.engine, MAY.name, WHO).why == "past its final retention"
    else:
        with pytest.raises(NotExported):
            drop(harness.engine, MAY.name, WHO)
