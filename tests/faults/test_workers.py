"""Whole workers are killed, stopped, frozen, restarted; each step is won by exactly one attempt."""

from __future__ import annotations

import signal

import psutil
import pytest

from remand_app.store import workers
from tests.support.site import Site
from tests.support.waiting import eventually

SITE_SETTINGS = {"worker_silent_after_seconds": 5}


@pytest.fixture
def site(settled_site: Site) -> Site:
    return settled_site


def test_worker_killed_in_the_middle_of_a_batch_loses_nothing(site: Site) -> None:
    site.start_worker("one")
    site.start_worker("two")
    site.ready("one", "two", "support")
    ids = site.submit_many(300, "site/one", seconds=0.01)
    held = site.submit("site/chain", a={"hold_on": [1]})
    holder = site.started(held, step="a")
    killed = "one" if holder.pid in site.children("one") else "two"
    children = site.children(killed)
    site.kill(killed, group=False)
    eventually(lambda: not any(map(psutil.pid_exists, children)), timeout=20, message="children live on")
    eventually(lambda: site.workflow(held).state == "complete", timeout=60)
    assert site.outcomes(held, "a") == ["lost", "complete"]
    eventually(lambda: site.states(ids) == {"complete": 300}, timeout=90)
    assert all(set(site.outcomes(one)) <= {"lost", "complete"} for one in ids)


def test_only_process_of_the_only_worker_is_free_again_after_a_kill(site: Site) -> None:
    site.start_worker("narrow", concurrency=1)
    held = site.submit("site/one", hold_on=[1], hold="never")
    site.started(held)
    waiting = site.submit("site/one")
    site.kill("narrow")
    site.start_worker("narrow", concurrency=1)
    eventually(lambda: site.states([held, waiting]) == {"complete": 2}, timeout=60)
    assert site.outcomes(held) == ["lost", "complete"]
    assert site.outcomes(waiting) == ["complete"]


def test_late_result_of_a_frozen_worker_is_refused(site: Site) -> None:
    site.start_worker("frozen")
    held = site.submit("site/chain", a={"hold_on": [1], "hold": "thaw", "result": "by attempt"})
    site.started(held, step="a")
    site.kill("frozen", signal.SIGSTOP)
    site.start_worker("other")
    eventually(lambda: site.workflow(held).state == "complete", timeout=60)
    assert site.outcomes(held, "a") == ["lost", "complete"]
    before = site.steps(held)
    site.release("thaw")
    site.kill("frozen", signal.SIGCONT)
    eventually(lambda: len(site.effects("end", held)) == 4, timeout=60, message="it does not end late")
    # Its next step proves that the frozen worker has dealt with the late result, and is taken back.
    site.kill("other")
    again = site.submit("site/one")
    eventually(lambda: site.workflow(again).state == "complete", timeout=60)
    assert site.steps(held) == before
    assert [e.step for e in site.effects("start", held)] == ["a", "a", "b", "c"]


def test_step_that_starves_the_heartbeat_is_fenced_and_a_long_one_of_a_heard_worker_is_left_alone(
    site: Site,
) -> None:
    site.start_worker("solo", concurrency=1, pool="solo")
    starving = site.submit("site/chain", a={"gil_seconds": 10, "slow_on": [1]})
    site.started(starving, step="a")
    site.start_worker("heard")
    long = site.submit("site/one", seconds=11)
    site.started(long)
    eventually(lambda: site.workflow(starving).state == "complete", timeout=60)
    eventually(lambda: site.workflow(long).state == "complete", timeout=60)
    assert site.outcomes(starving, "a") == ["lost", "complete"]
    assert site.outcomes(long) == ["complete"]
    eventually(lambda: len(site.effects("end", starving)) == 4, timeout=60, message="it does not end late")
    assert [e.step for e in site.effects("start", starving)].count("b") == 1


def test_rolling_restarts_burn_no_attempt_of_the_step_they_interrupt(site: Site) -> None:
    for start in range(1, 6):
        site.start_worker("rolling", env={"REMAND_SHUTDOWN_GRACE_SECONDS": "0.2"})
        if start == 1:
            long = site.submit("site/one", hold_on=[1, 2, 3, 4, 5], hold="never")
        site.started(long, attempt=start)
        site.terminate("rolling")
        assert site.steps(long)["only"].state == "enqueued"
    site.start_worker("rolling")
    eventually(lambda: site.workflow(long).state == "complete", timeout=60)
    assert site.outcomes(long) == [*["interrupted"] * 5, "complete"]
    step = site.steps(long)["only"]
    assert (step.failures, step.lost_attempts) == (0, 0)


def test_warm_shutdown_ends_what_runs_and_gives_the_rest_back_at_once(site: Site) -> None:
    site.start_worker("warm")
    ids = site.submit_many(200, "site/one", seconds=0.01)
    long = site.submit("site/one", seconds=2)
    site.started(long)
    assert site.terminate("warm") == 0
    assert site.workflow(long).state == "complete"
    assert not site.database.call("select from remand.run_queue where phase = 'claimed'")
    [row] = [row for row in workers.listed(site.database) if row.hostname == "warm@site"]
    assert row.stopped_at is not None
    assert "Warm shutdown" in site.log_path("warm").read_text()
    site.start_worker("next")
    eventually(lambda: site.states(ids) == {"complete": 200}, timeout=60)
    assert all(site.outcomes(one) == ["complete"] for one in [*ids, long])


def test_workers_that_race_for_every_step_run_each_once(site: Site) -> None:
    site.start_worker("one")
    site.start_worker("two")
    site.ready("one", "two")
    ids = site.submit_many(100, "site/diamond")
    eventually(lambda: site.states(ids) == {"complete": 100}, timeout=90)
    of_them = [e for e in site.effects("start") if e.workflow_id in set(map(str, ids))]
    assert len(of_them) == 400
    assert {e.attempt for e in of_them} == {1}
    assert len({e.pid for e in of_them}) > 1
