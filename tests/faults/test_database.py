"""Postgres is restarted, killed, away for long, and locked; no worker is restarted and nothing runs twice."""

from __future__ import annotations

import time
from collections.abc import Iterator

import psycopg2
import pytest

from tests.support.own_servers import OwnPostgres
from tests.support.site import Site
from tests.support.waiting import eventually

SITE_SETTINGS = {"worker_silent_after_seconds": 5}


@pytest.fixture
def postgres(own_postgres: tuple[Site, OwnPostgres]) -> OwnPostgres:
    return own_postgres[1]


@pytest.fixture
def site(own_postgres: tuple[Site, OwnPostgres]) -> Iterator[Site]:
    site = own_postgres[0]
    yield site
    site.settle(timeout=90)
    assert all(process.poll() is None for process in site.processes.values())


def test_restart_while_steps_run_and_beat_ticks(site: Site, postgres: OwnPostgres) -> None:
    held = [site.submit("site/chain", a={"hold_on": [1], "hold": "restart"}) for _ in range(4)]
    for one in held:
        site.started(one, step="a")
    site.database.dispose()
    postgres.restart()
    site.release("restart")
    later = site.submit_many(10, "site/chain", b={"fail_on": [1]})
    eventually(lambda: site.states([*held, *later]) == {"complete": 14}, timeout=90)
    assert all(site.outcomes(one, "a") == ["complete"] for one in held)
    assert all(site.outcomes(one, "b") == ["failed", "complete"] for one in later)


def test_crash_in_the_middle_of_batches(site: Site, postgres: OwnPostgres) -> None:
    ids = site.submit_many(300, "site/chain", seconds=0.005)
    eventually(lambda: site.states(ids)["complete"] > 20, timeout=60)
    postgres.kill()
    site.database.dispose()
    postgres.restart()
    eventually(lambda: site.states(ids) == {"complete": 300}, timeout=120)


def test_result_of_a_step_that_ends_while_postgres_is_away_for_long_is_kept(
    site: Site, postgres: OwnPostgres
) -> None:
    held = site.submit("site/chain", a={"hold_on": [1], "hold": "away"})
    site.started(held, step="a")
    site.database.dispose()
    postgres.stop()
    site.release("away")
    eventually(lambda: site.effects("end", held), timeout=30)
    back_at = time.monotonic() + SITE_SETTINGS["worker_silent_after_seconds"] + 2
    eventually(lambda: time.monotonic() > back_at, timeout=30)
    postgres.start()
    eventually(lambda: site.workflow(held).state == "complete", timeout=90)
    assert site.outcomes(held, "a") == ["complete"]


def test_result_that_waits_for_a_lock_is_stored_when_it_is_gone(site: Site, postgres: OwnPostgres) -> None:
    held = site.submit("site/chain", a={"hold_on": [1], "hold": "locked"})
    site.started(held, step="a")
    waits = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like %s"
    locker = psycopg2.connect(postgres.url)
    try:
        locker.cursor().execute("lock table remand.steps, remand.run_queue in access exclusive mode")
        site.release("locked")
        eventually(lambda: site.database.call(waits, ("%remand.settle_v2(%",))[0][0] > 0, timeout=60)
        # A sweep waits, too: the rescue, or the ring before it in the only process of maintenance.
        swept = ("%live_workers%", "%wake_due%", "%phase = 'ready'%")
        eventually(lambda: any(site.database.call(waits, (one,))[0][0] for one in swept), timeout=60)
        until = time.monotonic() + SITE_SETTINGS["worker_silent_after_seconds"] + 1
        eventually(lambda: time.monotonic() > until, timeout=30)
    finally:
        locker.close()
    eventually(lambda: site.workflow(held).state == "complete", timeout=60)
    assert site.outcomes(held, "a") == ["complete"]
