"""Somebody else's Celery app, run by pytest-celery's own fixtures, submits workflows by task name."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import UUID

import pytest
import pytest_docker_tools.wrappers.container
from pytest_celery import CELERY_REDIS_BACKEND, CELERY_REDIS_BROKER, CeleryTestSetup, CeleryWorkerContainer

from tests.support import shop_tasks
from tests.support.databases import Cluster
from tests.support.local_docker import LocalDockerClient
from tests.support.site import Site
from tests.support.waiting import eventually


@pytest.fixture(scope="session")
def docker_client() -> Iterator[LocalDockerClient]:
    with pytest.MonkeyPatch.context() as patch:
        # Else, in a container, it would look for the broker on its own port 6379.
        patch.setattr(pytest_docker_tools.wrappers.container, "tests_inside_container", lambda: False)
        yield LocalDockerClient()


@pytest.fixture(params=[CELERY_REDIS_BROKER])
def celery_broker(request: pytest.FixtureRequest) -> Iterator[Any]:
    broker = request.getfixturevalue(request.param)
    yield broker
    broker.teardown()


@pytest.fixture(params=[CELERY_REDIS_BACKEND])
def celery_backend(request: pytest.FixtureRequest) -> Iterator[Any]:
    backend = request.getfixturevalue(request.param)
    yield backend
    backend.teardown()


class ShopWorker(CeleryWorkerContainer):
    @classmethod
    def command(cls, *args: str, **more: Any) -> list[str]:
        words: list[str] = super().command("-c", "1", "--without-mingle", "--without-gossip", *args, **more)
        return words


@pytest.fixture
def default_worker_container_cls() -> type[CeleryWorkerContainer]:
    return ShopWorker


@pytest.fixture
def default_worker_tasks(default_worker_tasks: set[ModuleType]) -> set[ModuleType]:
    return {*default_worker_tasks, shop_tasks}


@pytest.fixture
def site(celery_setup: CeleryTestSetup, cluster: Cluster) -> Iterator[Site]:
    url = celery_setup.broker.config()["host_url"]
    with (
        tempfile.TemporaryDirectory(prefix="remand-site-") as folder,
        cluster.fresh() as database_url,
        Site(Path(folder), database_url, url) as site,
    ):
        site.start_support()
        site.start_worker("steps")
        site.ready("steps", "support")
        yield site


def test_strange_app_submits_by_name_from_outside_and_from_inside_a_task(
    celery_setup: CeleryTestSetup, site: Site
) -> None:
    app = celery_setup.app
    sent = app.send_task(
        "remand.submit",
        kwargs={"template": "site/chain", "input": {}},
        queue="remand.commands",
        ignore_result=True,
    )
    assert sent.id
    inside = app.send_task("shop.order", args=[17], queue=celery_setup.worker.worker_queue)
    workflow = UUID(inside.get(timeout=60))
    eventually(lambda: site.workflow(workflow).state == "complete", timeout=60)
    assert site.steps(workflow)["c"].result == 17
    assert site.workflow(workflow).submitted_by == "claimed:shop"
    outside = (
        "select count(*) from remand.workflows where submitted_by = 'claimed:celery' and state = 'complete'"
    )
    eventually(lambda: site.database.call(outside) == [(1,)], timeout=60)
    celery_setup.worker.kill()
    assert celery_setup.worker.container.status == "exited"
    site.settle()
