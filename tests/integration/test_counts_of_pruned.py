"""A letter that is deleted is in no status any more; that it was there stays counted. Source: D6."""

from __future__ import annotations

from remand.errors import PermanentError
from remand_app.engine.operate import Who, give_up_letter
from remand_app.engine.statistics import statistics
from remand_app.store import group_search
from tests.support.engine import Harness
from tests.support.shapes import always, shape


def test_the_counts_since_ever_outlive_the_letters(harness: Harness) -> None:
    harness.publish(shape("one", {"a": ()}))
    harness.play(a=always(PermanentError("no")))
    harness.submit_many("t/one", range(3))
    harness.run_until_quiet()
    ids = harness.database.call("select id from remand.dead_letters order by id")
    for (letter_id,) in ids[:2]:
        give_up_letter(harness.engine, letter_id, Who("ann", "no"))
    before = statistics(harness.engine)

    harness.database.call("delete from remand.dead_letters where closed_at is not null")

    after = statistics(harness.engine)
    assert (
        (after.open, after.opened, after.closed) == (before.open, before.opened, before.closed) == (1, 3, 2)
    )
    assert after.mean_seconds_to_close == before.mean_seconds_to_close
    assert {one.name: one.now for one in after.by_status} == {"pending": 1, "permanently_failed": 0}
    assert [(one.open, one.now, one.ever) for one in after.by_reason] == [(1, 1, 3)]
    [group] = group_search.list_page(harness.database).items
    assert (group.letters, group.open_letters) == (3, 1)
