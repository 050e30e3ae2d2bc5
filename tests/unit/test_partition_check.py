"""What may be wrong with partitions. Source: D4."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remand_app.domain.partition_check import MANY, TABLES, DefaultRows, Fault, Home, Partition, find_faults
from remand_app.domain.partitions import Interval, Period, missing_periods, whole_period
from remand_app.store.tables import PARTITIONED

NOW = datetime(2026, 11, 28, 9, 30, tzinfo=UTC)
CLEAN = tuple(DefaultRows(table, 0, 0) for table in TABLES)


def month(text: str) -> Period:
    return whole_period(Interval.MONTHLY, datetime.fromisoformat(f"{text}-01").replace(tzinfo=UTC))


def laid(periods: Iterable[Period], home: Home = "live") -> list[Partition]:
    return [
        Partition(table, one.name, home, one.starts_at, one.ends_at, 0, 0)
        for one in periods
        for table in TABLES
    ]


def good() -> list[Partition]:
    return laid(map(month, ("2026-10", "2026-11", "2026-12", "2027-01")))


def found(partitions: Sequence[Partition], defaults: Sequence[DefaultRows] = CLEAN) -> list[Fault]:
    return find_faults(partitions, defaults, 2, NOW)


def codes(partitions: Sequence[Partition], defaults: Sequence[DefaultRows] = CLEAN) -> list[str]:
    return [one.code for one in found(partitions, defaults)]


def without(period: str, table: str = "") -> list[Partition]:
    return [one for one in good() if (one.name, one.table) != (period, table or one.table)]


def changed(period: str, table: str, **changes: object) -> list[Partition]:
    return [
        replace(one, **changes) if (one.name, one.table) == (period, table) else one  # type: ignore[arg-type]
        for one in good()
    ]


def test_the_tables_are_those_of_the_store() -> None:
    assert TABLES == PARTITIONED


def test_nothing_is_wrong_with_what_is_whole() -> None:
    assert found(good()) == []


def test_no_period_for_now_is_a_failure() -> None:
    assert codes(without("2026_11")) == ["current_missing"]


def test_a_gap_before_now_is_none_for_it_is_what_the_archive_leaves() -> None:
    old = laid([month("2026-03"), month("2026-07")])

    assert codes([*old, *good()]) == []


def test_a_gap_ahead_is_a_failure_with_its_days() -> None:
    [fault] = found([*without("2026_12"), *laid([month("2027-02")])])

    assert (fault.code, fault.level) == ("gap", "fail")
    assert "2026-12-01 to 2027-01-01" in fault.meaning
    assert fault.remedy == "remand partitions create"


def test_few_ahead_is_worth_a_word_and_none_ahead_is_a_failure() -> None:
    assert [(one.code, one.level) for one in found(without("2027_01"))] == [("few_ahead", "warn")]
    last = laid([month("2026-11")])
    assert [(one.code, one.level) for one in found(last)] == [("next_missing", "fail")]


def test_a_database_without_any_period_says_what_to_do() -> None:
    assert codes([]) == ["current_missing", "next_missing"]


@pytest.mark.parametrize("table", TABLES)
def test_a_table_of_a_period_is_missing(table: str) -> None:
    [fault] = found(without("2026_12", table))

    assert (fault.code, fault.level, fault.remedy) == ("table_missing", "fail", "remand partitions create")
    assert table in fault.meaning


def test_bounds_that_differ_between_tables_are_told_once_for_each() -> None:
    shifted = changed("2026_12", "history", ends_at=datetime(2026, 12, 31, tzinfo=UTC))

    faults = found(shifted)

    assert {one.code for one in faults} == {"bounds_differ"}
    assert any("history" in one.meaning and "2026-12-31" in one.meaning for one in faults)


def test_periods_of_different_tables_that_overlap_are_found() -> None:
    week = whole_period(Interval.WEEKLY, datetime(2026, 12, 10, tzinfo=UTC))
    steps = Partition("steps", week.name, "live", week.starts_at, week.ends_at, 0, 0)

    assert "overlap" in codes([*without("2026_12", "steps"), steps])


def test_a_detached_table_comes_with_the_statement_that_attaches_it() -> None:
    [fault] = found(changed("2026_12", "steps", home="none", starts_at=None, ends_at=None))

    assert (fault.code, fault.level) == ("detached", "fail")
    assert "attach partition remand.steps_2026_12 for values from" in fault.remedy
    assert "2026-12-01T00:00:00+00:00" in fault.remedy


def test_tables_of_a_period_that_is_nowhere_else_are_looked_at_by_a_person() -> None:
    loose = [replace(one, home="none", starts_at=None, ends_at=None) for one in laid([month("2026-05")])]

    faults = found([*good(), *loose])

    assert [one.code for one in faults] == ["detached"] * 4
    assert all("attach it to the archive or drop it" in one.remedy for one in faults)


def test_archived_periods_are_no_matter_unless_they_overlap_a_live_one() -> None:
    assert codes([*good(), *laid([month("2026-05")], "archive")]) == []
    week = whole_period(Interval.WEEKLY, datetime(2026, 10, 1, tzinfo=UTC))
    assert codes([*good(), *laid([week], "archive")]) == ["archive_overlap"]


def test_bounds_that_are_no_ids_are_told() -> None:
    assert codes([*good(), Partition("steps", "2020_01", "live", None, None, 0, 0)]) == ["bounds_unreadable"]


def test_rows_later_than_every_period_are_trouble_and_older_ones_are_not() -> None:
    behind = (DefaultRows("workflows", 70, 0), *CLEAN[1:])
    beyond = (DefaultRows("workflows", 0, 1), *CLEAN[1:])

    assert codes(good(), behind) == []
    [fault] = found(good(), beyond)
    assert (fault.code, fault.level) == ("default_beyond", "fail")
    assert "1 row of workflows" in fault.meaning
    assert "clock" in fault.remedy


def test_rows_that_came_before_their_period_are_put_right_by_creating_it() -> None:
    beyond = (DefaultRows("workflows", 0, 5), *CLEAN[1:])

    faults = found(laid([month("2026-09")]), beyond)

    assert {one.remedy for one in faults} == {"remand partitions create"}


def test_very_many_old_rows_are_worth_a_word() -> None:
    many = (*CLEAN[:1], DefaultRows("steps", MANY + 1, 0), *CLEAN[2:])

    [fault] = found(good(), many)

    assert (fault.code, fault.level) == ("default_many", "warn")
    assert "more than 10000 rows" in fault.meaning


def test_a_table_without_a_default_partition_refuses_what_has_no_period() -> None:
    [fault] = found(good(), CLEAN[1:])

    assert fault.code == "default_missing"
    assert fault.remedy == "create table remand.workflows_default partition of remand.workflows default"


@given(
    st.sampled_from(Interval), st.integers(1, 5),
    st.datetimes(timezones=st.just(UTC), min_value=NOW.replace(tzinfo=None, year=2000),
                 max_value=NOW.replace(tzinfo=None, year=2100)),
)  # fmt: skip
def test_what_the_sweep_makes_is_never_found_fault_with(
    interval: Interval, ahead: int, now: datetime
) -> None:
    made = list(missing_periods(interval, ahead, now, []))

    assert find_faults(laid(made), CLEAN, ahead, now) == []
    # Whatever table is lost, it is seen.
    for lost in laid(made):
        assert find_faults([one for one in laid(made) if one != lost], CLEAN, ahead, now) != []
