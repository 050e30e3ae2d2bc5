"""A process of a worker's pool dies, or has to be killed; the worker and everybody else go on."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from remand_app.engine.publish import publish
from tests.support.letters import list_letters
from tests.support.site import Site
from tests.support.waiting import eventually

SITE_SETTINGS = {"hard_timeout_grace_seconds": 0.5}
GENTLE = """
{namespace: gentle, name: timed, version: "1", retry: {exponential: {base_seconds: 0.2}},
 steps: [{name: only, handler: site.play, timeout_seconds: 1, queue: gentle}]}
"""


@pytest.fixture(scope="module")
def running(shared_site: Site) -> Site:
    shared_site.start_worker("steps", concurrency=2)
    shared_site.ready("steps", "support")
    return shared_site


@pytest.fixture
def site(running: Site) -> Iterator[Site]:
    pid = running.processes["steps"].pid
    yield running
    running.settle()
    assert running.processes["steps"].poll() is None
    assert running.processes["steps"].pid == pid


def test_step_whose_process_is_killed_runs_again_and_the_attempt_names_the_signal(site: Site) -> None:
    workflow = site.submit("site/chain", b={"die_on": [1]})
    eventually(lambda: site.workflow(workflow).state == "complete", timeout=60)
    assert site.outcomes(workflow, "b") == ["lost", "complete"]
    failure = site.attempts(workflow, "b")[0].failure
    assert failure is not None
    assert failure.error_class.endswith("WorkerLost")
    assert "SIGKILL" in failure.message
    assert site.outcomes(workflow, "a") == site.outcomes(workflow, "c") == ["complete"]


def test_poison_step_is_dead_after_its_own_limit_while_good_ones_finish(site: Site) -> None:
    poison = site.submit("site/poison")
    good = site.submit_many(20, "site/one")
    eventually(lambda: site.states(good) == {"complete": 20}, timeout=60)
    eventually(lambda: site.workflow(poison).state == "blocked_by_failures", timeout=60)
    assert site.outcomes(poison) == ["lost", "lost", "lost"]
    assert len(site.effects("start", poison)) == 3
    [letter] = list_letters(site.database, workflow_id=poison)
    assert (letter.reason, letter.attempts) == ("worker_lost", 3)
    assert all(site.outcomes(one) == ["complete"] for one in good)


def test_pool_heals_after_a_child_was_killed_between_steps(site: Site) -> None:
    busy = site.submit("site/one", hold_on=[1], hold="healing")
    holder = site.started(busy).pid
    # The last child that the test before has lost may have no successor yet.
    [idle] = eventually(lambda: [pid for pid in site.children("steps") if pid != holder], timeout=60)
    os.kill(idle, signal.SIGKILL)
    after = site.submit_many(10, "site/one")
    eventually(lambda: site.states(after) == {"complete": 10}, timeout=60)
    site.release("healing")
    eventually(lambda: site.workflow(busy).state == "complete", timeout=60)
    assert site.outcomes(busy) == ["complete"]


def test_swallowed_soft_limit_ends_in_the_hard_one(site: Site) -> None:
    workflow = site.submit("site/stubborn")
    eventually(lambda: site.workflow(workflow).state == "complete", timeout=60)
    assert site.outcomes(workflow) == ["timed_out", "complete"]
    assert list_letters(site.database, workflow_id=workflow) == []


def test_c_code_that_never_yields_ends_in_the_hard_limit(site: Site) -> None:
    workflow = site.submit("site/timed", gil_seconds=30)
    other = site.submit("site/one")
    eventually(lambda: site.workflow(other).state == "complete", timeout=60)
    eventually(lambda: site.workflow(workflow).state == "blocked_by_failures", timeout=60)
    assert set(site.outcomes(workflow)) == {"timed_out"}
    assert len(site.outcomes(workflow)) == 3
    [letter] = list_letters(site.database, workflow_id=workflow)
    assert letter.reason == "max_retries_exceeded"


def test_soft_limit_interrupts_a_sleeping_step_without_a_kill(site: Site) -> None:
    # A worker of its own with ample grace: on a busy machine, half a second may be over before the step ends.
    (site.folder / "gentle.yaml").write_text(GENTLE)
    publish(site.engine.templates, [site.folder / "gentle.yaml"])
    site.start_worker("gentle", ["gentle"], concurrency=1, env={"REMAND_HARD_TIMEOUT_GRACE_SECONDS": "60"})
    site.ready("gentle")
    before = site.children("gentle")
    assert len(before) == 1
    workflow = site.submit("gentle/timed", seconds=3600)
    eventually(lambda: site.workflow(workflow).state == "blocked_by_failures", timeout=60)
    assert site.outcomes(workflow) == ["timed_out"] * 3
    assert site.children("gentle") == before
    assert {effect.pid for effect in site.effects("start", workflow)} == set(before)
    site.kill("gentle")


def test_hundred_failures_at_once_get_a_hundred_second_attempts(site: Site) -> None:
    failing = site.submit_many(100, "site/one", fail_on=[1])
    others = site.submit_many(50, "site/one")
    eventually(lambda: site.states([*failing, *others]) == {"complete": 150}, timeout=90)
    assert all(site.outcomes(one) == ["failed", "complete"] for one in failing)
    assert all(site.outcomes(one) == ["complete"] for one in others)


def test_short_steps_do_not_wait_behind_a_long_one(site: Site) -> None:
    site.submit_many(20, "site/one")
    long = site.submit("site/one", hold_on=[1], hold="short")
    site.started(long)
    short = site.submit_many(5, "site/one")
    eventually(lambda: site.states(short) == {"complete": 5}, timeout=60)
    assert site.workflow(long).state == "steps_in_process"
    site.release("short")
