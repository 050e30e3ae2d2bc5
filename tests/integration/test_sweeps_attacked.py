"""Every sweep ends in the same state, whether it ran in peace, died at each of its statements, or ran three
times at once on a server whose time zone is another. Source: D8, cases of kinds P and T.
"""

from __future__ import annotations

import pytest

from remand_app.store.database import Database
from tests.support.invariants import check_invariants
from tests.support.sweeps import SWEEPS, Strike, in_peace, outcome, scene, swept
from tests.support.threads import together, values

MOST_DEATHS = 500


class Killed(BaseException):
    """What nobody handles, as a process that is killed handles nothing; what it had not committed is lost."""


def die() -> None:
    raise Killed


@pytest.mark.parametrize("name", SWEEPS)
def test_a_sweep_that_dies_at_each_statement_is_ended_by_the_next(
    fresh_database: Database, name: str
) -> None:
    wanted = in_peace(fresh_database, name)
    harness = scene(fresh_database)
    sweep, death = swept(harness, name), Strike(die)

    died = 0
    with death.reach(fresh_database):
        for statement in range(MOST_DEATHS):
            death.left = statement
            try:
                sweep()
            except Killed:
                died += 1
                check_invariants(fresh_database)
            else:
                break
    sweep()

    assert 0 < died < MOST_DEATHS
    assert outcome(harness) == wanted


@pytest.mark.parametrize("name", SWEEPS)
def test_three_sweeps_at_once_do_what_one_does_whatever_the_time_zone(
    fresh_database: Database, name: str
) -> None:
    wanted = in_peace(fresh_database, name)
    harness = scene(fresh_database)
    [[called]] = fresh_database.call("select current_database()")
    fresh_database.call(f"alter database {called} set timezone = 'Pacific/Kiritimati'")
    fresh_database.engine.dispose()
    # Our connections name their own, whatever the database says.
    assert fresh_database.call("show timezone") == [("UTC",)]

    values(together(*[swept(harness, name)] * 3))
    swept(harness, name)()

    assert outcome(harness) == wanted
