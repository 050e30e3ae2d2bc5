"""The counts of dead letters are current after a sweep, whether or not anybody looks."""

from __future__ import annotations

from app.engine.sweeps.tally import tally
from remand.errors import PermanentError
from tests.support.engine import Harness
from tests.support.shapes import always, shape


def counted(harness: Harness) -> list[tuple[int, int]]:
    return [
        (row[0], row[1])
        for row in harness.database.call(
            "select (select sum(open_letters) from remand.dead_letter_groups)::int,"
            " (select coalesce(sum(opened), 0) from remand.dead_letter_hours)::int"
        )
    ]


def test_a_sweep_counts_each_letter_once(harness: Harness) -> None:
    harness.publish(shape("one", {"a": ()}))
    harness.play(a=always(PermanentError("no")))
    harness.submit_many("t/one", range(3))
    harness.run_until_quiet()
    assert counted(harness) == [(0, 0)]

    assert tally(harness.engine) == 0
    assert counted(harness) == [(3, 3)]

    tally(harness.engine)
    assert counted(harness) == [(3, 3)]
