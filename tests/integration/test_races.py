"""Two at one workflow: who waits for whom, in which order, and what the one who waited writes down."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa

from remand import PermanentError
from remand_app.domain.errors import Busy, IllegalMove
from remand_app.engine import operate
from remand_app.engine.fail import drain_failures
from remand_app.engine.operate import Who, cancel_letter, requeue_letter, resolve_step, retry_step
from remand_app.engine.submit import SubmitRequest, submit
from remand_app.engine.sweeps.partitions import partitions
from remand_app.store.claims import Completed
from remand_app.store.database import Database
from remand_app.store.ids import new_id
from remand_app.store.workflows import lock_workflow
from tests.support.clock import NOON
from tests.support.engine import Harness
from tests.support.shapes import always, shape
from tests.support.waiting import eventually

ANN = Who("ann")
NO = PermanentError("no")


class PostgresClock:
    """As in production: the instant is Postgres' own."""

    now = NOON

    def fixed(self) -> None:
        return None


@pytest.fixture
def beside() -> Iterator[Callable[..., Future[Any]]]:
    """Call something in another thread."""
    with ThreadPoolExecutor(1) as threads:
        yield threads.submit


def waits(database: Database) -> None:
    """Return once somebody in this database waits for a lock."""
    query = (
        "select 1 from pg_locks l join pg_stat_activity a using (pid)"
        " where not l.granted and a.datname = current_database()"
    )
    eventually(lambda: database.call(query), message="nobody waits for a lock")


def one(harness: Harness, **request: Any) -> UUID:
    harness.publish(shape("one", {"a": ()}))
    return harness.submit("t/one", **request)


def test_a_person_who_ends_a_running_step_takes_the_locks_in_the_order_of_its_worker(
    harness: Harness, beside: Callable[..., Future[Any]]
) -> None:
    """The worker takes run queue, then step: the other way round is a deadlock."""
    workflow_id = one(harness)
    harness.worker.queue.claim("steps", 1)

    with harness.database.begin() as worker:
        worker.exec_driver_sql("select 1 from remand.run_queue for update")
        person = beside(resolve_step, harness.engine, workflow_id, "a", ANN)
        waits(harness.database)
        worker.exec_driver_sql("select 1 from remand.steps for update nowait")

    assert person.result(10).after == "resolved_manually"


@pytest.mark.parametrize("verb", ["retry", "requeue", "cancel", "give up", "claim"])
def test_who_waited_for_a_workflow_acts_after_the_one_it_waited_for(
    database: Database, beside: Callable[..., Future[Any]], verb: str
) -> None:
    harness = Harness(database)
    harness.play(a=always(NO))
    workflow_id = one(harness)
    harness.run_until_quiet()
    letter_id = harness.open_letter(workflow_id).id
    harness = Harness(database, PostgresClock())  # type: ignore[arg-type]  # nothing here moves it
    calls: dict[str, Callable[[], Any]] = {
        "retry": lambda: retry_step(harness.engine, workflow_id, "a", ANN),
        "requeue": lambda: requeue_letter(harness.engine, letter_id, ANN),
        "cancel": lambda: operate.cancel(harness.engine, workflow_id, ANN),
        "give up": lambda: operate.give_up_letter(harness.engine, letter_id, ANN),
        "claim": lambda: operate.claim_letter(harness.engine, letter_id, ANN),
    }

    with database.begin() as first:
        lock_workflow(first, workflow_id)
        second = beside(calls[verb])
        waits(database)
        done_at = first.scalar(sa.text("select clock_timestamp()"))
    second.result(10)

    [letter] = harness.letters(workflow_id)
    acted_at = letter.claimed_at if verb == "claim" else letter.closed_at
    assert acted_at is not None
    assert acted_at > done_at


def test_a_letter_that_was_closed_meanwhile_cancels_no_workflow(
    harness: Harness, beside: Callable[..., Future[Any]]
) -> None:
    harness.play(a=always(NO))
    workflow_id = one(harness)
    harness.run_until_quiet()
    letter_id = harness.open_letter(workflow_id).id

    with harness.database.begin() as first:
        lock_workflow(first, workflow_id)
        second = beside(cancel_letter, harness.engine, letter_id, ANN)
        waits(harness.database)
        first.exec_driver_sql(
            "update remand.dead_letters set status = 'requeued', closed_at = now(), closed_by = 'bob'"
        )

    with pytest.raises(IllegalMove, match="closed as requeued by bob"):
        second.result(10)
    assert harness.workflow(workflow_id).state == "blocked_by_failures"
    with harness.database.begin() as tidy:
        tidy.exec_driver_sql(
            "update remand.dead_letters set status = 'pending', closed_at = null, closed_by = null"
        )


def test_deciding_on_failures_needs_one_connection(harness: Harness) -> None:
    """A second one, taken while the first is held, is a deadlock of the pool once all do so at once."""
    harness.play(a=always(NO))
    one(harness)
    harness.drain()
    lonely = Database(harness.database.url, pool_size=1)
    lonely.engine.pool._max_overflow = 0  # type: ignore[attr-defined]
    lonely.engine.pool._timeout = 0.1  # type: ignore[attr-defined]

    applied = drain_failures(Harness(lonely, harness.clock).engine, "retry.never")

    assert applied.dead == 1
    lonely.dispose()


def test_parked_results_of_one_locked_workflow_hide_no_other(harness: Harness) -> None:
    names = [f"s{n}" for n in range(5)]
    harness.publish(shape("wide", dict.fromkeys(names, ())))
    locked = harness.submit("t/wide")
    queue = harness.worker.queue
    wide = queue.claim("steps", 5)
    other = one(harness)
    [claim] = queue.claim("steps", 1)
    with harness.database.begin() as first:
        lock_workflow(first, locked)
        with harness.database.begin() as second:
            lock_workflow(second, other)
            queue.settle([Completed(one, "1") for one in (*wide, claim)], "steps", 0)

        queue.settle_parked(5)

        assert harness.workflow(other).state == "complete"
    queue.settle_parked(5)


def test_an_id_given_again_under_another_identity_does_not_take_that_identity(harness: Harness) -> None:
    given = new_id()
    assert one(harness, id=given, key="first") == given
    assert (
        submit(harness.engine, "t/one", SubmitRequest(None, key="second", id=given), by="test").created
        is False
    )

    answer = submit(harness.engine, "t/one", SubmitRequest(None, key="second"), by="test")

    assert answer.created
    assert answer.workflow_id != given


def test_new_partitions_wait_for_no_reader_while_everybody_waits_for_them(fresh_database: Database) -> None:
    """Attaching needs the default partition for itself; all others queue up behind whoever asks."""
    harness = Harness(fresh_database)
    harness.clock.now = NOON.replace(year=2031)
    with fresh_database.begin() as report:
        report.exec_driver_sql("select count(*) from remand.workflows")

        with pytest.raises(Busy):
            partitions(harness.engine)

    assert len(partitions(harness.engine)) == 12
