"""Finished workflows go to the archive and come back, whole, whoever works meanwhile. Source: D5."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from types import ModuleType
from typing import Any
from uuid import UUID

import pytest
from structlog.testing import capture_logs

from remand.errors import PermanentError
from remand_app.domain.archive import Stay, Way
from remand_app.domain.errors import (
    ArchiveMismatch,
    IllegalMove,
    PeriodNotFound,
    WorkflowArchived,
    WorkflowNotFound,
)
from remand_app.domain.partitions import Interval, whole_period
from remand_app.engine import archive as archiving
from remand_app.engine import operate
from remand_app.engine.archive import ArchiveResult, plan, run
from remand_app.engine.archive_restore import restore, restore_period
from remand_app.engine.operate import Who
from remand_app.engine.operate.open_by_hand import open_dead_letter
from remand_app.engine.submit import SubmitRequest, submit
from remand_app.engine.sweeps.archive import archive
from remand_app.resources.archive import periods
from remand_app.store import archive_moves, archive_periods, new_periods
from remand_app.store import archive_runs as books
from remand_app.store import partitions as live
from remand_app.store.archive_runs import Sums
from remand_app.store.database import Database
from remand_app.store.ids import first_id_at
from remand_app.store.new_periods import Made, Patience
from remand_app.store.steps import attempts_of, steps_of
from remand_app.store.sweep_lock import alone
from remand_app.store.workflows import find_workflow, get_workflow, moves_of, states_of
from tests.support.clock import FakeClock
from tests.support.engine import Harness, settings_for
from tests.support.refusals import refusing
from tests.support.shapes import CHAIN, always, shape

OLD = datetime(2026, 5, 10, 12, tzinfo=UTC)
MAY = whole_period(Interval.MONTHLY, OLD)
DUE = datetime(2026, 7, 2, tzinfo=UTC)
WHO = Who("ann", "she asked for it")
TABLES = ("workflows", "steps", "attempts", "history")


def in_may(database: Database, **archive: Any) -> Harness:
    """Return a harness whose clock stands in May, with the partition of that month."""
    assert isinstance(new_periods.make_period(database, MAY, datetime.now(UTC), Patience()), Made)
    harness = Harness(database, FakeClock(OLD), settings=settings_for(archive={"hold_seconds": 5, **archive}))
    harness.publish(shape("chain", CHAIN))
    return harness


@pytest.fixture
def old(fresh_database: Database) -> Harness:
    return in_may(fresh_database)


def submitted(harness: Harness, count: int, ref: str = "t/chain") -> list[UUID]:
    """Submit workflows whose ids are of the harness's time."""
    begin = first_id_at(harness.clock.now).int
    ids = [UUID(int=begin + uuid.uuid4().int % 2**60) for _ in range(count)]
    for one in ids:
        submit(harness.engine, ref, SubmitRequest({"n": 1}, id=one), by="test")
    return ids


def ended(harness: Harness, count: int, ref: str = "t/chain") -> list[UUID]:
    """The same, and let them end."""
    harness.play()
    ids = submitted(harness, count, ref)
    harness.run_until_quiet()
    return ids


def rows(database: Database, twin: str = "") -> list[int]:
    return [database.call(f"select count(*) from remand.{table}{twin}")[0][0] for table in TABLES]


def told(database: Database, workflow_id: UUID) -> list[Any]:
    """Everything that is told of a workflow."""
    found = get_workflow(database, workflow_id)
    return [
        (found.ref, found.state, found.state_since, found.input),
        moves_of(database, workflow_id),
        steps_of(database, workflow_id),
        attempts_of(database, workflow_id),
    ]


def test_a_finished_month_changes_hands_and_is_found_by_id_as_it_was(old: Harness) -> None:
    ids = ended(old, 3)
    before, counts = [told(old.database, one) for one in ids], rows(old.database)
    old.clock.now = DUE

    swept = archive(old.engine)

    assert (swept.workflows, swept.periods, swept.stayed, swept.is_finished) == (3, 1, 0, True)
    assert rows(old.database) == [0, 0, 0, 0]
    assert rows(old.database, "_archive") == counts
    assert [told(old.database, one) for one in ids] == before
    assert all(get_workflow(old.database, one).is_archived for one in ids)
    assert find_workflow(old.database, str(ids[0])[:30]).id == ids[0]
    assert states_of(old.database, ids) == dict.fromkeys(ids, "complete")
    [done] = books.runs(old.database, limit=10)
    assert (done.kind, done.path, done.period, done.by) == ("archive", "period", "2026_05", "archive")
    assert done.verified_at is not None
    assert done.lock_ms is not None
    assert [done.workflows, done.steps, done.attempts, done.history] == counts
    assert archive(old.engine) == ArchiveResult()


def test_nothing_goes_before_its_time(old: Harness) -> None:
    ended(old, 1)
    old.clock.now = datetime(2026, 6, 30, 23, 59, tzinfo=UTC)

    assert archive(old.engine) == ArchiveResult()
    assert plan(old.engine) == []


def test_who_is_not_over_stays_behind_and_follows_by_itself(old: Harness) -> None:
    gone = ended(old, 2)
    [straggler] = submitted(old, 1)
    old.clock.now = DUE

    assert plan(old.engine)[0].stay == {Stay.LIVE: 1}
    swept = archive(old.engine)

    assert (swept.workflows, swept.periods, swept.stayed) == (2, 1, 1)
    assert [get_workflow(old.database, one).is_archived for one in (*gone, straggler)] == [True, True, False]
    assert old.database.call("select id from remand.workflows_default") == [(straggler,)]
    old.worker.beat()
    old.run_until_quiet()
    assert get_workflow(old.database, straggler).state == "complete"
    assert archive(old.engine).workflows == 0
    old.clock.advance(days=31)
    assert plan(old.engine)[0].period == "default"
    assert archive(old.engine).workflows == 1
    assert get_workflow(old.database, straggler).is_archived
    [one] = periods(old.database)
    assert (one.period, one.workflows, one.moved_whole, one.verified) == ("2026_05", 3, True, True)


def test_an_open_investigation_keeps_its_workflow_live(old: Harness) -> None:
    ended(old, 1)
    old.play(a=always(PermanentError("no")))
    [sick] = submitted(old, 1)
    old.run_until_quiet()
    old.clock.now = DUE

    assert archive(old.engine).stayed == 1
    assert not get_workflow(old.database, sick).is_archived
    operate.cancel(old.engine, sick, WHO)
    assert archive(old.engine).workflows == 0
    old.clock.advance(days=31)
    assert archive(old.engine).workflows == 1
    assert get_workflow(old.database, sick).state == "cancelled"


def test_where_too_many_stay_for_good_the_others_go_in_batches_and_then_the_partition(
    fresh_database: Database,
) -> None:
    old = in_may(fresh_database, most_stragglers=1, batch_size=2)
    old.publish(shape("kept", CHAIN, archive={"complete": "keep"}))
    gone, kept = ended(old, 5), ended(old, 2, "t/kept")
    before = [told(old.database, one) for one in gone]
    old.clock.now = DUE

    [planned] = plan(old.engine)
    swept = archive(old.engine)

    assert (planned.way, planned.go, planned.stay) == (Way.BATCH, 5, {Stay.KEPT: 2})
    assert (swept.workflows, swept.periods) == (5, 0)
    assert [told(old.database, one) for one in gone] == before
    assert [get_workflow(old.database, one).is_archived for one in (*gone, *kept)] == [True] * 5 + [False] * 2
    assert [one.way for one in plan(old.engine)] == [Way.STAY]
    [found] = archive_periods.listed(old.database)
    assert (found.name, found.is_whole) == ("2026_05", False)
    assert fresh_database.call("select count(*) from remand.workflows_archive_default") == [(0,)]


def test_a_period_that_has_nothing_left_but_few_is_dropped(fresh_database: Database) -> None:
    old = in_may(fresh_database, most_stragglers=1)
    ended(old, 3)
    stragglers = submitted(old, 2)
    old.clock.now = DUE
    assert archive(old.engine).workflows == 3
    operate.cancel(old.engine, stragglers[0], WHO)
    old.clock.advance(days=31)

    swept = archive(old.engine)

    assert (swept.workflows, swept.stayed) == (1, 1)
    assert [one.name for one in live.periods(old.database) if one.name == "2026_05"] == []
    assert not get_workflow(old.database, stragglers[1]).is_archived
    assert rows(old.database, "_archive")[0] == 4


def test_an_archived_workflow_is_not_to_be_changed(old: Harness) -> None:
    [one] = ended(old, 1)
    old.clock.now = DUE
    archive(old.engine)
    verbs: list[Callable[[], object]] = [
        lambda: operate.cancel(old.engine, one, WHO),
        lambda: operate.pause_workflow(old.engine, one, WHO),
        lambda: operate.resume_workflow(old.engine, one, WHO),
        lambda: operate.restart_from(old.engine, one, "a", WHO),
        lambda: operate.retry_step(old.engine, one, "a", WHO),
        lambda: open_dead_letter(old.engine, one, WHO),
    ]

    for verb in verbs:
        with pytest.raises(WorkflowArchived) as refused:
            verb()
        assert refused.value.hint == f"bring it back first: remand archive restore {one}"


def test_a_submit_that_repeats_an_archived_id_makes_nothing(old: Harness) -> None:
    [one] = ended(old, 1)
    old.clock.now = DUE
    archive(old.engine)

    again = submit(old.engine, "t/chain", SubmitRequest({"n": 1}, id=one), by="test")

    assert (again.workflow_id, again.created) == (one, False)
    assert rows(old.database) == [0, 0, 0, 0]


def test_workflows_come_back_one_by_one_and_stay_for_the_retention(old: Harness) -> None:
    ids = ended(old, 3)
    before = told(old.database, ids[0])
    old.clock.now = DUE
    archive(old.engine)

    assert restore(old.engine, [ids[0]], WHO).workflows == 1

    assert told(old.database, ids[0]) == before
    assert not get_workflow(old.database, ids[0]).is_archived
    assert old.database.call('select verb, "by", reason from remand.audit_log') == [
        ("archive.restore", "ann", "she asked for it")
    ]
    assert archive(old.engine).workflows == 0
    old.clock.advance(days=31)
    assert archive(old.engine).workflows == 1
    assert get_workflow(old.database, ids[0]).is_archived
    with pytest.raises(WorkflowNotFound):
        restore(old.engine, [first_id_at(DUE)], WHO)


def test_what_is_live_is_not_restored_nor_what_was_asked_for_with_it(old: Harness) -> None:
    [one] = ended(old, 1)
    old.clock.now = DUE
    archive(old.engine)
    [running] = submitted(old, 1)

    with pytest.raises(IllegalMove, match="is not archived"):
        restore(old.engine, [one, running], WHO)

    assert get_workflow(old.database, one).is_archived
    operate.cancel(old.engine, running, WHO)


def test_a_whole_month_comes_back_with_what_had_stayed(old: Harness) -> None:
    ids = ended(old, 3)
    [straggler] = submitted(old, 1)
    before, counts = [told(old.database, one) for one in (*ids, straggler)], rows(old.database)
    old.clock.now = DUE
    archive(old.engine)

    back = restore_period(old.engine, "2026_05", WHO)

    assert (back.workflows, back.path) == (3, "period")
    assert rows(old.database) == counts
    assert rows(old.database, "_archive") == [0, 0, 0, 0]
    assert [told(old.database, one) for one in (*ids, straggler)] == before
    assert old.database.call("select count(*) from remand.workflows_default") == [(0,)]
    assert archive(old.engine).workflows == 0
    old.clock.advance(days=31)
    assert archive(old.engine).workflows == 3
    with pytest.raises(PeriodNotFound):
        restore_period(old.engine, "1999_01", WHO)


def test_a_month_that_came_in_batches_comes_back_in_batches(fresh_database: Database) -> None:
    old = in_may(fresh_database, most_stragglers=0)
    ids = ended(old, 3)
    [straggler] = submitted(old, 1)
    old.clock.now = DUE
    archive(old.engine)

    back = restore_period(old.engine, "2026_05", WHO)

    assert (back.workflows, back.path) == (3, "batch")
    assert not any(get_workflow(old.database, one).is_archived for one in (*ids, straggler))
    assert archive(old.engine).workflows == 0


def test_two_at_once_archive_once(old: Harness) -> None:
    ended(old, 5)
    counts = rows(old.database)
    old.clock.now = DUE

    with ThreadPoolExecutor(2) as pool:
        swept = list(pool.map(lambda _: archive(old.engine), range(2)))

    assert sum(one.workflows for one in swept) == 5
    assert rows(old.database, "_archive") == counts


def test_a_second_sweep_leaves_the_first_alone(old: Harness) -> None:
    ended(old, 1)
    old.clock.now = DUE

    with alone(old.database, "archive") as first:
        assert first
        assert archive(old.engine) == ArchiveResult(is_alone=False)


class Killed(BaseException):
    """The process is gone."""


@pytest.mark.parametrize(
    ("module", "where"),
    [
        (archive_periods, "promise_bounds"),
        (archive_moves, "sums"),
        (archive_moves, "hand_over"),
        (books, "note_verified"),
    ],
)
def test_killed_half_way_the_next_sweep_goes_on(
    old: Harness, monkeypatch: pytest.MonkeyPatch, module: ModuleType, where: str
) -> None:
    ended(old, 3)
    counts = rows(old.database)
    old.clock.now = DUE

    def kill(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(module, where, kill)
        with pytest.raises(Killed):
            archive(old.engine)
    archive(old.engine)

    assert rows(old.database) == [0, 0, 0, 0]
    assert rows(old.database, "_archive") == counts
    [one] = books.runs(old.database, limit=10)
    assert one.verified_at is not None


def test_killed_between_two_batches_the_next_sweep_goes_on(
    fresh_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = in_may(fresh_database, most_stragglers=0, batch_size=1)
    ended(old, 3)
    submitted(old, 1)
    counts = rows(old.database)
    old.clock.now = DUE
    move_batch = archive_moves.move_batch
    left = [1]

    def once(*arguments: Any, **named: Any) -> Any:
        if not left:
            raise Killed
        left.pop()
        return move_batch(*arguments, **named)

    with monkeypatch.context() as patched:
        patched.setattr(archive_moves, "move_batch", once)
        with pytest.raises(Killed):
            archive(old.engine)
    assert rows(old.database, "_archive")[0] == 1
    assert archive(old.engine).workflows == 2
    assert [a + b for a, b in zip(rows(old.database), rows(old.database, "_archive"), strict=True)] == counts


def test_a_period_that_arrives_as_something_else_is_handed_back(
    old: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = ended(old, 2)
    counts = rows(old.database)
    old.clock.now = DUE
    sums, first = archive_moves.sums, [True]

    def wrong(*arguments: Any) -> Sums:
        found = sums(*arguments)
        if first:
            first.clear()
            return Sums(found.counts, found.checksum + 1)
        return found

    with monkeypatch.context() as patched:
        patched.setattr(archive_moves, "sums", wrong)
        with pytest.raises(ArchiveMismatch):
            archive(old.engine)

    assert rows(old.database) == counts
    assert rows(old.database, "_archive") == [0, 0, 0, 0]
    assert not get_workflow(old.database, ids[0]).is_archived


def test_who_restores_while_it_is_counted_again_is_not_taken_for_a_loss(
    old: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = ended(old, 3)
    old.clock.now = DUE
    sums, calls = archive_moves.sums, []

    def slow(*arguments: Any) -> Sums:
        calls.append(arguments)
        if len(calls) == 2:
            restore(old.engine, ids[:1], WHO)
        return sums(*arguments)

    monkeypatch.setattr(archive_moves, "sums", slow)
    assert archive(old.engine).workflows == 3

    assert [get_workflow(old.database, one).is_archived for one in ids] == [False, True, True]
    assert books.unverified(old.database) == []


def test_a_period_that_cannot_go_holds_no_other_up(fresh_database: Database) -> None:
    old = in_may(fresh_database, most_stragglers=0)
    june = whole_period(Interval.MONTHLY, DUE - timedelta(days=20))
    assert isinstance(new_periods.make_period(fresh_database, june, datetime.now(UTC), Patience()), Made)
    ended(old, 1)
    [live_one] = submitted(old, 1)
    old.clock.now = june.starts_at
    old.publish(shape("other", {"o": ()}))
    others = submitted(old, 2, "t/other")
    old.clock.now = DUE
    assert archive(old.engine).workflows == 1
    for one in (live_one, *others):
        operate.cancel(old.engine, one, WHO)
    fresh_database.call(
        "insert into remand.attempts (workflow_id, step, attempt, outcome, ended_at)"
        " values (%s, 'a', 1, 'failed', now())",
        (first_id_at(OLD),),
    )
    old.clock.now = DUE.replace(month=9)

    with pytest.raises(ArchiveMismatch, match="rows of no workflow"):
        archive(old.engine)

    assert all(get_workflow(old.database, one).is_archived for one in others)


def test_a_batch_of_which_rows_are_lost_never_happened(fresh_database: Database) -> None:
    old = in_may(fresh_database, most_stragglers=0)
    ended(old, 2)
    submitted(old, 1)
    counts = rows(old.database)
    old.clock.now = DUE
    fresh_database.call(
        "create function public.lose() returns trigger language plpgsql as"
        " 'begin if new.name = ''b'' then return null; end if; return new; end';"
        "create trigger lose before insert on remand.steps_archive"
        " for each row execute function public.lose()"
    )

    with pytest.raises(ArchiveMismatch, match="rows before"):
        archive(old.engine)

    assert rows(old.database) == counts
    assert rows(old.database, "_archive") == [0, 0, 0, 0]
    fresh_database.call("drop trigger lose on remand.steps_archive; drop function public.lose()")
    assert archive(old.engine).workflows == 2


def test_who_is_acted_on_after_the_look_does_not_go(old: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    old.play(b=always(PermanentError("no")))
    [one] = submitted(old, 1)
    old.run_until_quiet()
    operate.give_up_letter(old.engine, old.open_letter(one).id, WHO)
    old.clock.now = DUE
    sums = archive_moves.sums
    acted: list[object] = []

    def between(*arguments: Any) -> Sums:
        if not acted:
            acted.append(operate.restart_from(old.engine, one, "b", WHO))
        return sums(*arguments)

    monkeypatch.setattr(archive_moves, "sums", between)
    swept = archive(old.engine)

    assert acted
    assert swept.workflows == 0
    assert not get_workflow(old.database, one).is_archived


def test_a_long_transaction_of_somebody_puts_it_off_and_nobody_waits_long(fresh_database: Database) -> None:
    old = in_may(fresh_database, hold_seconds=0.05)
    ended(old, 1)
    old.clock.now = DUE

    with fresh_database.begin() as reader:
        reader.exec_driver_sql("select count(*) from remand.workflows")
        assert archive(old.engine).workflows == 0
    old.settings.archive.__dict__["hold_seconds"] = 5.0
    assert archive(old.engine).workflows == 1


def test_an_empty_period_leaves_nothing_behind(old: Harness) -> None:
    old.clock.now = DUE

    assert archive(old.engine) == ArchiveResult()
    assert [one.name for one in live.periods(old.database) if one.name == "2026_05"] == []
    assert archive_periods.listed(old.database) == []


def test_counts_stay_the_same_whatever_goes_where(fresh_database: Database) -> None:
    old = in_may(fresh_database, most_stragglers=2)
    ids: Sequence[UUID] = [*ended(old, 4), *submitted(old, 1)]
    for _ in range(4):
        old.clock.advance(days=31)
        run(old.engine, by="ann")
        live_ids = {row[0] for row in old.database.call("select id from remand.workflows")}
        archived = {row[0] for row in old.database.call("select id from remand.workflows_archive")}
        assert live_ids | archived == set(ids)
        assert not live_ids & archived


def test_a_look_needs_no_archive(old: Harness) -> None:
    ended(old, 2)
    old.clock.now = DUE

    [planned] = plan(old.engine)

    assert (planned.period, planned.way, planned.go, planned.stay) == ("2026_05", Way.PERIOD, 2, {})
    assert rows(old.database)[0] == 2
    archiving.verify_pending(old.engine)


@pytest.mark.parametrize(("year", "archived"), [(1970, True), (2100, False), (9999, False)])
@pytest.mark.usefixtures("ids_of_any_month")
def test_an_id_of_a_wild_clock_is_found_and_goes_no_earlier_than_planned(
    old: Harness, year: int, archived: bool
) -> None:
    old.play()
    one = UUID(int=first_id_at(datetime(year, 1, 1, tzinfo=UTC)).int + 5)
    submit(old.engine, "t/chain", SubmitRequest({"n": 1}, id=one), by="test")
    old.run_until_quiet()
    old.clock.now = DUE
    planned = sum(one.go for one in plan(old.engine))

    assert archive(old.engine).workflows == planned == archived

    assert find_workflow(old.database, str(one)).id == one
    assert get_workflow(old.database, one).is_archived == archived
    assert not submit(old.engine, "t/chain", SubmitRequest({"n": 1}, id=one), by="test").created


@pytest.mark.parametrize("most_stragglers", [0, 200])
def test_a_period_that_was_made_late_goes_where_the_first_of_it_went(
    fresh_database: Database, most_stragglers: int
) -> None:
    old = Harness(
        fresh_database,
        FakeClock(OLD),
        settings=settings_for(archive={"hold_seconds": 5, "most_stragglers": most_stragglers}),
    )
    old.publish(shape("chain", CHAIN))
    [first] = ended(old, 1)
    [late] = submitted(old, 1)
    old.clock.now = DUE
    assert archive(old.engine).workflows == 1
    assert isinstance(new_periods.make_period(fresh_database, MAY, datetime.now(UTC), Patience()), Made)
    old.run_until_quiet()
    old.clock.now = DUE.replace(month=9)
    assert [(one.way, one.go) for one in plan(old.engine)] == [(Way.BATCH, 1)]

    assert archive(old.engine).workflows == 1

    assert all(get_workflow(old.database, one).is_archived for one in (first, late))
    assert [one.name for one in live.periods(old.database) if one.ends_at <= DUE] == []
    held = {one.period: one.workflows for one in periods(old.database)}
    assert held == {books.DEFAULT: 2, MAY.name: 0}
    restore(old.engine, [first, late], WHO)
    assert rows(old.database, "_archive") == [0, 0, 0, 0]


def test_live_work_goes_on_while_the_archive_waits_for_a_reader(fresh_database: Database) -> None:
    old = in_may(fresh_database, hold_seconds=0.1)
    ended(old, 1)
    old.clock.now = DUE
    waits = []

    with fresh_database.begin() as reader, ThreadPoolExecutor(1) as threads:
        reader.exec_driver_sql("select count(*) from remand.workflows")
        swept = threads.submit(archive, old.engine)
        while not swept.done():
            began = time.monotonic()
            old.submit("t/chain")
            waits.append(time.monotonic() - began)
        assert swept.result().workflows == 0

    assert len(waits) > 1
    assert max(waits) < 2


def test_a_batch_passes_over_the_workflow_that_it_breaks_on(fresh_database: Database) -> None:
    harness = Harness(fresh_database, FakeClock(OLD), settings=settings_for(archive={"batch_size": 3}))
    harness.publish(shape("chain", CHAIN))
    ids = sorted(ended(harness, 5))
    harness.clock.now = DUE

    with capture_logs() as lines, refusing(fresh_database, "insert on remand.steps_archive", ids[1]):
        run(harness.engine)

    assert rows(fresh_database)[0] == 1
    assert rows(fresh_database, "_archive")[0] == 4
    assert {line["workflow_id"] for line in lines if line["event"] == "sweep.passed_over"} == {str(ids[1])}
    run(harness.engine)
    assert rows(fresh_database, "_archive")[0] == 5
