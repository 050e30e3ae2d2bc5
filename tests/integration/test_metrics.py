"""The numbers of the site, as Prometheus reads them: from a known state, exactly. Source: E5."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from remand import PermanentError, RetryableError
from remand_app.beat_schedule import BEAT_SCHEDULE
from remand_app.domain.access import Permission
from remand_app.domain.dead_letter_filter import LetterFilter
from remand_app.domain.errors import DatabaseUnreachable
from remand_app.engine import archive, redrive
from remand_app.engine.last_look import LastLook
from remand_app.engine.operate import Who, claim_letter, give_up_letter, requeue_letter, resolve_letter
from remand_app.engine.operate import groups as group_verbs
from remand_app.engine.operate.breakers import open_breaker
from remand_app.engine.pauses import pause_queue
from remand_app.engine.site_metrics import KEPT_SECONDS, look
from remand_app.engine.sweeps.rescue import rescue
from remand_app.engine.sweeps.runs import Sweep, SweepRuns
from remand_app.engine.sweeps.stale import stale
from remand_app.server import create
from remand_app.store import group_search
from remand_app.store import partitions as stored
from remand_app.store.database import Database
from remand_app.store.ids import new_id
from remand_app.store.tables import PARTITIONED
from remand_app.telemetry import metrics as m
from remand_app.telemetry import metrics_buffer
from remand_app.telemetry.exposition import Exposed, written
from remand_app.telemetry.metrics_buffer import Series
from tests.support.clock import FakeClock
from tests.support.engine import Harness, make_engine, settings_for
from tests.support.numbers import Numbers
from tests.support.shapes import always, shape
from tests.support.web import Web

ANN = Who("ann", "looked into")
ONE = shape("one", {"a": ()}, retry={"max_attempts": 2})
FAR = shape("far", {"a": ()}, each={"a": {"queue": "far", "dependency": "ledger"}})
RESET = ConnectionResetError("reset")
Scrape = Callable[[], Numbers]


@pytest.fixture(autouse=True)
def _stopped() -> Iterator[None]:
    yield
    metrics_buffer.stop()


@pytest.fixture
def scrape(web: Web) -> Scrape:
    """Ask a server that has just started: it has no look of before."""
    token = web.program("viewer", scopes=[Permission.METRICS_READ]).headers["Authorization"]

    def ask() -> Numbers:
        web.app = create(web.runtime)
        answer = web.nobody().get("/metrics", headers={"Authorization": token})
        assert answer.status_code == 200, answer.text
        return Numbers.of(answer.text)

    return ask


def test_it_is_read_with_a_token_for_nothing_else(web: Web) -> None:
    scraper = web.program("viewer", scopes=[Permission.METRICS_READ])
    answer = scraper.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain")
    assert Numbers.of(answer.text).families == {name.removesuffix("_total") for name in m.METRICS}
    assert scraper.get("/api/v1/queues").status_code == 403
    assert web.nobody().get("/metrics").status_code == 401


def test_an_empty_site_has_numbers_too(scrape: Scrape) -> None:
    found = scrape()

    [((version, schema), one)] = found.all("info").items()
    assert (bool(version), bool(schema), one) == (True, True, 1)
    assert found.nonzero("queue_steps") == {}
    assert found.one("queue_workers", "steps") == 0
    assert found.one("dlq_oldest_open_seconds") == 0
    assert found.all("dlq_size") == found.all("workflows") == found.all("workers") == {}
    assert {name for (name,) in found.all("sweep_interval_seconds")} == set(BEAT_SCHEDULE)
    assert found.one("dlq_closed_total", "requeued", "permanent_failure") == 0, (
        "else its first has no increase"
    )
    assert found.all("sweep_last_success_timestamp_seconds") == {}, "nobody has listened yet: nothing is late"
    assert (found.one("workers_lost_total"), found.one("partition_creation_failures_total")) == (0, 0)
    assert found.one("look_duration_seconds") > 0


# queues and workers


def test_queues_tell_what_lies_in_them_and_how_long(harness: Harness, scrape: Scrape) -> None:
    harness.publish(ONE)
    harness.publish(FAR)
    harness.submit_many("t/one", range(3))
    harness.worker.queue.claim("steps", 1)
    harness.submit("t/far")
    pause_queue(harness.engine, "far", by="ann")
    harness.advance(90)

    found = scrape()

    assert found.nonzero("queue_steps") == {
        ("steps", "ready"): 2, ("steps", "claimed"): 1, ("far", "ready"): 1,
    }  # fmt: skip
    assert found.nonzero("queue_due_steps") == {("steps",): 2, ("far",): 1}
    assert found.nonzero("queue_oldest_due_seconds") == {("steps",): 90, ("far",): 90}
    assert found.all("queue_paused") == {("far",): 1}
    assert found.one("queue_workers", "far") == 0, "a queue with work and nobody to do it is told with 0"
    assert found.nonzero("queue_workers") == {(queue,): 1 for queue in harness.queues}
    assert found.all("workflows") == {("steps_in_process",): 4}


def test_failures_wait_for_their_worker_and_then_for_their_instant(harness: Harness, scrape: Scrape) -> None:
    harness.publish(ONE)
    harness.play(a=always(RESET))
    harness.submit("t/one")
    harness.drain()

    assert scrape().nonzero("queue_steps") == {("retry.exponential", "failed"): 1}

    harness.drain_failures("exponential")
    found = scrape()
    assert sum(found.nonzero("queue_steps").values()) == 1
    assert [phase for _, phase in found.nonzero("queue_steps")] == ["waiting"]
    assert found.nonzero("queue_due_steps") == {}, "its instant has not come"
    assert found.all("workflows") == {("waiting_for_retry",): 1}


def test_workers_tell_what_they_run_and_how_busy_they_are(harness: Harness, scrape: Scrape) -> None:
    harness.publish(ONE)
    harness.submit("t/one")
    harness.worker.queue.claim("steps", 1)
    steps = harness.new_worker("steps", "far", hostname="w2@test")
    harness.new_worker("remand.maintenance", hostname="m@test")
    harness.database.call(
        "update remand.workers set concurrency = 4, code_version = 'v7' where id = %s", (steps.id,)
    )

    found = scrape()

    assert found.all("workers") == {("test", ""): 2, ("test", "v7"): 1}
    assert found.one("worker_slots") == 5, "that of maintenance runs no step"
    assert found.one("worker_busy_slots") == 1
    assert (found.one("queue_workers", "steps"), found.one("queue_workers", "far")) == (2, 1)


def test_lost_workers_and_their_attempts_are_counted_for_ever(harness: Harness, scrape: Scrape) -> None:
    harness.publish(ONE)
    harness.submit_many("t/one", range(3))
    harness.new_worker().queue.claim("steps", 3)
    harness.clock.advance(3600)

    SweepRuns(harness.engine, new_id()).run("rescue", rescue)
    SweepRuns(harness.engine, new_id()).run("rescue", rescue)

    found = scrape()
    assert (found.one("workers_lost_total"), found.one("attempts_rescued_total")) == (1, 3)


# what is held back


def test_a_breaker_tells_its_state_since_when_and_what_it_holds(harness: Harness, scrape: Scrape) -> None:
    harness.publish(FAR)
    open_breaker(harness.engine, "ledger", by="ann")
    harness.submit_many("t/far", range(2))
    harness.sweep_ring()
    harness.advance(45)

    found = scrape()

    assert found.all("breaker_state") == {
        ("ledger", "open"): 1, ("ledger", "closed"): 0, ("ledger", "half_open"): 0,
    }  # fmt: skip
    assert found.one("breaker_state_seconds", "ledger") == 45
    assert found.one("breaker_held_steps", "ledger") == 2
    assert found.nonzero("queue_steps") == {("far", "held"): 2}
    assert found.nonzero("queue_due_steps") == {}, "what a breaker holds is nobody's to take"


# dead letters


def test_dead_letters_are_counted_by_what_they_are_and_what_became_of_them(
    harness: Harness, scrape: Scrape
) -> None:
    harness.publish(ONE)
    harness.play(a=lambda ctx: _raise(PermanentError("no") if ctx.input < 4 else RetryableError("busy")))
    ids = harness.submit_many("t/one", range(5))
    for one in ids:
        harness.run_to_end(one)
    letters = [harness.open_letter(one).id for one in ids]
    opened = max(harness.open_letter(one).opened_at for one in ids)
    harness.advance(600)
    claim_letter(harness.engine, letters[0], ANN)
    requeue_letter(harness.engine, letters[1], ANN)
    give_up_letter(harness.engine, letters[2], ANN)
    resolve_letter(harness.engine, letters[3], ANN)
    [(spent,)] = harness.database.call(
        "select sum(extract(epoch from closed_at - opened_at))::float from remand.dead_letters"
    )

    found = scrape()

    never, exponential = ("permanent", "never", "default"), ("transient", "exponential", "default")
    assert found.nonzero("dlq_entries_total") == {
        ("permanent_failure", *never): 4, ("max_retries_exceeded", *exponential): 1,
    }  # fmt: skip
    assert found.nonzero("dlq_size") == {
        ("permanent_failure", "investigating", "default"): 1,
        ("max_retries_exceeded", "pending", "default"): 1,
    }
    assert found.nonzero("dlq_closed_total") == {
        ("requeued", "permanent_failure"): 1,
        ("permanently_failed", "permanent_failure"): 1,
        ("manually_resolved", "permanent_failure"): 1,
    }
    assert sum(found.all("dlq_close_seconds_total").values()) == pytest.approx(spent, abs=3)
    assert found.nonzero("dlq_requeues_total") == {("permanent_failure",): 1}
    assert found.nonzero("dlq_permanent_failures_total") == {("permanent_failure",): 1}
    assert found.nonzero("dlq_requeues_failed_total") == {}
    oldest = min(harness.open_letter(one).opened_at for one in (ids[0], ids[4]))
    assert oldest <= opened
    assert found.one("dlq_oldest_open_seconds") == (harness.clock.now - oldest).total_seconds()
    assert found.all("dlq_size_limit") == {("default",): settings_for().dlq.size_limit}

    harness.run_until_quiet()
    again = scrape()
    assert again.nonzero("dlq_requeues_failed_total") == {("permanent_failure",): 1}
    assert again.nonzero("dlq_entries_total")["permanent_failure", *never] == 5


def test_what_was_counted_of_letters_outlives_them(harness: Harness, scrape: Scrape) -> None:
    harness.publish(ONE)
    harness.play(a=always(PermanentError("no")))
    ids = harness.submit_many("t/one", range(3))
    harness.run_until_quiet()
    for one in ids[:2]:
        give_up_letter(harness.engine, harness.open_letter(one).id, ANN)
    before = scrape().totals()

    harness.database.call("delete from remand.dead_letters where closed_at is not null")

    after = scrape().totals()
    for key, value in before.items():
        if key[0].startswith("remand_dlq_"):
            assert after[key] == value, key


def test_groups_tell_how_many_are_open_and_overdue(harness: Harness, scrape: Scrape) -> None:
    harness.publish(ONE)
    harness.play(a=lambda ctx: _raise(PermanentError(ctx.input)))
    harness.submit_many("t/one", ["no money", "no card", "no name"])
    harness.run_until_quiet()
    scrape()
    one, two, three = group_search.list_page(harness.database).items
    group_verbs.claim_group(harness.engine, one.id, ANN)
    group_verbs.set_due(harness.engine, one.id, harness.clock.now + timedelta(hours=1), ANN)
    group_verbs.set_due(harness.engine, two.id, harness.clock.now + timedelta(hours=9), ANN)
    harness.advance(hours=2)

    found = scrape()

    assert found.all("dlq_groups") == {("investigating",): 1, ("open",): 2}
    assert found.one("dlq_overdue_groups") == 1
    assert three.due_at is None


def test_redrives_that_have_not_ended_are_told_by_state(harness: Harness, scrape: Scrape) -> None:
    harness.publish(ONE)
    harness.play(a=always(PermanentError("no")))
    harness.submit_many("t/one", range(2))
    harness.run_until_quiet()
    for _ in range(2):
        made = redrive.plan(harness.engine, LetterFilter(), ANN, everything=True).redrive
    redrive.start(harness.engine, made.id, ANN)

    assert scrape().all("redrives") == {("planned",): 1, ("running",): 1}


# sweeps and partitions


def swept(harness: Harness, name: str, sweep: Sweep, seconds: float = 0) -> None:
    """Run a sweep in a process that has just started: it is noted at once."""
    at = iter([100.0, 100.0 + seconds])
    SweepRuns(harness.engine, new_id(), monotonic=lambda: next(at)).run(name, sweep)


def test_a_sweep_tells_when_it_went_well_how_long_it_took_and_how_it_fails(
    harness: Harness, scrape: Scrape
) -> None:
    def broken(_: Any) -> int:
        raise ValueError("broken")

    harness.new_worker("remand.maintenance")
    listens_since = harness.clock.now
    harness.advance(10)
    swept(harness, "requeue", lambda _: 3, seconds=1.5)
    well = harness.clock.now
    swept(harness, "expire", lambda _: 2)
    harness.advance(60)
    for _ in range(2):
        with pytest.raises(ValueError, match="broken"):
            swept(harness, "expire", broken)

    found = scrape()

    assert found.all("sweep_last_success_timestamp_seconds") == {
        **{(name,): listens_since.timestamp() for name in BEAT_SCHEDULE},
        ("requeue",): well.timestamp(),
        ("expire",): well.timestamp(),
    }
    assert found.one("sweep_last_duration_seconds", "requeue") == 1.5
    assert found.all("sweep_runs_total") == {("requeue",): 1, ("expire",): 3}
    assert found.all("sweep_moved_total") == {("requeue",): 3, ("expire",): 2}
    assert found.nonzero("sweep_failures_total") == {("expire",): 2}
    assert found.nonzero("sweep_failures_in_a_row") == {("expire",): 2}
    settings = settings_for()
    assert found.all("sweep_interval_seconds") == {
        (name,): getattr(settings, entry.interval) for name, entry in BEAT_SCHEDULE.items()
    }


def test_partitions_tell_how_far_they_reach_and_how_large_they_are(
    fresh_database: Database, clock: FakeClock
) -> None:
    harness = Harness(fresh_database, clock)
    clock.now = datetime.now(UTC)
    first, second, last = stored.periods(fresh_database)

    def look() -> Numbers:
        return told(harness)

    found = look()
    assert found.one("partitions_ahead") == 2
    assert found.one("partition_headroom_seconds") == (last.ends_at - clock.now).total_seconds()
    assert set(found.all("table_bytes")) == {(table, "live") for table in PARTITIONED}

    fresh_database.call(f"alter table remand.steps detach partition remand.steps_{second.name}")
    found = look()
    assert found.one("partitions_ahead") == 0, "a period that one table lacks is a gap"
    assert found.one("partition_headroom_seconds") == (first.ends_at - clock.now).total_seconds()
    assert found.one("table_bytes", "steps", "none") > 0

    clock.now = last.ends_at + timedelta(days=1)
    found = look()
    assert (found.one("partitions_ahead"), found.one("partition_headroom_seconds")) == (0, 0)


def test_the_sweep_of_partitions_tells_what_it_made_and_how_often_it_failed(
    harness: Harness, scrape: Scrape
) -> None:
    def busy(_: Any) -> int:
        raise DatabaseUnreachable("gone")

    swept(harness, "partitions", lambda _: ["workflows_2027_01", "steps_2027_01"])
    with pytest.raises(DatabaseUnreachable):
        swept(harness, "partitions", busy)

    found = scrape()
    assert (found.one("partitions_created_total"), found.one("partition_creation_failures_total")) == (2, 1)


def test_what_was_archived_is_counted_for_ever(harness: Harness, scrape: Scrape) -> None:
    for _ in range(2):
        swept(harness, "archive", lambda _: archive.ArchiveResult(workflows=5, periods=1, stayed=2))

    found = scrape()
    assert (found.one("workflows_archived_total"), found.one("partitions_detached_total")) == (10, 2)


def test_warnings_of_what_will_be_stale_are_counted_once_each(harness: Harness, scrape: Scrape) -> None:
    harness.worker.beat()
    harness.publish(FAR)
    harness.submit_many("t/far", range(3))
    harness.advance(1500)
    for _ in range(2):
        swept(harness, "stale", lambda _: stale(harness.engine))

    assert scrape().one("stale_warnings_total") == 3


# how it is asked


def told(harness: Harness) -> Numbers:
    """A look at the database of a harness, as text and back."""
    series = look(harness.engine)
    body, _ = written(Exposed(lambda: series, "database"), "")
    return Numbers.of(body.decode())


def test_a_look_is_good_for_a_few_seconds_and_then_taken_anew(harness: Harness) -> None:
    at = 100.0
    last = LastLook[Series](KEPT_SECONDS, seconds=lambda: at)
    harness.publish(ONE)
    key = ("remand_queue_due_steps", ("steps",))
    assert last.get(lambda: look(harness.engine))[key] == [0]
    harness.submit("t/one")

    at += KEPT_SECONDS - 0.1
    assert last.get(lambda: look(harness.engine))[key] == [0]
    at += 0.2
    assert last.get(lambda: look(harness.engine))[key] == [1]


def test_a_database_that_is_away_is_an_error_and_no_old_numbers(harness: Harness) -> None:
    at = 100.0
    last = LastLook[Series](KEPT_SECONDS, seconds=lambda: at)
    last.get(lambda: look(harness.engine))
    away = Database("postgresql://nobody@127.0.0.1:1/x")
    engine = make_engine(away, harness.clock, harness.bell, harness.settings)

    at += KEPT_SECONDS + 1
    with pytest.raises(DatabaseUnreachable):
        last.get(lambda: look(engine))
    away.dispose()


def test_what_the_server_itself_counts_is_told_with_the_rest(web: Web) -> None:
    client = web.program("viewer", scopes=[Permission.METRICS_READ])
    metrics_buffer.count(m.BELLS, "steps", "sent")

    found = Numbers.of(client.get("/metrics").text)

    assert found.all("bells_total") == {("steps", "sent"): 1}


def test_how_old_it_was_is_counted_of_what_went_stale(harness: Harness, web: Web) -> None:
    client = web.program("viewer", scopes=[Permission.METRICS_READ])
    harness.worker.beat()
    harness.publish(FAR)
    harness.submit_many("t/far", range(3))
    harness.advance(2000)

    assert stale(harness.engine).letters == 3
    assert stale(harness.engine).letters == 0

    found = Numbers.of(client.get("/metrics").text)
    assert found.all("time_until_stale_seconds_count") == {("worker_unavailable",): 3}
    assert found.one("time_until_stale_seconds_sum", "worker_unavailable") == 6000


def _raise(error: Exception) -> None:
    raise error
