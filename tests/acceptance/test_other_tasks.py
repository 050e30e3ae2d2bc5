"""Tasks that are not ours: what handlers send goes to the users' app, what lands in our queues is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
from celery import Celery
from celery.exceptions import NotRegistered

from remand.client import Client
from remand_app.engine.publish import publish
from tests.support.brokers import bells_in
from tests.support.site import PATIENCE_SECONDS, Site
from tests.support.waiting import eventually

MAIL = """
namespace: shop
name: mail
version: "1"
steps: [{name: only, handler: shop.send}]
"""
THEIRS = "celery"
"""The queue of an app that names none."""


@pytest.fixture
def site(shared_site: Site, tmp_path: Path) -> Iterator[Site]:
    (tmp_path / "mail.yaml").write_text(MAIL)
    publish(shared_site.engine.templates, [tmp_path / "mail.yaml"])
    yield shared_site
    shared_site.kill_workers()


def start(site: Site, name: str, module: str, pool: str = "prefork") -> None:
    site.start_worker(name, concurrency=1, pool=pool, env={"REMAND_HANDLERS": module})
    site.ready(name)


def ended(site: Site, workflow_id: UUID) -> str:
    eventually(
        lambda: site.workflow(workflow_id).state.needs_person or site.states([workflow_id])["complete"]
    )
    return str(site.workflow(workflow_id).state)


@pytest.mark.parametrize("pool", ["prefork", "threads"])
def test_a_shared_task_goes_to_the_app_of_the_user(site: Site, pool: str) -> None:
    assert site.settings.broker_url is not None
    before = bells_in(site.settings.broker_url, THEIRS)
    start(site, f"with-app-{pool}", "tests.support.sending_app", pool)

    assert ended(site, site.submit("shop/mail")) == "complete"

    assert bells_in(site.settings.broker_url, THEIRS) == before + 1


@pytest.mark.parametrize("pool", ["prefork", "solo"])
def test_a_shared_task_without_an_app_fails_and_says_why(site: Site, pool: str) -> None:
    start(site, f"without-app-{pool}", "tests.support.sending_handlers", pool)

    workflow_id = site.submit("shop/mail")

    assert ended(site, workflow_id) == "blocked_by_failures"
    [failed] = site.attempts(workflow_id)
    assert "no broker is configured for tasks sent from here" in str(failed)


@pytest.mark.parametrize("queue", ["remand.commands", "remand.maintenance", "retry.never"])
def test_somebody_elses_task_in_a_queue_of_ours_is_refused(site: Site, queue: str) -> None:
    shop = Celery("shop", broker=site.settings.broker_url, backend="rpc://", set_as_current=False)
    with shop:
        sent = [
            shop.send_task(task, ["ada@example.org"], queue=queue) for task in ("shop.mail", "celery.map")
        ]
        for one in sent:
            with pytest.raises(NotRegistered):
                one.get(timeout=PATIENCE_SECONDS)
        assert Client(shop, timeout=PATIENCE_SECONDS).submit("site/one", {}).created
    refused = [
        line for line in site.log_path("support").read_text().splitlines() if "message.refused" in line
    ]
    for task in ("shop.mail", "celery.map"):
        assert any(f"queue={queue} task={task}" in line for line in refused)
    assert not any("ada@" in line for line in refused)
