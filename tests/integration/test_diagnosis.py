from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from remand_app.clock import DatabaseClock
from remand_app.domain.workflow_filter import WorkflowFilter
from remand_app.engine.worker_limits import live_workers
from remand_app.store import diagnosis, queue_counts
from remand_app.store.workflow_search import search
from remand_app.store.workflows import get_workflow
from tests.support.engine import Harness
from tests.support.shapes import shape

ONE = shape("one", {"a": ()})


def test_what_waits_is_counted_by_queue_with_the_age_of_the_oldest(harness: Harness) -> None:
    harness.publish(ONE)
    harness.submit_many("t/one", range(3))
    harness.advance(7)

    [found] = queue_counts.waiting(harness.database, harness.clock)

    assert (found.queue, found.ready, found.due, found.oldest_seconds) == ("steps", 3, 3, 7)
    assert (found.failed, found.waiting, found.held, found.claimed) == (0, 0, 0, 0)


def test_only_the_living_are_live(harness: Harness) -> None:
    harness.new_worker(hostname="here@test")
    alive = live_workers(harness.engine)
    assert [(one.hostname, "steps" in one.queues) for one in alive] == [("here@test", True)]

    harness.advance(3600)
    alive = live_workers(harness.engine)
    assert "here@test" not in [one.hostname for one in alive]


def test_workflows_are_listed_since_an_instant(harness: Harness) -> None:
    harness.publish(ONE)
    [one] = harness.submit_many("t/one", range(1))
    created = diagnosis.server_time(harness.database)

    def since(hours: float) -> list[UUID]:
        wanted = WorkflowFilter(submitted_after=created + timedelta(hours=hours))
        return [found.id for found in search(harness.database, wanted).page.items]

    assert (since(-1), since(1)) == ([one], [])
    assert get_workflow(harness.database, one).id == one


def test_a_queue_is_counted_as_one_however_postgres_plans_it(harness: Harness) -> None:
    """A table all but empty when it was analyzed comes first in a join: each row would ask the instant."""
    harness.publish(ONE)
    harness.submit_many("t/one", range(1))
    harness.database.call("analyze remand.run_queue")
    harness.submit_many("t/one", range(1, 40))

    found = queue_counts.waiting(harness.database, DatabaseClock())

    assert [(one.queue, one.ready) for one in found] == [("steps", 40)]
