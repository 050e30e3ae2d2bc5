"""The broker stands and refuses: a replica, full, locked, loading. Workers and beat wait and come back."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import redis

from tests.support.own_servers import OwnBroker
from tests.support.site import Site
from tests.support.waiting import eventually

Trouble = tuple[tuple[str, ...], ...]
"""Commands to the broker."""

NO_MASTER = ("REPLICAOF", "127.0.0.1", "1")
CUT = ("CLIENT", "KILL", "TYPE", "normal")
TROUBLES: dict[str, tuple[Trouble, Trouble]] = {
    "replica": ((NO_MASTER,), (("REPLICAOF", "NO", "ONE"),)),
    "replica without a master": (
        (("CONFIG", "SET", "replica-serve-stale-data", "no"), NO_MASTER, CUT),
        (("REPLICAOF", "NO", "ONE"), ("CONFIG", "SET", "replica-serve-stale-data", "yes")),
    ),
    "locked": (
        (("CONFIG", "SET", "requirepass", "other"), CUT),
        (("CONFIG", "SET", "requirepass", ""),),
    ),
    "without rights": (
        (("ACL", "SETUSER", "default", "-brpop", "-lpush", "-sadd"), CUT),
        (("ACL", "SETUSER", "default", "+@all"),),
    ),
}


@pytest.fixture
def broker(own_broker: tuple[Site, OwnBroker]) -> OwnBroker:
    return own_broker[1]


@pytest.fixture
def site(own_broker: tuple[Site, OwnBroker]) -> Iterator[Site]:
    """A site of which nothing ends."""
    site = own_broker[0]
    yield site
    site.settle()
    assert all(process.poll() is None for process in site.processes.values())


def complaints(site: Site) -> dict[str, int]:
    return {name: site.log_path(name).read_text().count("broker.unusable") for name in ("steps", "support")}


def tell(broker: OwnBroker, commands: Trouble, password: str | None = None) -> None:
    with redis.Redis.from_url(broker.url, password=password) as client:
        for command in commands:
            client.execute_command(*command)


@pytest.fixture
def in_trouble(site: Site, broker: OwnBroker) -> Callable[[Trouble], None]:
    def make(commands: Trouble) -> None:
        before = complaints(site)
        tell(broker, commands)
        # Twice: the second time it has tried again, and was refused again.
        eventually(
            lambda: all(now >= before[name] + 2 for name, now in complaints(site).items()),
            timeout=60,
            message="not every worker noticed",
        )

    return make


@pytest.mark.parametrize("name", TROUBLES)
def test_a_broker_that_refuses_ends_no_worker(
    site: Site, broker: OwnBroker, in_trouble: Callable[[Trouble], None], name: str
) -> None:
    begin, end = TROUBLES[name]
    held = site.submit("site/chain", a={"hold_on": [1], "hold": name})
    site.started(held, step="a")
    in_trouble(begin)
    meanwhile = site.submit_many(5, "site/one", fail_on=[1])
    site.release(name)
    tell(broker, end, password="other" if name == "locked" else None)
    eventually(lambda: site.states([held, *meanwhile]) == {"complete": 6}, timeout=60)


def test_a_worker_that_is_unblocked_or_cut_off_listens_again(site: Site, broker: OwnBroker) -> None:
    with broker.client() as client:
        for _ in range(3):
            for one in client.client_list():
                client.execute_command("CLIENT", "UNBLOCK", one["id"], "ERROR")
            client.execute_command(*CUT)
    ids = site.submit_many(5, "site/one", fail_on=[1])
    eventually(lambda: site.states(ids) == {"complete": 5}, timeout=60)


def test_a_full_broker_is_emptied_by_a_worker_that_comes_later(site: Site, broker: OwnBroker) -> None:
    assert site.terminate("steps") == 0
    waiting = site.submit_many(5, "site/one")
    with broker.client() as client:
        bell = client.lindex("steps", 0)
        client.lpush("steps", *[bell] * 200)
        client.config_set("maxmemory", 1)
        site.start_worker("steps")
        eventually(lambda: site.states(waiting) == {"complete": 5}, timeout=60)
        eventually(lambda: client.llen("steps") == 0, timeout=60)
        client.config_set("maxmemory", 0)
    after = site.submit_many(5, "site/one", fail_on=[1])
    eventually(lambda: site.states(after) == {"complete": 5}, timeout=60)
