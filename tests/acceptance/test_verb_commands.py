"""The verbs of people, called by a Celery client through a real broker. Source: A14."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from celery import Celery

from remand.client import Client, Refused
from tests.support.site import Site
from tests.support.waiting import eventually

TIMEOUT_SECONDS = 60
SITE_SETTINGS = {"commands": {"access": "open"}}


@pytest.fixture(scope="module")
def client(shared_site: Site) -> Iterator[Client]:
    shared_site.start_worker("steps")
    shared_site.ready("steps", "support")
    app = Celery("desk", broker=shared_site.settings.broker_url, set_as_current=False)
    made = Client(app, timeout=TIMEOUT_SECONDS)
    yield made
    made._app.close()
    app.close()


def test_a_paused_template_takes_submits_and_its_workflows_go_on_at_a_word(client: Client) -> None:
    assert client.pause_template("site/one", reason="deploy")["changed"]
    held = client.submit("site/one", {}, tags=["eu"]).workflow_id
    found = client.get(held)
    assert (found["paused"], found["paused_by"], found["tags"]) == (True, "claimed:desk", ["eu"])

    client.resume_template("site/one")

    assert client.wait(held, timeout=TIMEOUT_SECONDS)["state"] == "complete"


def test_a_failed_step_is_dealt_with_from_a_celery_client(client: Client) -> None:
    order = client.submit("site/diamond", {"a": {"give_up_on": [1, 2]}}).workflow_id
    assert client.wait(order, timeout=TIMEOUT_SECONDS)["needs_person"]
    client.pause(order, reason="looking")
    client.complete(order, "a", "by hand", reason="phoned")
    assert client.get(order)["paused"]
    client.resume(order)

    found = client.wait(order, timeout=TIMEOUT_SECONDS)
    assert (found["state"], found["steps"]["a"]["result"]) == ("complete", "by hand")
    with pytest.raises(Refused) as refused:
        client.restart(order, "a")
    assert refused.value.code == "ILLEGAL_MOVE"


def test_skip_retry_and_requeue_are_commands_too(client: Client) -> None:
    order = client.submit("site/diamond", {"a": {"give_up_on": [1, 2]}}).workflow_id
    client.wait(order, timeout=TIMEOUT_SECONDS)
    client.requeue(order, reason="once more")
    eventually(lambda: client.get(order)["needs_person"], message="it never failed again")
    client.retry(order, "a", input={})

    assert client.wait(order, timeout=TIMEOUT_SECONDS)["state"] == "complete"
    with pytest.raises(Refused):
        client.skip(order, "a")
