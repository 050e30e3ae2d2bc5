"""What handlers return and raise: every kind of handler runs, every bad result becomes a failure."""

from __future__ import annotations

import sys

import pytest

from tests.support.handlers import NOT_JSON
from tests.support.letters import list_letters
from tests.support.site import Site
from tests.support.waiting import eventually


@pytest.fixture(scope="module")
def site(shared_site: Site) -> Site:
    shared_site.start_worker("steps")
    shared_site.ready("steps", "support")
    return shared_site


def test_plain_async_and_class_handlers_run_and_checkpoints_last(site: Site) -> None:
    workflow = site.submit("site/kinds", beads=5)
    eventually(lambda: site.workflow(workflow).state == "complete", timeout=60)
    assert {name: step.result for name, step in site.steps(workflow).items()} == {
        "sync": 1,
        "async": 1,
        "class": 3,
    }
    assert site.outcomes(workflow, "class") == ["failed", "complete"]
    site.settle()


def test_results_and_errors_that_cannot_be_stored_are_failures_that_say_what(site: Site) -> None:
    """In one go, so that one bad end cannot take another's record with it."""
    workflows = {what: site.submit("site/not_json", what=what) for what in NOT_JSON}
    good = site.submit_many(10, "site/one")
    site.settle()
    assert site.states(good) == {"complete": 10}
    for what, workflow in workflows.items():
        [letter] = list_letters(site.database, workflow_id=workflow)
        assert site.workflow(workflow).state == "blocked_by_failures", what
        assert site.outcomes(workflow) == ["failed"] if what != "unspeakable" else letter.attempts >= 1
        if what == "unspeakable":
            assert letter.error_class == "tests.support.handlers.Unspeakable"
        else:
            assert letter.error_class.endswith("ResultInvalid"), what
            assert "result" in letter.error_message
            assert len(letter.error_message) < 2000
    assert site.processes["steps"].poll() is None


def test_retry_queues_are_consumed_by_workers_of_their_own(site: Site) -> None:
    site.kill("support")
    own = ("retry.exponential", "retry.linear", "retry.immediate", "retry.never")
    for queue in own:
        site.start_worker(queue, [queue], concurrency=1)
    site.start_worker("support", ["remand.maintenance", "remand.commands"], concurrency=1)
    site.ready(*own, "support")
    again = site.submit("site/one", fail_on=[1])
    linear = site.submit("site/one", fail_on=[1], category="resource")
    never = site.submit("site/one", give_up_on=[1])
    site.settle()
    # After the others: what ran in a process that dies, and is not recorded yet, counts as lost with it.
    lost = site.submit("site/one", die_on=[1])
    site.settle()
    assert site.states([again, linear, lost]) == {"complete": 3}
    assert site.workflow(never).state == "blocked_by_failures"
    decided = {attempt.policy for one in (again, linear, never, lost) for attempt in site.attempts(one)} - {
        None
    }
    assert decided == {"exponential", "linear", "never", "immediate"}


def test_settings_of_another_celery_app_in_the_environment_are_none_of_ours(site: Site) -> None:
    foreign = {
        "CELERY_BROKER_URL": "redis://127.0.0.1:1/0",
        "CELERY_RESULT_BACKEND": "redis://127.0.0.1:1/1",
    }
    site.kill("steps")
    site.start_worker("foreign", env=foreign)
    answered = site.cli("submit", "site/chain", "--wait", "--timeout", "60", env=foreign)
    assert answered["state"] == "complete"
    asked = site.run(sys.executable, "-c", _ASKS, site.settings.broker_url, env=foreign)
    assert asked.stdout.strip() == "site/chain:1", asked.stderr


_ASKS = """
import sys
from celery import Celery
from remand.client import Client
app = Celery("shop")
app.conf.broker_write_url = sys.argv[1]
client = Client(app, timeout=60)
order = client.submit("site/chain", {})
print(client.wait(order.workflow_id, timeout=60)["template"])
"""
