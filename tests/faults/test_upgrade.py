"""A database of the release before this one is upgraded while it works, and goes back.

Old workers and clients run on throughout; they are real processes of that release's code.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from uuid import UUID

import pytest

from remand_app.store import schema
from tests.support import releases
from tests.support.brokers import clean_broker
from tests.support.databases import Cluster
from tests.support.fixtures import _worker_number
from tests.support.servers import Servers
from tests.support.site import PATIENCE_SECONDS, SUPPORT, Site
from tests.support.waiting import eventually

BEFORE = "0002"
_LEFT = "select id, state from remand.workflows where state not in ('complete', 'blocked_by_failures')"
_WON = """
select count(*)
  from remand.all_attempts attempt
  join remand.workers worker on worker.id = attempt.worker
 where worker.hostname = %s and attempt.outcome = 'complete' and attempt.ended_at > %s
"""


@pytest.fixture
def code(tmp_path: Path) -> Path:
    return releases.unpack(BEFORE, tmp_path / "old")


@pytest.fixture
def site(cluster: Cluster, test_servers: Servers, tmp_path: Path) -> Iterator[Site]:
    (tmp_path / "site").mkdir()
    with (
        cluster.empty() as url,
        clean_broker(test_servers.broker_url, _worker_number()) as broker,
    ):
        releases.restore(BEFORE, url)
        with Site(tmp_path / "site", url, broker, publishes=False) as site:
            yield site


class Old:
    """The processes of the release before this one."""

    def __init__(self, site: Site, code: Path) -> None:
        self.site = site
        self.code = code
        self.env = releases.environment(code)

    def start(self) -> None:
        """Start workers of all queues, and beat."""
        self.worker("old-steps", ("steps",), 2)
        self.worker("old-support", SUPPORT, 1)
        beat = [sys.executable, "-m", "celery", "-q", "-A", releases.APP, "beat"]
        self.site.start("old-beat", beat, self.env, self.code)
        self.site.ready("old-steps", "old-support")

    def worker(self, name: str, queues: tuple[str, ...], concurrency: int) -> None:
        self.site.start_worker(
            name, queues, concurrency=concurrency, env=self.env, cwd=self.code, app=releases.APP
        )

    def load(self, name: str) -> None:
        """Start a client that submits until `stop`."""
        command = [sys.executable, str(releases.CLIENT), "load", name]
        self.site.start(name, command, self.env, self.code)
        eventually(lambda: self.loaded(name), timeout=PATIENCE_SECONDS)

    def stop(self, name: str) -> list[UUID]:
        """Stop a client; return what it submitted."""
        (self.site.folder / f"stop-{name}").touch()
        assert self.site.processes[name].wait(PATIENCE_SECONDS) == 0
        return self.loaded(name)

    def loaded(self, name: str) -> list[UUID]:
        path = self.site.folder / f"loaded-{name}"
        return [UUID(line) for line in path.read_text().split()] if path.exists() else []

    def check(self) -> None:
        """Hold the database to the invariants of that release."""
        self.site.start("check", [sys.executable, str(releases.CLIENT), "check"], self.env, self.code)
        assert self.site.processes["check"].wait(PATIENCE_SECONDS) == 0


def now(site: Site) -> datetime:
    instant: datetime = site.database.call("select clock_timestamp()")[0][0]
    return instant


def works_on(site: Site, name: str, since: datetime) -> None:
    """Wait until a worker has ended steps since then."""
    eventually(
        lambda: site.database.call(_WON, (f"{name}@site", since))[0][0] >= 5,
        timeout=PATIENCE_SECONDS,
        message=f"{name} does nothing",
    )


def at_rest(site: Site) -> None:
    def rests() -> bool:
        left = site.database.call(_LEFT)
        assert not left, f"{len(left)} are under way: {left[:5]}"
        return True

    eventually(rests, timeout=PATIENCE_SECONDS)


def test_a_database_of_the_release_before_goes_up_and_down_while_it_works(site: Site, code: Path) -> None:
    old = Old(site, code)
    before = dict(site.database.call("select id, state from remand.workflows"))
    archived = site.database.call("select id from remand.workflows_archive order by id")
    assert set(before.values()) >= {"steps_in_process", "waiting_for_retry", "blocked_by_failures"}
    old.start()
    old.load("up")

    schema.migrate(site.database)

    migrated = now(site)
    old.worker("old-late", ("steps",), 1)
    site.start_worker("new")
    site.ready("new")
    ours = site.submit_many(20, "site/diamond")
    works_on(site, "old-steps", migrated)
    works_on(site, "new", migrated)
    theirs = old.stop("up")
    at_rest(site)
    site.check()
    assert site.states([*ours, *theirs]) == {"complete": len(ours) + len(theirs)}
    dead = [key for key, state in before.items() if state == "blocked_by_failures"]
    assert site.states(dead) == {"blocked_by_failures": len(dead)}
    assert site.states(list(before)) == {
        "complete": len(before) - len(dead),
        "blocked_by_failures": len(dead),
    }
    assert site.database.call("select id from remand.workflows_archive order by id") == archived
    # The code of 0002 cannot know that it is served: what runs goes on, what starts is refused.
    assert site.processes["old-late"].wait(PATIENCE_SECONDS) != 0
    assert "SCHEMA_TOO_NEW" in site.log_path("old-late").read_text()

    assert site.terminate("new") == 0
    old.load("down")
    schema.migrate(site.database, BEFORE)

    back = now(site)
    works_on(site, "old-steps", back)
    theirs = old.stop("down")
    at_rest(site)
    assert schema.current(site.database) == BEFORE
    assert site.states(theirs) == {"complete": len(theirs)}
    old.check()
