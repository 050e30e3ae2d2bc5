"""A breaker meets every fault: it opens and closes all the same, holds what it must, and loses nothing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise
from uuid import UUID

import pytest

from remand_app.domain.states import BreakerState
from remand_app.domain.transitions import is_legal
from remand_app.engine.operate.breakers import close_breaker, open_breaker
from remand_app.store import breakers
from tests.support.own_servers import OwnPostgres
from tests.support.site import PATIENCE_SECONDS, SUPPORT, Site
from tests.support.site_fixtures import OpenSite
from tests.support.waiting import eventually

RATE = 10
SITE_SETTINGS = {
    "worker_silent_after_seconds": 5,
    "breaker": {
        "enabled": True,
        "failures": 5,
        "cool_down_seconds": 1,
        "cool_down_cap_seconds": 1,
        "release_per_second": RATE,
    },
}


@pytest.fixture
def site(open_site: OpenSite) -> Site:
    return open_site(**SITE_SETTINGS)


def start(site: Site) -> None:
    site.start_worker("steps")
    site.start_support()
    site.ready("steps", "support")


def state(site: Site) -> str:
    known = breakers.listed(site.database, "ledger")
    return known[0].breaker.state if known else BreakerState.CLOSED


def trip(site: Site, count: int = 20) -> list[UUID]:
    """Submit workflows to the dead service until its breaker is open."""
    ids = site.submit_many(count, "site/guarded")
    eventually(lambda: state(site) == BreakerState.OPEN, timeout=PATIENCE_SECONDS)
    return ids


def recover(site: Site, ids: Sequence[UUID]) -> None:
    """Bring the service back and hold the site to its promises once everything has ended."""
    (site.folder / "up").touch()
    eventually(lambda: site.states(ids) == {"complete": len(ids)}, timeout=90)
    eventually(lambda: not breakers.gating_breakers(site.database), timeout=PATIENCE_SECONDS)
    check_moves(site)
    site.settle()


def check_moves(site: Site) -> list[str]:
    moves = breakers.moves_of(site.database, "ledger", 1000)[::-1]
    assert all(is_legal("breaker", one.from_state, one.event, one.to_state) for one in moves)
    assert moves[0].from_state == BreakerState.CLOSED
    assert all(before.to_state == after.from_state for before, after in pairwise(moves))
    assert moves[-1].to_state == BreakerState.CLOSED
    return [one.event for one in moves]


def running(site: Site) -> list[UUID]:
    rows = site.database.call("select workflow_id from remand.run_queue where phase = 'claimed'")
    return [row[0] for row in rows]


def test_worker_that_runs_the_probe_is_killed_and_another_probe_follows(site: Site) -> None:
    start(site)
    ids = trip(site)
    (site.folder / "hangs").touch()
    [probed] = eventually(lambda: state(site) == BreakerState.HALF_OPEN and running(site), timeout=60)
    site.kill("steps")
    (site.folder / "hangs").unlink()
    site.start_worker("other")
    recover(site, ids)
    assert site.outcomes(probed).count("lost") == 1
    assert sum(site.outcomes(one).count("lost") for one in ids) == 1


def test_two_beats_and_two_sweepers_keep_the_rate(site: Site) -> None:
    start(site)
    site.start_beat("second-beat")
    site.start_worker("second-support", SUPPORT, concurrency=1)
    site.ready("second-support")
    (site.folder / "up").touch()
    open_breaker(site.engine, "ledger", by="test")
    ids = site.submit_many(5 * RATE, "site/guarded")
    eventually(lambda: breakers.listed(site.database, "ledger")[0].held == len(ids), timeout=60)
    close_breaker(site.engine, "ledger", by="test")
    recover(site, ids)

    rows = site.database.call("select at from remand.moves where event = 'release' order by at")
    at = [row[0] for row in rows]
    assert len(at) == len(ids)
    for first, begun in enumerate(at):
        for last in range(first, len(at)):
            # What the time is worth, and what the sweep before it was owed: never as much again for another.
            owed = timedelta(seconds=1)
            assert last - first < RATE * ((at[last] - begun + owed) / timedelta(seconds=1)) + 1e-6
    assert all(site.outcomes(one) == ["complete"] for one in ids)


def test_without_a_beat_it_holds_all_and_lets_go_when_there_is_one_again(site: Site) -> None:
    start(site)
    ids = trip(site)
    site.kill("beat")
    ids += site.submit_many(10, "site/guarded")
    (site.folder / "up").touch()
    late = "select probe_at < clock_timestamp() - interval '2 seconds' from remand.breakers"
    eventually(lambda: state(site) == "half_open" or site.database.call(late) == [(True,)], timeout=60)
    before = len(site.effects("end"))
    other = site.submit("site/one")
    eventually(lambda: site.workflow(other).state == "complete", timeout=60)
    assert len(site.effects("end")) <= before + 2, "at most a probe was under way"
    assert site.states(ids)["complete"] <= 1
    site.start_beat()
    recover(site, ids)


def test_a_process_that_dies_between_deciding_and_judging_opens_it_a_little_later(site: Site) -> None:
    site.start_worker("steps")
    rigged = {"SITE_RIG": "die_before_judging"}
    site.start_worker("support", SUPPORT, concurrency=1, app="tests.support.rigged", env=rigged)
    site.start_beat()
    site.ready("steps", "support")
    ids = trip(site)
    assert (site.folder / "died").exists()
    recover(site, ids)
    assert not any("lost" in site.outcomes(one) for one in ids)


def test_bells_that_are_lost_neither_keep_it_from_opening_nor_from_closing(site: Site) -> None:
    site.start_worker("steps", app="tests.support.rigged", env={"SITE_RIG": "lose_bells"})
    site.start_support()
    site.ready("steps", "support")
    ids = trip(site)
    recover(site, ids)


def test_postgres_restarts_while_it_is_open(own_postgres: tuple[Site, OwnPostgres]) -> None:
    site, postgres = own_postgres
    ids = trip(site)
    before = breakers.moves_of(site.database, "ledger", 1000)
    site.database.dispose()
    postgres.restart()
    assert breakers.moves_of(site.database, "ledger", 1000)[-len(before) :] == before
    ids += site.submit_many(10, "site/guarded")
    recover(site, ids)
    assert all(process.poll() is None for process in site.processes.values())
