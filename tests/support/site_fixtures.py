"""Fixtures for sites of real processes, and their logs in the report of a test that failed."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from remand_app.store import schema
from remand_app.store.database import Database
from tests.support.brokers import clean_broker
from tests.support.databases import Cluster
from tests.support.fixtures import _worker_number
from tests.support.own_servers import OwnBroker, OwnPostgres
from tests.support.servers import Servers
from tests.support.site import Site

OpenSite = Callable[..., Site]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed and report.when == "call":
        for site in Site.open_sites:
            report.sections += [(f"log of {name}", text) for name, text in site.logs()]
    return report


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="remand-site-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture
def open_site(cluster: Cluster, test_servers: Servers) -> Iterator[OpenSite]:
    """Open a site on a database and an empty broker of its own; give it settings other than the defaults."""
    with ExitStack() as stack:

        def make(**settings: Any) -> Site:
            database_url = stack.enter_context(cluster.fresh())
            broker_url = stack.enter_context(clean_broker(test_servers.broker_url, _worker_number()))
            folder = stack.enter_context(_folder())
            return stack.enter_context(Site(folder, database_url, broker_url, **settings))

        yield make


@pytest.fixture(scope="module")
def quiet_site(cluster: Cluster, test_servers: Servers, request: pytest.FixtureRequest) -> Iterator[Site]:
    """A site for all tests of a module, with the settings of its `SITE_SETTINGS`; nothing runs."""
    settings = getattr(request.module, "SITE_SETTINGS", {})
    with (
        cluster.fresh() as database_url,
        clean_broker(test_servers.broker_url, _worker_number()) as broker_url,
        _folder() as folder,
        Site(folder, database_url, broker_url, **settings) as site,
    ):
        yield site


@pytest.fixture(scope="module")
def shared_site(quiet_site: Site) -> Site:
    """A site for all tests of a module, with support running."""
    quiet_site.start_support()
    return quiet_site


@pytest.fixture(scope="module")
def own_broker(cluster: Cluster) -> Iterator[tuple[Site, OwnBroker]]:
    """A site for all tests of a module, with steps and support running, and its broker to be broken."""
    with _folder() as folder, cluster.fresh() as database_url, ExitStack() as stack:
        broker = OwnBroker(folder)
        stack.callback(broker.stop)
        broker.start()
        site = stack.enter_context(Site(folder, database_url, broker.url))
        site.start_support()
        site.start_worker("steps")
        site.ready("steps", "support")
        yield site, broker


@pytest.fixture(scope="module")
def own_postgres(test_servers: Servers, request: pytest.FixtureRequest) -> Iterator[tuple[Site, OwnPostgres]]:
    """As `own_broker`, with its Postgres to be broken."""
    settings = getattr(request.module, "SITE_SETTINGS", {})
    with (
        _folder() as folder,
        clean_broker(test_servers.broker_url, _worker_number()) as broker_url,
        ExitStack() as stack,
    ):
        postgres = OwnPostgres(folder)
        stack.callback(postgres.stop)
        postgres.start()
        database = Database(postgres.url)
        schema.migrate(database)
        database.dispose()
        site = stack.enter_context(Site(folder, postgres.url, broker_url, **settings))
        site.start_support()
        site.start_worker("steps", concurrency=4)
        site.ready("steps", "support")
        yield site, postgres


@pytest.fixture
def settled_site(shared_site: Site) -> Iterator[Site]:
    """The site of the module, of which each test leaves neither work nor workers behind, even if it fails."""
    try:
        yield shared_site
        shared_site.settle()
    finally:
        shared_site.kill_workers()
        shared_site.cancel_what_is_left()
