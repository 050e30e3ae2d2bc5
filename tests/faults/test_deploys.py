"""Code that is not there yet, and decisions that are made while nobody runs."""

from __future__ import annotations

import pytest

from remand_app.engine.operate import Who, cancel, requeue_letter
from tests.support.letters import list_letters
from tests.support.site import Site
from tests.support.waiting import eventually

WHO = Who("tester", "because")


@pytest.fixture
def site(settled_site: Site) -> Site:
    return settled_site


def test_step_whose_handler_is_missing_waits_as_a_dead_letter_for_the_deploy(site: Site) -> None:
    site.start_worker("old")
    workflow = site.submit("site/late")
    eventually(lambda: site.workflow(workflow).state == "blocked_by_failures", timeout=60)
    [letter] = list_letters(site.database, workflow_id=workflow)
    assert (letter.step, letter.handler) == ("only", "site.late")
    assert letter.reason == "permanent_failure"
    assert letter.error_class.endswith("HandlerNotFound")
    assert "site.late" in letter.error_message
    assert letter.attempts == 1
    site.check()
    site.terminate("old")
    site.start_worker("new", env={"REMAND_HANDLERS": "tests.support.handlers,tests.support.late_handlers"})
    requeue_letter(site.engine, letter.id, WHO)
    eventually(lambda: site.workflow(workflow).state == "complete", timeout=60)
    assert site.steps(workflow)["only"].result == "deployed"
    assert site.outcomes(workflow, "first") == ["complete"]


def test_cancelled_work_does_not_start_whenever_it_was_cancelled(site: Site) -> None:
    offline = site.submit_many(5, "site/chain")
    for one in offline:
        cancel(site.engine, one, WHO)
    site.start_worker("one")
    backing_off = site.submit("site/patient", fail_on=[1])
    running = site.submit("site/chain", a={"hold_on": [1], "hold": "cancelled"})
    eventually(lambda: site.workflow(backing_off).state == "waiting_for_retry", timeout=60)
    site.started(running, step="a")
    cancel(site.engine, backing_off, WHO)
    cancel(site.engine, running, WHO)
    site.release("cancelled")
    eventually(lambda: site.effects("end", running), timeout=60)
    after = site.submit("site/patient", fail_on=[1])
    eventually(lambda: site.workflow(after).state == "complete", timeout=60)
    assert not [effect for one in offline for effect in site.effects(None, one)]
    assert len(site.effects("start", backing_off)) == 1
    assert [effect.step for effect in site.effects("start", running)] == ["a"]
    assert site.states([*offline, backing_off, running]) == {"cancelled": 7}


def test_running_step_that_is_cancelled_hears_of_it_by_its_heartbeat(site: Site) -> None:
    site.start_worker("one")
    running = site.submit("site/one", hold_on=[1], hold="never", heartbeat=True)
    site.started(running)
    cancel(site.engine, running, WHO)
    # With both processes free again, two steps can hold at once.
    both = [site.submit("site/one", hold_on=[1], hold="both") for _ in range(2)]
    for one in both:
        site.started(one)
    assert not site.effects("end", running)
    site.release("both")
