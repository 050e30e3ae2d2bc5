"""The partitions of the live tables, in Postgres. Source: D4."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from remand_app.domain.partitions import Interval, whole_period
from remand_app.store import partitions as stored
from remand_app.store.database import Database
from remand_app.store.tables import PARTITIONED


def test_a_new_database_has_the_month_of_now_and_two_more(database: Database) -> None:
    found = stored.periods(database)

    this = whole_period(Interval.MONTHLY, datetime.now(UTC))
    following = whole_period(Interval.MONTHLY, this.ends_at)
    last = whole_period(Interval.MONTHLY, following.ends_at)
    assert [one.period for one in found] == [this, following, last]
    assert all(one.attached and one.tables == PARTITIONED and one.bytes > 0 for one in found)


def test_a_table_that_is_attached_nowhere_is_told_from_one_that_is(fresh_database: Database) -> None:
    name = stored.periods(fresh_database)[0].name
    fresh_database.call(f"alter table remand.steps detach partition remand.steps_{name}")

    first, second, _ = stored.periods(fresh_database)
    homes = {one.table: one.home for one in stored.catalogue(fresh_database) if one.name == name}

    assert (first.attached, first.tables) == (False, ("workflows", "attempts", "history"))
    assert second.attached
    assert second.starts_at - first.starts_at > timedelta(days=27)
    assert homes == {"workflows": "live", "steps": "none", "attempts": "live", "history": "live"}
