"""Queues of ours in RabbitMQ that somebody else declared first, or that are to be kept by several nodes."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import kombu
import pytest
from celery import Celery

from remand.client import Client
from tests.support.brokers import clean_broker, rabbitmq_url
from tests.support.databases import Cluster
from tests.support.fixtures import _worker_number
from tests.support.site import PATIENCE_SECONDS, Site
from tests.support.waiting import eventually

STRANGE: dict[str, dict[str, Any]] = {
    "steps": {"queue_arguments": {"x-max-priority": 10}},
    "remand.commands": {"queue_arguments": {"x-queue-type": "quorum"}},
    "remand.maintenance": {"durable": False},
    "retry.never": {"exchange": kombu.Exchange("retry.never", "topic")},
}
"""Each as another Celery app may have declared it."""


@pytest.fixture
def broker_url() -> Iterator[str]:
    url = rabbitmq_url()
    if not url:
        pytest.skip("no RabbitMQ answers here")
    with clean_broker(url, _worker_number()) as mine:
        yield mine


@pytest.fixture
def site_on(broker_url: str, cluster: Cluster) -> Iterator[Any]:
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))

        def make(**settings: Any) -> Site:
            database_url = stack.enter_context(cluster.fresh())
            return stack.enter_context(Site(Path(folder), database_url, broker_url, **settings))

        yield make


def work_gets_done(site: Site) -> None:
    site.start_support()
    site.start_worker("steps")
    failing = site.submit_many(5, "site/chain", b={"fail_on": [1]})
    with Celery("shop", broker=site.settings.broker_url, set_as_current=False) as shop:
        failing.append(Client(shop, timeout=PATIENCE_SECONDS).submit("site/one", {}).workflow_id)
    eventually(lambda: site.states(failing) == {"complete": 6}, timeout=PATIENCE_SECONDS)


def test_queues_that_others_declared_are_used_as_they_are_and_told(site_on: Any, broker_url: str) -> None:
    with kombu.Connection(broker_url) as connection:
        for name, parts in STRANGE.items():
            given = {"exchange": kombu.Exchange(name), "durable": True, **parts}
            kombu.Queue(name, routing_key=name, **given)(connection.default_channel).declare()
    site = site_on()
    # A sender knows of nothing: it rings before any worker tells of the queues.
    early = site.submit("site/one")

    work_gets_done(site)

    assert site.states([early]) == {"complete": 1}
    lines = [line for name, log in site.logs() for line in log.splitlines() if "queue.differs" in line]
    assert {name for name in STRANGE if any(f"queue={name}" in line for line in lines)} == set(STRANGE)
    assert all("rabbitmqctl delete_queue" in line for line in lines)
    found = site.cli("doctor")["findings"]
    told = {one["message"].split()[0] for one in found if "declared by somebody else" in one["message"]}
    assert told == set(STRANGE)


def test_quorum_queues_are_a_choice(site_on: Any, broker_url: str) -> None:
    site = site_on(broker_queue_type="quorum")

    work_gets_done(site)

    with kombu.Connection(broker_url) as connection:
        for name in (*STRANGE, "retry.exponential"):
            kombu.Queue(name, queue_arguments={"x-queue-type": "quorum"})(
                connection.default_channel
            ).queue_declare()
    with contextlib.suppress(AssertionError):
        assert not [one for one in site.cli("doctor")["findings"] if "somebody else" in one["message"]]
