"""Who waits for each other is told so, after the engine has tried again."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg2.errors
import pytest
import sqlalchemy as sa

from remand_app.domain.errors import Busy
from remand_app.engine import operate
from remand_app.engine.operate import Who
from remand_app.store import operator_moves
from tests.support.engine import Harness
from tests.support.invariants import check_invariants
from tests.support.shapes import shape
from tests.support.waiting import eventually

ANN = Who("ann")


def wide(harness: Harness) -> Any:
    harness.publish(shape("wide", {"a": (), "b": ()}))
    return harness.submit("t/wide")


@pytest.fixture
def deadlocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Let the first so many cancels end as a deadlock's victim."""
    left = [0]
    really = operator_moves.cancel

    def cancel(*arguments: Any, **more: Any) -> bool:
        if left[0] > 0:
            left[0] -= 1
            raise sa.exc.OperationalError("", {}, psycopg2.errors.DeadlockDetected())
        return really(*arguments, **more)

    monkeypatch.setattr(operator_moves, "cancel", cancel)
    return left


@pytest.mark.parametrize("times", [1, 2])
def test_a_verb_that_lost_a_deadlock_is_tried_again(
    harness: Harness, deadlocks: list[int], times: int
) -> None:
    workflow = wide(harness)
    deadlocks[0] = times

    assert operate.cancel(harness.engine, workflow, ANN).after == "cancelled"
    check_invariants(harness.database)


def test_a_verb_that_loses_every_time_says_busy(harness: Harness, deadlocks: list[int]) -> None:
    workflow = wide(harness)
    deadlocks[0] = 3

    with pytest.raises(Busy) as refused:
        operate.cancel(harness.engine, workflow, ANN)

    assert (refused.value.code, refused.value.exit_code) == ("BUSY", 5)
    assert "try again" in refused.value.hint
    assert harness.workflow(workflow).state == "steps_in_process"


def test_a_real_deadlock_with_a_worker_ends_well(harness: Harness) -> None:
    """A worker that has one row and wants another, which the person who cancels took before."""
    workflow = wide(harness)
    query = "update remand.steps set attempt = attempt where name = 'a'"
    with ThreadPoolExecutor(1) as beside:
        with harness.database.begin() as worker:
            worker.exec_driver_sql("set local deadlock_timeout = '10s'")
            worker.exec_driver_sql("select 1 from remand.steps where name = 'a' for update")
            person = beside.submit(operate.cancel, harness.engine, workflow, ANN)
            eventually(
                lambda: harness.database.call(
                    "select 1 from pg_locks l join pg_stat_activity a using (pid)"
                    " where not l.granted and a.datname = current_database()"
                ),
                message="nobody waits",
            )
            worker.exec_driver_sql("select 1 from remand.workflows for update")
            worker.exec_driver_sql(query)
        assert person.result(20).after == "cancelled"
    check_invariants(harness.database)
