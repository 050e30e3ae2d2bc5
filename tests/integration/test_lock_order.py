"""Rows of the run queue are locked in one order by everybody: who waits for the first holds no later one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa

from remand.errors import PermanentError
from remand.failure import capture
from remand_app.engine import operate
from remand_app.engine.operate import Who
from remand_app.engine.sweeps.expire import expire
from remand_app.store import operator_moves
from remand_app.store.claims import Completed, EndedBadly
from remand_app.store.database import Database
from remand_app.store.workflows import lock_workflow
from tests.support.engine import Harness
from tests.support.shapes import shape
from tests.support.waiting import eventually

ANN = Who("ann")
# The order of their names is neither that of the template nor that in which they are claimed.
NAMES = tuple(f"s{number * 37 % 101:03}" for number in range(1, 101))


@pytest.fixture
def beside() -> Iterator[Callable[..., Future[Any]]]:
    """Call something in another thread."""
    with ThreadPoolExecutor(1) as threads:
        yield threads.submit


def someone_waits(database: Database) -> None:
    query = (
        "select 1 from pg_locks l join pg_stat_activity a using (pid)"
        " where not l.granted and a.datname = current_database()"
    )
    eventually(lambda: database.call(query), message="nobody waits for a lock")


def failures(claims: list[Any], worker: UUID) -> list[EndedBadly]:
    told = capture(PermanentError("no"))
    return [
        EndedBadly(one.workflow_id, one.step, one.attempt, worker, "failed", told, "never") for one in claims
    ]


def parked(harness: Harness, claims: list[Any]) -> None:
    with harness.database.begin() as other:
        lock_workflow(other, claims[0].workflow_id)
        harness.worker.queue.settle([Completed(one, "1") for one in claims], "steps", 0)


def resolve(harness: Harness, workflow: UUID) -> None:
    with harness.database.begin() as connection:
        lock_workflow(connection, workflow)
        operator_moves.resolve_workflow(connection, workflow, by="ann", reason=None, now=harness.clock.now)


VERBS: dict[str, Callable[[Harness, list[Any]], Any]] = {
    "settle": lambda h, claims: h.worker.queue.settle([Completed(one, "1") for one in claims], "steps", 0),
    "park": parked,
    "fail": lambda h, claims: h.worker.queue.fail(failures(claims, h.worker.id), by="drain"),
    "give back": lambda h, claims: h.worker.queue.give_back(claims),
    "give all back": lambda h, _: h.worker.queue.give_back_of(os.getpid()),
    "interrupt": lambda h, claims: h.worker.queue.interrupt(
        [(one.workflow_id, one.step, one.attempt) for one in claims]
    ),
    "cancel": lambda h, claims: operate.cancel(h.engine, claims[0].workflow_id, ANN),
    "pause": lambda h, claims: operate.pause_workflow(h.engine, claims[0].workflow_id, ANN),
    "resolve": lambda h, claims: resolve(h, claims[0].workflow_id),
    "expire": lambda h, _: expire(h.engine),
}


@pytest.mark.parametrize("verb", VERBS)
def test_who_waits_for_the_first_row_holds_no_later_one(
    harness: Harness, beside: Callable[..., Future[Any]], verb: str
) -> None:
    harness.publish(shape("wide", dict.fromkeys(NAMES, ()), expire_after_seconds=3600))
    workflow = harness.submit("t/wide")
    claims = harness.worker.queue.claim("steps", len(NAMES))
    assert len(claims) == len(NAMES)
    if verb == "expire":
        harness.clock.advance(hours=2)

    with harness.database.begin() as holder:
        holder.execute(
            sa.text("select 1 from remand.run_queue where workflow_id = :id and step = :step for update"),
            {"id": workflow, "step": min(NAMES)},
        )
        other = beside(VERBS[verb], harness, claims[:])
        someone_waits(harness.database)
        free = holder.scalars(
            sa.text("select step from remand.run_queue where workflow_id = :id for update skip locked"),
            {"id": workflow},
        ).all()
    other.result(10)
    assert sorted(free) == sorted(NAMES)
