"""Beat's scheduler: what is overdue rings at once, what is held stays due, nothing piles up."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from kombu.exceptions import OperationalError

from remand_app.beat_schedule import BEAT_SCHEDULE
from remand_app.config import Settings
from remand_app.domain.queues import MAINTENANCE
from remand_app.runtime import Runtime
from remand_app.store.database import Database
from remand_workers import beat, process
from remand_workers.celery import make_app
from tests.support.bell import RecordingBell
from tests.support.engine import Harness

NOBODY = "postgresql://nobody@127.0.0.1:1/nowhere"


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


class Beat:
    """A scheduler on kombu's broker in memory, which this process alone sees."""

    def __init__(self, settings: Settings) -> None:
        self.app = make_app(settings)
        self.app.conf.update(
            broker_url="memory://", broker_read_url="memory://", broker_write_url="memory://",
            broker_transport_options={}, beat_scheduler=None,
        )  # fmt: skip
        self.empty()
        self.scheduler = beat.Scheduler(self.app)

    def run(self, *, age_seconds: float = 0.0) -> list[str]:
        """Let it ring all that is due, as if so long had passed; return what rang, and take it."""
        for entry in self.scheduler.schedule.values():
            entry.last_run_at -= timedelta(seconds=age_seconds)
        self.scheduler._heap = None
        while self.scheduler.tick() == 0:
            pass
        return self.empty()

    def lying(self) -> int:
        with self.app.connection_for_read() as connection:
            return int(connection.default_channel._size(MAINTENANCE))

    def empty(self) -> list[str]:
        """Take every tick, and the names of the sweeps they ring."""
        names = []
        with self.app.connection_for_read() as connection:
            queue = self.app.amqp.queues[MAINTENANCE](connection.default_channel)
            queue.declare()
            while (message := queue.get(no_ack=True)) is not None:
                names.append(message.headers["task"].removeprefix("remand.sweep."))
        return names


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(beat, "time", made)
    return made


@pytest.fixture
def ready(
    harness: Harness, database_url: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Beat]:
    settings = harness.settings.model_copy(update={"database_url": database_url})
    runtime = Runtime(settings, bell=RecordingBell())
    monkeypatch.setattr(beat, "settings", settings)
    monkeypatch.setattr(process, "runtime", lambda: runtime)
    monkeypatch.setattr(beat, "WAITING_AT_MOST", 100)
    yield Beat(settings)
    runtime.database.dispose()


def went_well(database: Database, name: str, ago_seconds: float) -> None:
    database.call(
        "insert into remand.sweep_runs"
        " (name, last_started_at, last_success_at, last_duration_seconds, worker)"
        " select %s, t, t, 0, gen_random_uuid()"
        " from (select clock_timestamp() - make_interval(secs => %s) t) x",
        (name, ago_seconds),
    )


def test_what_never_went_well_and_what_is_overdue_rings_at_once(ready: Beat, harness: Harness) -> None:
    went_well(harness.database, "archive", 10_000)
    went_well(harness.database, "prune", 100)
    went_well(harness.database, "partitions", -500)

    assert set(ready.run()) == set(BEAT_SCHEDULE) - {"prune", "partitions"}
    assert ready.run() == [], "and then in its time"
    assert "prune" in ready.run(age_seconds=harness.settings.interval_seconds("prune") - 90)


def test_a_beat_that_lives_shorter_than_an_interval_rings_what_it_must(ready: Beat, harness: Harness) -> None:
    seconds = harness.settings.interval_seconds("archive")
    went_well(harness.database, "archive", seconds - 5)
    assert "archive" not in ready.run()
    harness.database.call("update remand.sweep_runs set last_success_at = last_success_at - interval '10 s'")

    assert "archive" in Beat(harness.settings).run()


def test_without_a_database_it_starts_and_asks_until_it_knows(
    ready: Beat, harness: Harness, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = process.runtime
    away = Runtime(harness.settings.model_copy(update={"database_url": NOBODY}), bell=RecordingBell())
    monkeypatch.setattr(process, "runtime", lambda: away)
    assert ready.run() == []
    assert set(ready.run(age_seconds=2)) == {"ring", "rescue", "redrive"}, "by its own clock meanwhile"

    monkeypatch.setattr(process, "runtime", known)
    assert "archive" not in ready.run()
    clock.now += beat.ASK_SECONDS
    assert "archive" in ready.run()


def test_told_no_database_all_is_due_at_once(ready: Beat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beat, "settings", beat.settings.model_copy(update={"database_url": None}))

    assert set(ready.run()) == set(BEAT_SCHEDULE)


def test_while_nobody_listens_a_few_ticks_wait_and_all_others_stay_due(
    ready: Beat, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beat, "WAITING_AT_MOST", 3)
    heard: set[str] = set()
    for _ in range(50):
        ready.scheduler._heap = None
        while ready.scheduler.tick() == 0:
            pass
        assert ready.lying() == 3
        clock.now += 2
    for _ in range(len(BEAT_SCHEDULE)):
        heard |= set(ready.empty())
        clock.now += 2
        ready.scheduler._heap = None
        while ready.scheduler.tick() == 0:
            pass

    assert heard == set(BEAT_SCHEDULE), "once somebody listens, each gets its turn"


def test_a_tick_that_the_broker_does_not_take_stays_due(
    ready: Beat, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OperationalError("OOM command not allowed when used memory > 'maxmemory'.")

    with monkeypatch.context() as broken:
        broken.setattr(beat.CeleryScheduler, "send_task", full)
        broken.setattr("celery.app.task.Task.apply_async", full)
        assert ready.run() == []
    clock.now += 2

    assert set(ready.run()) == set(BEAT_SCHEDULE)


def test_a_broker_that_is_away_holds_the_ticks(
    ready: Beat, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_queue: str) -> int:
        raise ConnectionRefusedError

    with monkeypatch.context() as broken:
        broken.setattr(ready.scheduler, "_waiting", away)
        assert ready.run() == []
    clock.now += 2

    assert set(ready.run()) == set(BEAT_SCHEDULE)
