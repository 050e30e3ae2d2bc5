"""A Redis that loads its data, has lost its master or its slots: waited out, at a start and in the midst."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import redis

from remand_app.bell import bell_to
from remand_app.domain.errors import BrokerUnreachable
from tests.support.databases import Cluster
from tests.support.own_servers import OwnBroker
from tests.support.saying import Saying
from tests.support.site import Site
from tests.support.waiting import eventually

ANSWERS = (
    "LOADING Redis is loading the dataset in memory",
    "CLUSTERDOWN The cluster is down",
    "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
    "TRYAGAIN Multiple keys request during rehashing of slot",
)


@pytest.fixture(scope="module")
def saying() -> Iterator[Saying]:
    with tempfile.TemporaryDirectory(prefix="remand-site-") as folder:
        broker = OwnBroker(Path(folder))
        broker.start()
        with Saying(("127.0.0.1", int(broker.url.split(":")[2].split("/")[0]))) as made:
            yield made
        broker.stop()


@pytest.fixture(scope="module")
def site(cluster: Cluster, saying: Saying) -> Iterator[Site]:
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="remand-site-"))
        database_url = stack.enter_context(cluster.fresh())
        url = f"redis://127.0.0.1:{saying.port}/0"
        yield stack.enter_context(Site(Path(folder), database_url, url))


def says_in_its_log(site: Site, name: str, event: str) -> int:
    return site.log_path(name).read_text(errors="replace").count(event) if site.log_path(name).exists() else 0


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda text: text.split()[0])
def test_workers_and_beat_wait_it_out(site: Site, saying: Saying, answer: str) -> None:
    word = answer.split(maxsplit=1)[0].lower()
    workers = (f"steps-{word}", f"support-{word}")
    saying.answer = answer
    processes = [
        site.start_worker(workers[0]),
        site.start_worker(workers[1], ("retry.exponential", "remand.maintenance"), concurrency=1),
        site.start_beat(f"beat-{word}"),
    ]
    early = site.submit_many(3, "site/chain")
    for name in workers:
        eventually(lambda name=name: says_in_its_log(site, name, "broker.") > 0, timeout=60)  # type: ignore[misc]
    saying.answer = None
    eventually(lambda: site.states(early) == {"complete": 3}, timeout=60)

    told = {name: says_in_its_log(site, name, "broker.unusable") for name in workers}
    saying.answer = answer
    for name in workers:
        # Twice: it has tried again, and was refused again.
        eventually(
            lambda name=name: says_in_its_log(site, name, "broker.unusable") >= told[name] + 2,  # type: ignore[misc]
            timeout=60,
            message=f"{name} did not notice",
        )
    late = site.submit_many(3, "site/chain", b={"fail_on": [1]})
    saying.answer = None
    eventually(lambda: site.states(late) == {"complete": 3}, timeout=60)
    assert [process.poll() for process in processes] == [None] * 3
    assert "this is a bug" not in "".join(text for _, text in site.logs())
    for name in (*workers, f"beat-{word}"):
        site.kill(name)


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda text: text.split()[0])
def test_whoever_asks_is_told_what_the_broker_says(saying: Saying, answer: str) -> None:
    bell = bell_to(f"redis://127.0.0.1:{saying.port}/0")
    bell.check()
    saying.answer = answer
    try:
        with pytest.raises(BrokerUnreachable) as caught:
            bell.check()
    finally:
        saying.answer = None
    assert answer.split(" ", 1)[1][:20].lower() in caught.value.message.lower()
    bell.check()
    bell._app.close()


def test_the_answers_are_those_of_a_redis(saying: Saying) -> None:
    with redis.Redis(port=saying.port) as client:
        saying.answer = ANSWERS[0]
        with pytest.raises(redis.BusyLoadingError):
            client.get("a")
        saying.answer = None
        assert client.get("a") is None
