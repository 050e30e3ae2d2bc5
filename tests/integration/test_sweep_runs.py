from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from structlog.testing import capture_logs

from remand_app import beat_schedule
from remand_app.domain.errors import DatabaseUnreachable
from remand_app.engine.engine import Engine
from remand_app.engine.sweeps.ring import ring
from remand_app.engine.sweeps.runs import LOG_SECONDS, MESSAGE_LENGTH, NOTE_SECONDS, SweepRuns
from remand_app.store import sweep_runs
from remand_app.store.database import Database
from remand_app.store.ids import new_id
from remand_app.store.sweep_runs import SweepRun
from remand_workers import maintenance, process
from remand_workers.celery import app as celery_app
from tests.support.engine import Harness
from tests.support.shapes import shape

ONE = shape("one", {"a": ()})


class Process:
    """A process of a maintenance worker, and its own clock."""

    def __init__(self, harness: Harness, worker: UUID | None = None) -> None:
        self.harness = harness
        self.at = 1000.0
        self.worker = worker or new_id()
        self.runs = SweepRuns(harness.engine, self.worker, monotonic=lambda: self.at)

    def advance(self, seconds: float) -> None:
        self.at += seconds
        self.harness.clock.advance(seconds)

    def sweep(self, moved: int = 0, takes: float = 0.0) -> None:
        def good(engine: Engine) -> int:
            self.advance(takes)
            return moved

        self.runs.run("ring", good)

    def fail(self, error: Exception | None = None) -> None:
        raised = error or ValueError("broken")

        def bad(engine: Engine) -> int:
            raise raised

        with pytest.raises(type(raised)):
            self.runs.run("ring", bad)


@pytest.fixture
def process_(harness: Harness) -> Process:
    return Process(harness)


def row(database: Database) -> SweepRun:
    [found] = sweep_runs.sweep_runs(database)
    return found


def versions(database: Database) -> str:
    return str(database.call("select xmin from remand.sweep_runs where name = 'ring'")[0][0])


def test_a_run_is_noted_with_when_how_long_and_what_it_moved(harness: Harness, process_: Process) -> None:
    begun = harness.clock.now
    process_.sweep(moved=3, takes=1.5)

    found = row(harness.database)
    assert (found.name, found.runs, found.failures, found.moved, found.worker) == (
        "ring", 1, 0, 3, process_.worker
    )  # fmt: skip
    assert (found.last_started_at, found.last_success_at) == (begun, begun + timedelta(seconds=1.5))
    assert (found.last_duration_seconds, found.last_moved, found.last_moved_at) == (
        1.5, 3, begun + timedelta(seconds=1.5)
    )  # fmt: skip
    assert (found.failures_in_a_row, found.failing_since, found.last_error) == (0, None, None)


def test_runs_that_move_nothing_are_added_up_and_noted_now_and_then(
    harness: Harness, process_: Process
) -> None:
    process_.sweep()
    first = versions(harness.database)
    for _ in range(int(NOTE_SECONDS) - 1):
        process_.advance(1)
        process_.sweep()
    assert versions(harness.database) == first

    process_.advance(1)
    process_.sweep()
    assert versions(harness.database) != first
    assert row(harness.database).runs == int(NOTE_SECONDS) + 1
    assert row(harness.database).last_success_at == harness.clock.now


def test_what_moved_something_is_noted_at_once_and_remembered(harness: Harness, process_: Process) -> None:
    process_.sweep()
    process_.advance(1)
    process_.sweep(moved=2)
    moved_at = harness.clock.now
    process_.advance(NOTE_SECONDS)
    process_.sweep()

    found = row(harness.database)
    assert (found.last_moved, found.last_moved_at, found.moved) == (2, moved_at, 2)


def test_a_failure_is_noted_at_once_and_comes_through(harness: Harness, process_: Process) -> None:
    process_.sweep()
    well = row(harness.database).last_success_at
    process_.advance(1)
    process_.fail(ValueError("no such thing"))

    found = row(harness.database)
    assert (found.failures, found.failures_in_a_row) == (1, 1)
    assert (found.last_error, found.last_error_message) == ("ValueError", "no such thing")
    assert found.failing_since == found.last_failed_at == harness.clock.now
    assert found.last_success_at == well


def test_the_first_failure_of_a_row_stays_its_begin(harness: Harness, process_: Process) -> None:
    process_.fail()
    since = harness.clock.now
    for _ in range(3):
        process_.advance(NOTE_SECONDS)
        process_.fail(OSError("other"))

    found = row(harness.database)
    assert (found.failures_in_a_row, found.failing_since, found.last_error) == (4, since, "OSError")
    assert found.last_success_at is None


def test_a_good_run_ends_the_failures_at_once_and_keeps_the_last_error(
    harness: Harness, process_: Process
) -> None:
    process_.fail()
    process_.advance(1)
    process_.sweep()

    found = row(harness.database)
    assert (found.failures_in_a_row, found.failing_since, found.failures) == (0, None, 1)
    assert (found.last_success_at, found.last_error) == (harness.clock.now, "ValueError")


def test_secrets_and_what_postgres_cannot_store_stay_out_of_the_message(
    harness: Harness, process_: Process
) -> None:
    process_.fail(ValueError("at postgresql://me:geheim@db/x \0 \ud800 " + "x" * 1000))

    told = row(harness.database).last_error_message or ""
    assert "geheim" not in told
    assert "\N{REPLACEMENT CHARACTER}" in told
    assert len(told) == MESSAGE_LENGTH


def test_two_processes_add_up_in_one_row(harness: Harness) -> None:
    one, other = Process(harness), Process(harness)
    one.sweep(moved=1)
    other.sweep(moved=2)
    other.fail()

    found = row(harness.database)
    assert (found.runs, found.failures, found.moved, found.worker) == (3, 1, 3, other.worker)

    one.advance(1)
    one.sweep(moved=1)
    assert row(harness.database).failures_in_a_row == 0


def test_failures_of_two_processes_are_one_row(harness: Harness) -> None:
    one, other = Process(harness), Process(harness)
    one.fail()
    since = harness.clock.now
    harness.clock.advance(2)
    other.fail()

    found = row(harness.database)
    assert (found.failures_in_a_row, found.failing_since) == (2, since)


def test_a_failure_is_logged_and_then_ever_more_seldom(process_: Process) -> None:
    with capture_logs() as logs:
        for _ in range(100):
            process_.fail()
            process_.advance(1)

    failed = [one for one in logs if one["event"] == "sweep.failed"]
    assert [one["failing_seconds"] for one in failed] == [0, LOG_SECONDS, 3 * LOG_SECONDS, 7 * LOG_SECONDS]
    assert [one["failures"] for one in failed] == [1, 11, 31, 71]
    assert failed[0]["sweep"] == "ring"
    assert failed[0]["log_level"] == "error"
    assert (failed[0]["error"], failed[0]["reason"]) == ("ValueError", "broken")
    assert isinstance(failed[0]["exc_info"], ValueError)


def test_that_it_goes_well_again_is_logged_once(process_: Process) -> None:
    process_.fail()
    process_.advance(4)
    with capture_logs() as logs:
        process_.sweep()
        process_.sweep()

    assert [one["event"] for one in logs] == ["sweep.recovered"]
    assert (logs[0]["failures"], logs[0]["failing_seconds"]) == (1, 4)

    with capture_logs() as logs:
        process_.fail()
    assert [one["failures"] for one in logs if one["event"] == "sweep.failed"] == [1]


def test_while_the_database_is_away_runs_are_kept_and_noted_afterwards(
    harness: Harness, process_: Process
) -> None:
    process_.sweep()
    process_.advance(1)
    away = Database("postgresql://nobody@127.0.0.1:1/none")
    runs = process_.runs
    here = runs._engine
    runs._engine = _elsewhere(here, away)
    for _ in range(20):
        with pytest.raises(DatabaseUnreachable):
            runs.run("ring", ring)
        process_.advance(1)
    failed_at = harness.clock.now - timedelta(seconds=1)
    runs._engine = here
    assert row(harness.database).failures == 0

    process_.sweep()
    found = row(harness.database)
    assert (found.runs, found.failures, found.failures_in_a_row) == (22, 20, 0)
    assert (found.last_error, found.last_failed_at) == ("DatabaseUnreachable", failed_at)
    assert (found.failing_since, found.last_success_at) == (None, harness.clock.now)


def test_a_good_sweep_whose_note_fails_stays_good(harness: Harness, process_: Process) -> None:
    runs = process_.runs
    here = runs._engine
    runs._engine = _elsewhere(here, Database("postgresql://nobody@127.0.0.1:1/none"))
    with capture_logs() as logs:
        assert runs.run("ring", lambda engine: 4) == 4
    assert [(one["event"], one["sweep"]) for one in logs] == [("sweep.unnoted", "ring")]

    runs._engine = here
    process_.advance(NOTE_SECONDS)
    process_.sweep()
    assert (row(harness.database).moved, row(harness.database).last_moved) == (4, 4)


def _elsewhere(engine: Engine, database: Database) -> Engine:
    return Engine(database, engine.templates, engine.bell, engine.clock, engine.settings, engine.jitter)


def test_a_write_of_the_row_makes_no_new_index_entry(harness: Harness, process_: Process) -> None:
    assert harness.database.call(
        "select count(*) from pg_indexes where schemaname = 'remand' and tablename = 'sweep_runs'"
    ) == [(1,)]
    process_.sweep(moved=1)
    page = "select (ctid::text::point)[0] from remand.sweep_runs"
    before = harness.database.call(page)
    for _ in range(10):
        process_.sweep(moved=1)
    assert harness.database.call(page) == before


class Recorder:
    def __init__(self) -> None:
        self.names: list[str] = []

    def run(self, name: str, sweep: Any) -> int:
        self.names.append(name)
        return 0


@pytest.mark.parametrize("name", list(beat_schedule.BEAT_SCHEDULE))
def test_every_sweep_that_beat_rings_is_noted_under_its_name(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder()
    monkeypatch.setattr(process, "sweeps", lambda: recorder)
    task = celery_app.tasks[beat_schedule.BEAT_SCHEDULE[name].task]

    task()

    assert recorder.names == [name]


def test_a_sweep_that_fails_is_a_failed_task_for_celery(
    harness: Harness, process_: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(engine: Engine) -> int:
        raise ValueError("broken")

    monkeypatch.setattr(process, "sweeps", lambda: process_.runs)
    monkeypatch.setattr("remand_app.engine.sweeps.ring.ring", broken)

    result = maintenance.TASKS["ring"].apply()

    assert result.state == "FAILURE"
    assert isinstance(result.result, ValueError)
    assert row(harness.database).failures_in_a_row == 1


def test_a_sweep_tells_what_it_moved(harness: Harness, process_: Process) -> None:
    harness.play(a=lambda ctx: (_ for _ in ()).throw(ConnectionResetError("reset")))
    harness.publish(ONE)
    harness.submit("t/one")
    harness.run_until_quiet()
    process_.runs.run("ring", ring)
    assert row(harness.database).moved == 0

    harness.advance(3600)
    process_.runs.run("ring", ring)
    assert row(harness.database).moved == 1
