"""Beat, the sweeps, the submitter and the bells fail; what was committed goes on all the same."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator

import pytest

from remand_app.beat_schedule import BEAT_SCHEDULE
from tests.support.brokers import bells_in
from tests.support.site import ROOT, SUPPORT, Site
from tests.support.site_fixtures import OpenSite
from tests.support.waiting import eventually


@pytest.fixture
def site(shared_site: Site) -> Iterator[Site]:
    if "steps" not in shared_site.processes:
        shared_site.start_worker("steps")
        shared_site.ready("steps", "support")
    yield shared_site
    shared_site.settle()


def test_submitter_killed_between_commit_and_bell_has_submitted(site: Site) -> None:
    ended = site.run(sys.executable, "-m", "tests.support.killed_submitter", "site/chain")
    assert ended.returncode == -signal.SIGKILL
    [[workflow]] = site.database.call("select id from remand.workflows where submitted_by = 'killed'")
    eventually(lambda: site.workflow(workflow).state == "complete", timeout=60)


def test_retries_that_came_due_without_a_beat_happen_with_the_next_one(site: Site) -> None:
    ids = site.submit_many(20, "site/patient", fail_on=[1])
    eventually(lambda: site.states(ids) == {"waiting_for_retry": 20}, timeout=60)
    site.kill("beat")
    due = "select count(*) from remand.run_queue where phase = 'waiting' and due_at < clock_timestamp()"
    eventually(lambda: site.database.call(due) == [(20,)], timeout=60)
    site.start_beat()
    eventually(lambda: site.states(ids) == {"complete": 20}, timeout=60)
    assert all(site.outcomes(one) == ["failed", "complete"] for one in ids)
    assert not list(ROOT.glob("celerybeat*")), "beat keeps state in a file, which a kill could break"


def test_two_beats_and_two_maintenance_workers_do_everything_once(site: Site) -> None:
    site.start_beat("second-beat")
    site.start_worker("second-support", SUPPORT, concurrency=1)
    site.start_worker("victim", ["steps"], concurrency=4)
    site.ready("second-support", "victim")
    held = site.submit_many(6, "site/one", hold_on=[1], hold="never", fail_on=[2])
    retried = site.submit_many(30, "site/one", fail_on=[1])
    for one in held:
        site.started(one)
    site.kill("victim")
    site.kill("steps")
    site.start_worker("steps")
    eventually(lambda: site.states([*held, *retried]) == {"complete": 36}, timeout=90)
    assert all(site.outcomes(one) == ["lost", "failed", "complete"] for one in held)
    assert all(
        [outcome for outcome in site.outcomes(one) if outcome != "lost"] == ["failed", "complete"]
        for one in retried
    )
    site.kill("second-beat")
    site.kill("second-support")


@pytest.mark.parametrize("rig", ["double_bells", "lose_bells"])
def test_bells_decide_nothing(open_site: OpenSite, rig: str) -> None:
    site = open_site()
    rigged = {"SITE_RIG": rig}
    site.start_worker("one", app="tests.support.rigged", env=rigged)
    site.start_worker("two", app="tests.support.rigged", env=rigged)
    site.start_support()
    site.ready("one", "two", "support")
    ids = site.submit_many(40, "site/diamond", b={"fail_on": [1]})
    eventually(lambda: site.states(ids) == {"complete": 40}, timeout=90)
    assert all(site.outcomes(one, "b") == ["failed", "complete"] for one in ids)
    assert len(site.effects("start")) == 40 * 5
    site.settle()


def test_sweep_killed_half_way_leaves_nothing_that_stops_the_next(open_site: OpenSite) -> None:
    site = open_site()
    site.start_beat()
    rigged = {"SITE_RIG": "hang_in_rescue"}
    site.start_worker("sweeping", SUPPORT, concurrency=1, app="tests.support.rigged", env=rigged)
    site.start_worker("victim")
    held = site.submit("site/one", hold_on=[1], hold="never")
    site.started(held)
    site.start_worker("other")
    site.ready("other")
    site.kill("victim")
    eventually((site.folder / "sweeping").exists, timeout=60)
    site.kill("sweeping")
    assert site.outcomes(held) == ["running"]
    site.start_worker("support", SUPPORT, concurrency=1)
    eventually(lambda: site.workflow(held).state == "complete", timeout=60)
    assert site.outcomes(held) == ["lost", "complete"]
    site.settle()


def test_beat_alone_fills_no_broker_and_each_sweep_runs_once_somebody_listens(open_site: OpenSite) -> None:
    site = open_site(ring_interval_seconds=0.2, rescue_interval_seconds=0.2)
    site.start_beat()
    held = site.log_path("beat")
    eventually(lambda: held.exists() and "beat.held" in held.read_text(), timeout=60)
    assert bells_in(site.environment["REMAND_BROKER_URL"], "remand.maintenance") <= 5
    site.start_worker("support", SUPPORT, concurrency=1)
    ran = "select name from remand.sweep_runs where last_success_at is not null"
    # Some of them have an interval of an hour.
    eventually(lambda: {row[0] for row in site.database.call(ran)} == set(BEAT_SCHEDULE), timeout=60)
