"""Time in which nobody could work at something does not make it old."""

from __future__ import annotations

import pytest

from remand.errors import RetryableError
from remand_app.engine.pauses import pause_queue, resume_queue
from remand_app.engine.sweeps.ring import ring
from remand_app.engine.sweeps.stale import stale
from tests.support.engine import Harness
from tests.support.shapes import always, shape

HOUR = 3600.0
DAY = 24 * HOUR
SETTLED = 1e8
ONE = shape("one", {"a": ()})
FAR = shape(
    "far", {"a": ()}, each={"a": {"queue": "far"}}, lifecycle={"max_steps_in_process_seconds": SETTLED}
)


@pytest.fixture
def site(harness: Harness) -> Harness:
    """A site that was never served yet."""
    harness.database.call("delete from remand.queue_service")
    harness.publish(ONE)
    harness.publish(FAR)
    harness.play()
    return harness


def live(site: Harness, seconds: float) -> None:
    """Let time pass while workers beat and the ring sweep runs: what it would have noted each few seconds."""
    site.worker.beat()
    ring(site.engine)
    site.clock.advance(seconds=seconds)
    site.worker.beat()
    site.database.call(
        "update remand.queue_service set served_at = %s::timestamptz - interval '11 s' where queue = any(%s)",
        (site.clock.now, [*site.queues, "remand.maintenance"]),
    )
    ring(site.engine)


def away(site: Harness, seconds: float) -> None:
    """Let time pass while nothing runs at all; then a worker starts anew."""
    site.clock.advance(seconds=seconds)
    site.new_worker()


def moved(site: Harness) -> int:
    return stale(site.engine).moved


@pytest.mark.parametrize("first", ["stale", "ring"])
def test_a_day_away_makes_nothing_stale(site: Harness, first: str) -> None:
    live(site, HOUR)
    workflow = site.submit("t/one")
    away(site, 3 * DAY)
    if first == "ring":
        ring(site.engine)

    assert moved(site) == 0
    site.run_until_quiet()
    assert site.workflow(workflow).state == "complete"


def test_time_that_was_served_counts_before_and_after_a_day_away(site: Harness) -> None:
    live(site, HOUR)
    workflow = site.submit("t/one")
    live(site, 10 * HOUR)
    away(site, 3 * DAY)
    live(site, 13 * HOUR)
    assert moved(site) == 0
    live(site, 2 * HOUR)

    assert moved(site) == 1
    assert [one.reason for one in site.letters(workflow)] == ["staleness_timeout"]


def test_work_that_was_submitted_before_the_first_start_waits_for_it(site: Harness) -> None:
    site.submit("t/one")
    away(site, 3 * DAY)
    assert moved(site) == 0
    live(site, 60)

    assert moved(site) == 0


def test_a_queue_without_workers_among_others_that_have_some(site: Harness) -> None:
    site.submit("t/one")
    far = site.submit("t/far")
    live(site, 2 * DAY)
    assert moved(site) == 1, "only what is served grows old"
    site.new_worker("far", hostname="far@test")
    ring(site.engine)

    assert moved(site) == 0
    assert site.workflow(far).state == "steps_in_process"


def test_a_retry_that_came_due_while_nothing_swept_is_not_stale(site: Harness) -> None:
    site.play(a=always(RetryableError("not yet")))
    live(site, 60)
    workflow = site.submit("t/one")
    site.drain()
    site.drain_failures("exponential")
    assert site.workflow(workflow).state == "waiting_for_retry"
    away(site, DAY)

    assert moved(site) == 0


def test_sweeps_that_stood_still_while_workers_lived_count_as_away(site: Harness) -> None:
    live(site, 60)
    site.submit("t/one")
    site.clock.advance(seconds=2 * DAY)
    site.worker.beat()

    assert moved(site) == 0
    ring(site.engine)
    assert moved(site) == 0


def test_a_restart_is_no_time_away(site: Harness) -> None:
    live(site, 60)
    for _ in range(3):
        site.clock.advance(seconds=55)
        live(site, 60)

    [[spans]] = site.database.call(
        "select count(*) from remand.queue_service s, unnest(s.unserved) span(span)"
        " where s.queue = 'steps' and lower(span.span) is not null"
    )
    assert spans == 0


def test_what_is_remembered_is_bounded(site: Harness) -> None:
    live(site, 60)
    for _ in range(120):
        site.clock.advance(seconds=120)
        site.worker.beat()
        ring(site.engine)

    [[spans, newest]] = site.database.call(
        "select count(*), max(upper(span.span)) from remand.queue_service s, unnest(s.unserved) span(span)"
        " where s.queue = 'steps'"
    )
    assert spans <= 100
    assert newest == site.clock.now


def resumed(site: Harness, how: str) -> None:
    """Let a workflow wait in a paused queue for longer than its lifetime, and go on."""
    site.submit("t/one")
    pause_queue(site.engine, "steps", by="ann", via="cli", reason=None)
    live(site, 2 * DAY)
    if how == "new code":
        resume_queue(site.engine, "steps", by="ann", via="cli", reason=None)
    else:
        site.database.call("delete from remand.pauses")
        site.database.call(
            "insert into remand.audit_log (id, at, by, via, verb, kind, subject)"
            " values (remand.new_uuid7(), %s, 'ann', 'cli', 'queue.resume', 'queue', 'steps')",
            (site.clock.now,),
        )


@pytest.mark.parametrize("how", ["new code", "old code"])
def test_a_resume_is_known_without_the_audit_log(site: Harness, how: str) -> None:
    live(site, 60)
    resumed(site, how)
    live(site, 30)
    site.database.call("delete from remand.audit_log")

    assert moved(site) == 0
    live(site, DAY + 60)
    assert moved(site) == 1
