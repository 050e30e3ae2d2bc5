"""New partitions beside live work: locks, lost connections, rows that came too early. Source: D4, P05-P09."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa

from remand_app.domain.errors import Busy, DatabaseUnreachable
from remand_app.domain.partitions import Period
from remand_app.engine.partitions import faults
from remand_app.engine.sweeps import partitions as sweep_module
from remand_app.engine.sweeps.partitions import partitions
from remand_app.store import new_periods
from remand_app.store import partitions as stored
from remand_app.store.database import Database
from remand_app.store.ids import first_id_at, new_id
from remand_app.store.new_periods import Made, Patience, TooMuch, make_period
from remand_app.store.tables import PARTITIONED
from tests.support.clock import FakeClock
from tests.support.engine import Harness, settings_for
from tests.support.invariants import check_invariants
from tests.support.locks import in_background, wait_for_waiter
from tests.support.shapes import CHAIN, fails, shape
from tests.support.threads import together, values

pytestmark = pytest.mark.usefixtures("ids_of_any_month")

MARCH = datetime(2031, 3, 10, 12, tzinfo=UTC)
RESET = ConnectionResetError("reset")


def id_at(instant: datetime) -> UUID:
    """A new id of a workflow that is made at an instant."""
    return UUID(int=first_id_at(instant).int | (new_id().int & (2**62 - 1)))


@pytest.fixture
def late(fresh_database: Database) -> Harness:
    """A system whose clock is years beyond the last partition."""
    harness = Harness(fresh_database, clock=FakeClock(MARCH))
    harness.publish(shape("chain", CHAIN))
    harness.play()
    return harness


def fallen(harness: Harness, count: int = 1) -> list[UUID]:
    """Submit workflows that fall into the default partitions, for want of their period."""
    return [harness.submit("t/chain", id=id_at(harness.clock.now)) for _ in range(count)]


def homes(database: Database) -> dict[str, int]:
    """How many workflows each partition has."""
    return dict(database.call("select tableoid::regclass::text, count(*) from remand.workflows group by 1"))


def tables_of(database: Database) -> dict[str, set[str]]:
    """Which tables each period has, attached or not."""
    found: dict[str, set[str]] = {}
    for one in stored.catalogue(database):
        found.setdefault(one.name, set()).add(one.table)
    return found


# Locks


def test_it_waits_for_no_lock_for_long_and_changes_nothing_then(late: Harness) -> None:
    before = tables_of(late.database)
    with late.database.begin() as report:
        report.exec_driver_sql("select count(*) from remand.workflows")

        with pytest.raises(Busy):
            partitions(late.engine)

    assert tables_of(late.database) == before


def test_it_tries_again_and_has_its_way_once_the_others_are_done(late: Harness) -> None:
    with late.database.begin() as report:
        report.exec_driver_sql("select count(*) from remand.steps")
        with in_background(lambda: partitions(late.engine)) as ends:
            wait_for_waiter(late.database, "remand.%")
            report.rollback()

    assert len(ends[0]) == 12


def test_whoever_queues_up_behind_it_goes_on_when_it_gives_up(late: Harness) -> None:
    """P09: a reader holds the table, the change waits for it, and everybody else waits for the change."""
    period = Period("2031_03", MARCH.replace(day=1, hour=0), datetime(2031, 4, 1, tzinfo=UTC))
    [workflow_id] = fallen(late)
    with late.database.begin() as report:
        report.exec_driver_sql("select count(*) from remand.workflows")
        make = partial(
            stored.change_tables, late.database, pause=lambda _: None, attempts=1, wait_seconds=0.5
        )
        with in_background(lambda: make(lambda c: c.exec_driver_sql(new_periods._STRONG))) as ends:
            wait_for_waiter(late.database, "remand.workflows")
            with in_background(lambda: late.workflow(workflow_id)) as seen:
                wait_for_waiter(late.database, "remand.workflows", 2)

    assert isinstance(ends[0], Busy)
    assert seen[0].state == "steps_in_process"
    assert isinstance(make_period(late.database, period, MARCH, Patience()), Made)


def test_a_coming_period_is_made_while_live_work_of_this_one_holds_its_rows(late: Harness) -> None:
    """Only who looks at all partitions is in its way: never a claim or a settlement by id."""
    partitions(late.engine)
    workflow_id = late.submit("t/chain", id=id_at(MARCH))
    with late.database.begin() as busy:
        busy.exec_driver_sql("select 1 from remand.workflows where id = %s for update", (workflow_id,))
        busy.exec_driver_sql("update remand.steps set priority = 4 where workflow_id = %s", (workflow_id,))
        late.clock.advance(days=31)

        assert len(partitions(late.engine)) == 4


def held_between(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Let something happen once the locks are held, before rows are moved."""
    really = new_periods._attach

    def attach(*arguments: Any) -> int:
        act()
        return really(*arguments)

    monkeypatch.setattr(new_periods, "_attach", attach)


def test_a_statement_that_waits_for_the_move_finds_the_row_afterwards(
    late: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It knows the partitions of before: what moved behind its back must not count as gone."""
    [workflow_id] = fallen(late)
    ends: list[Any] = []
    stack: list[Any] = []

    def touch() -> None:
        block = in_background(
            lambda: late.database.call(
                "update remand.workflows set priority = 9 where id = %s returning tableoid::regclass::text",
                (workflow_id,),
            )
        )
        ends.append(block.__enter__())
        stack.append(block)
        wait_for_waiter(late.database, "remand.workflows%")

    held_between(monkeypatch, lambda: None if stack else touch())

    partitions(late.engine)
    stack[0].__exit__(None, None, None)

    assert ends[0] == [[("remand.workflows_2031_03",)]]


def test_a_submission_that_waits_for_the_move_is_stored_where_it_belongs(
    late: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    fallen(late)
    ends: list[Any] = []
    stack: list[Any] = []

    def submit() -> None:
        block = in_background(lambda: fallen(late))
        ends.append(block.__enter__())
        stack.append(block)
        wait_for_waiter(late.database, "remand.workflows%")

    held_between(monkeypatch, lambda: None if stack else submit())

    partitions(late.engine)
    stack[0].__exit__(None, None, None)

    assert isinstance(ends[0][0], list), ends[0]
    assert homes(late.database) == {"remand.workflows_2031_03": 2}


def test_rows_that_appear_for_a_coming_period_are_moved_under_the_strong_lock(late: Harness) -> None:
    partitions(late.engine)
    late.submit("t/chain", id=id_at(datetime(2031, 6, 5, tzinfo=UTC)))
    late.clock.advance(days=31)

    partitions(late.engine)

    assert homes(late.database) == {"remand.workflows_2031_06": 1}
    check_invariants(late.database)


# Two at once, and work meanwhile


def test_a_change_waits_for_its_turn_however_short_it_waits_for_tables(database: Database) -> None:
    """Nobody waits behind it then: two sweeps that meet are no reason to fail."""
    with database.begin() as other:
        other.exec_driver_sql("select pg_advisory_xact_lock(hashtext('remand.change_tables'))")
        with in_background(
            lambda: stored.change_tables(database, lambda _: "done", attempts=1, wait_seconds=0.001)
        ) as ends:
            wait_for_waiter(database)
            other.rollback()

    assert ends == ["done"]


def test_sweeps_at_once_make_each_table_once(late: Harness) -> None:
    fallen(late, 20)

    ends = values(together(*(partial(partitions, late.engine) for _ in range(3))))

    assert sorted(name for end in ends for name in end) == sorted(
        f"{table}_2031_{month}" for table in PARTITIONED for month in ("03", "04", "05")
    )
    assert homes(late.database) == {"remand.workflows_2031_03": 20}
    assert faults(late.engine) == []


def test_workers_and_submitters_go_on_while_their_rows_are_moved(late: Harness) -> None:
    fallen(late, 40)

    def work() -> None:
        for _ in range(10):
            fallen(late, 2)
            late.worker.executor.run("steps")

    assert late.worker
    values(together(work, lambda: partitions(late.engine)))
    late.run_until_quiet()

    assert set(homes(late.database)) == {"remand.workflows_2031_03"}
    assert late.database.call("select state, count(*) from remand.workflows group by 1") == [("complete", 60)]
    check_invariants(late.database)


def test_a_step_that_is_claimed_before_the_move_is_settled_after_it(late: Harness) -> None:
    late.play(b=fails(RESET))
    [workflow_id] = fallen(late)
    late.drain()

    partitions(late.engine)

    assert late.run_to_end(workflow_id).state == "complete"
    assert homes(late.database) == {"remand.workflows_2031_03": 1}
    check_invariants(late.database)


# Death between any two statements


def killed_at(database: Database, number: int) -> Callable[[], None]:
    """End the connection's process on the server before its statement of that number; return how to stop."""
    count = 0

    def kill(connection: Any, *_: Any) -> None:
        nonlocal count
        count += 1
        if count == number:
            pid = connection.connection.driver_connection.get_backend_pid()
            database.call("select pg_terminate_backend(%s, 5000)", (pid,))

    engine = database.engine
    sa.event.listen(engine, "before_cursor_execute", kill)
    return lambda: sa.event.remove(engine, "before_cursor_execute", kill)


def test_a_sweep_that_dies_between_any_two_statements_leaves_whole_periods_alone(late: Harness) -> None:
    partitions(late.engine)
    late.clock.advance(days=120)
    ids = fallen(late, 3)
    rows = "select (select count(*) from remand.steps), (select count(*) from remand.workflows)"
    before = late.database.call(rows)
    deaths = 0
    for number in range(1, 200):
        stop = killed_at(late.database, number)
        try:
            partitions(late.engine)
            break
        except DatabaseUnreachable:
            deaths += 1
        finally:
            stop()
        assert {frozenset(tables) for tables in tables_of(late.database).values()} == {frozenset(PARTITIONED)}
        assert all(one.home == "live" for one in stored.catalogue(late.database))
        assert late.database.call(rows) == before

    assert deaths > 10
    assert faults(late.engine) == []
    assert homes(late.database) == {"remand.workflows_2031_07": 3}
    assert [late.run_to_end(one).state for one in ids] == ["complete"] * 3


# Rows that came before their period


def test_months_without_a_sweep_are_caught_up_where_rows_wait(late: Harness) -> None:
    """P05, P06: nothing was refused meanwhile, and everything lies in its month afterwards."""
    partitions(late.engine)
    for month in (7, 8, 10):
        late.clock.now = MARCH.replace(month=month)
        fallen(late, month)

    late.clock.now = MARCH.replace(month=10, day=28)
    partitions(late.engine)

    assert homes(late.database) == {f"remand.workflows_2031_{month:02}": month for month in (7, 8, 10)}
    names = [one.name for one in stored.periods(late.database)]
    # June and September had no rows, and nothing new can fall there.
    assert [name for name in names if name > "2031_05"] == [
        "2031_07",
        "2031_08",
        "2031_10",
        "2031_11",
        "2031_12",
    ]
    assert faults(late.engine) == []


def test_too_many_rows_stay_and_the_period_begins_at_midnight(
    late: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[tuple[str, Any]] = []
    monkeypatch.setattr(sweep_module, "log", lambda event, **more: said.append((event, more["partition"])))
    few = Patience(most_rows=3)
    ids = fallen(late)

    created = partitions(late.engine, few)

    assert "workflows_2031_03_from_03_11" in created
    assert ("partition.deferred", "2031_03") in said
    assert homes(late.database) == {"remand.workflows_default": 1}
    assert [one.code for one in faults(late.engine)] == ["current_missing"]
    assert late.run_to_end(ids[0]).state == "complete"

    late.clock.now = datetime(2031, 3, 11, tzinfo=UTC)
    assert partitions(late.engine, few) == []
    fallen(late)
    assert homes(late.database)["remand.workflows_2031_03_from_03_11"] == 1
    assert faults(late.engine) == []


def test_too_many_rows_of_a_month_that_is_over_stay_for_the_archive(late: Harness) -> None:
    fallen(late)
    late.clock.advance(days=31)

    created = partitions(late.engine, Patience(most_rows=3))

    assert {name.removeprefix("steps_") for name in created if name.startswith("steps_")} == {
        "2031_04", "2031_05", "2031_06",
    }  # fmt: skip
    assert homes(late.database) == {"remand.workflows_default": 1}
    assert faults(late.engine) == []


def test_a_move_that_takes_longer_than_live_work_may_wait_is_undone(late: Harness) -> None:
    late.database.call(
        "create function remand.dawdle() returns trigger language plpgsql as"
        " $$ begin perform pg_sleep(5); return old; end $$;"
        "create trigger dawdle before delete on remand.workflows_default"
        " for each row execute function remand.dawdle()"
    )
    fallen(late)
    period = Period("2031_03", datetime(2031, 3, 1, tzinfo=UTC), datetime(2031, 4, 1, tzinfo=UTC))

    answer = make_period(late.database, period, MARCH, Patience(hold_seconds=0.1))

    assert answer == TooMuch(5)
    assert homes(late.database) == {"remand.workflows_default": 1}
    assert "2031_03" not in tables_of(late.database)


def test_a_name_that_is_taken_by_a_table_apart_is_left_alone_and_told(late: Harness) -> None:
    late.database.call("create table remand.steps_2031_03 (like remand.steps including all)")

    partitions(late.engine)

    codes = {one.code for one in faults(late.engine)}
    assert codes == {"detached"}
    [march] = [one for one in stored.periods(late.database) if one.name == "2031_03"]
    assert march.tables == ("workflows", "attempts", "history")


def test_a_table_that_was_dropped_from_a_period_comes_back(late: Harness) -> None:
    partitions(late.engine)
    late.database.call("drop table remand.history_2031_04")
    assert [one.code for one in faults(late.engine)] == ["table_missing"]

    assert partitions(late.engine) == ["history_2031_04"]
    assert faults(late.engine) == []


def test_archived_periods_do_not_come_back(late: Harness) -> None:
    partitions(late.engine)
    late.clock.advance(days=62)
    partitions(late.engine)
    for table in PARTITIONED:
        late.database.call(
            f"alter table remand.{table} detach partition remand.{table}_2031_03;"
            f"drop table remand.{table}_2031_03"
        )
    late.submit("t/chain", id=id_at(MARCH))

    assert partitions(late.engine) == []
    assert homes(late.database) == {"remand.workflows_default": 1}
    assert faults(late.engine) == []


# Telling people outside

TOLD = {"notify": {"targets": [{"name": "ops", "url": "https://hook.test/x"}]}}


def told(database: Database) -> list[str]:
    query = "select subject_id from remand.notifications where kind = 'partition_missing' order by 1"
    return [row[0] for row in database.call(query)]


@pytest.fixture
def watched(late: Harness) -> Harness:
    """As `late`, with somebody who wants to be told."""
    return Harness(late.database, clock=late.clock, settings=settings_for(**TOLD))


def test_nobody_is_told_when_all_are_there(watched: Harness) -> None:
    partitions(watched.engine)

    assert told(watched.database) == []


def test_periods_that_could_not_be_made_are_told_once(watched: Harness) -> None:
    with watched.database.begin() as report:
        report.exec_driver_sql("select count(*) from remand.workflows")
        for _ in range(2):
            with pytest.raises(Busy):
                partitions(watched.engine)

    missing = ["2031_03", "2031_04", "2031_05"]
    assert [name for name in told(watched.database) if name in missing] == missing
    assert len(told(watched.database)) == len(set(told(watched.database)))
    [(payload,)] = watched.database.call(
        "select payload from remand.notifications where subject_id = '2031_04'"
    )
    assert payload["facts"] == {
        "starts_at": "2031-04-01T00:00:00+00:00",
        "ends_at": "2031-05-01T00:00:00+00:00",
    }


def test_a_period_that_was_put_off_for_too_many_rows_is_told(late: Harness, watched: Harness) -> None:
    fallen(late)

    partitions(watched.engine, Patience(most_rows=3))

    assert told(watched.database) == ["2031_03"]


# The interval, the zone, and a year


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/St_Johns", "Pacific/Kiritimati"])
def test_the_zone_of_the_session_is_no_matter(fresh_database: Database, zone: str) -> None:
    [(name,)] = fresh_database.call("select current_database()")
    fresh_database.call(f"alter database {name} set timezone to '{zone}'")
    fresh_database.dispose()
    harness = Harness(fresh_database, FakeClock(datetime(2031, 3, 1, 0, 30, tzinfo=UTC)),
                      settings=settings_for(partition_interval="daily", partitions_ahead=1))  # fmt: skip

    created = partitions(harness.engine)

    # Our connections name their own, whatever the database says.
    assert fresh_database.call("show timezone") == [("UTC",)]
    assert created[::4] == ["workflows_2031_03_01", "workflows_2031_03_02"]
    bounds = "select pg_get_expr(relpartbound, oid) from pg_class where relname = 'steps_2031_03_01'"
    begins = first_id_at(datetime(2031, 3, 1, tzinfo=UTC))
    ends = first_id_at(datetime(2031, 3, 2, tzinfo=UTC))
    assert fresh_database.call(bounds) == [(f"FOR VALUES FROM ('{begins}') TO ('{ends}')",)]


def a_year(start: datetime) -> Iterator[datetime]:
    """The instants of the sweeps of a year: some days apart, one of them a long pause."""
    at = start
    while at < start + timedelta(days=366):
        yield at
        at += timedelta(days=75 if at.month == 7 and at.day > 20 else 1, hours=5)


def test_a_year_of_sweeps_whatever_the_interval_is_set_to_meanwhile(fresh_database: Database) -> None:
    clock = FakeClock(datetime(2031, 1, 1, tzinfo=UTC))
    intervals = ("monthly", "daily", "weekly", "monthly", "weekly", "daily")
    harness = Harness(fresh_database, clock)
    harness.publish(shape("one", {"a": ()}))
    submitted = 0
    for number, at in enumerate(a_year(clock.now)):
        clock.now = at
        settings = settings_for(partition_interval=intervals[number // 40 % 6], partitions_ahead=3)
        swept = Harness(fresh_database, clock, settings=settings)
        partitions(swept.engine)
        harness.submit("t/one", id=id_at(at))
        submitted += 1
        if number % 10 == 0:
            assert faults(swept.engine) == []

    assert sum(homes(fresh_database).values()) == submitted > 200
    assert "remand.workflows_default" not in homes(fresh_database)
    assert sum(fresh_database.call("select count(*) from remand.steps")[0]) == submitted
    assert faults(swept.engine) == []


@pytest.mark.parametrize("interval", ["monthly", "weekly", "daily"])
def test_a_lookup_by_id_touches_one_partition(fresh_database: Database, interval: str) -> None:
    settings = settings_for(partition_interval=interval, partitions_ahead=5)
    harness = Harness(fresh_database, FakeClock(MARCH), settings=settings)
    partitions(harness.engine)
    harness.publish(shape("one", {"a": ()}))
    workflow_id = harness.submit("t/one", id=id_at(MARCH))
    home = {"monthly": "2031_03", "weekly": "2031_w11", "daily": "2031_03_10"}[interval]

    for table in PARTITIONED:
        key = stored.key_of(table)
        plan = "\n".join(
            row[0]
            for row in fresh_database.call(
                f"explain select * from remand.{table} where {key} = %s", (workflow_id,)
            )
        )
        assert plan.count(f"on {table}_") == 1
        assert f"on {table}_{home} " in plan
