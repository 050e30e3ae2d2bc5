"""The broker is stopped, emptied, restarted, fed with nonsense: it carries bells, nothing depends on it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from remand_app.domain.template import load_text
from tests.support.own_servers import OwnBroker
from tests.support.site import SUPPORT, Site
from tests.support.waiting import eventually


@pytest.fixture
def broker(own_broker: tuple[Site, OwnBroker]) -> OwnBroker:
    return own_broker[1]


@pytest.fixture
def site(own_broker: tuple[Site, OwnBroker]) -> Iterator[Site]:
    site = own_broker[0]
    pids = {name: process.pid for name, process in site.processes.items()}
    yield site
    site.settle()
    assert {name: process.pid for name, process in site.processes.items()} == pids
    assert all(process.poll() is None for process in site.processes.values())


def test_steps_queued_while_the_broker_was_away_run_when_an_empty_one_is_back(
    site: Site, broker: OwnBroker
) -> None:
    running = site.submit("site/chain", a={"hold_on": [1], "hold": "away"})
    site.started(running, step="a")
    broker.stop()
    queued = site.submit_many(50, "site/chain")
    site.release("away")
    broker.start()
    eventually(lambda: site.states([running, *queued]) == {"complete": 51}, timeout=90)
    assert all(site.outcomes(one, "c") == ["complete"] for one in [running, *queued])


def test_retry_survives_a_broker_that_is_emptied_during_the_back_off(site: Site, broker: OwnBroker) -> None:
    ids = site.submit_many(20, "site/patient", fail_on=[1])
    eventually(lambda: site.states(ids) == {"waiting_for_retry": 20}, timeout=60)
    with broker.client() as client:
        client.flushall()
    eventually(lambda: site.states(ids) == {"complete": 20}, timeout=60)
    assert all(site.outcomes(one) == ["failed", "complete"] for one in ids)


def test_workers_hear_again_after_restarts_and_cut_connections_under_load(
    site: Site, broker: OwnBroker
) -> None:
    load = site.submit_many(300, "site/one", seconds=0.01, fail_on=[])
    for _ in range(3):
        broker.restart()
    with broker.client() as client:
        eventually(lambda: client.execute_command("CLIENT", "KILL", "TYPE", "normal") > 0, timeout=30)
    after = site.submit_many(5, "site/one")
    eventually(lambda: site.states([*load, *after]) == {"complete": 305}, timeout=90)


def test_bells_are_acknowledged_before_the_step_runs(site: Site, broker: OwnBroker) -> None:
    held = site.submit("site/one", hold_on=[1], hold="acknowledged")
    site.started(held)
    with broker.client() as client:
        eventually(lambda: client.hlen("unacked") == 0, timeout=30)
    site.release("acknowledged")


@pytest.mark.parametrize(
    "message",
    [
        "{truncated",
        "",
        json.dumps({"body": "%%%", "headers": {}, "properties": {}}),
        json.dumps({"nothing": "that a worker knows"}),
        json.dumps(
            {
                "body": "AAAA",
                "content-type": "application/x-python-serialize",
                "content-encoding": "binary",
                "headers": {"task": "remand.drain", "id": "1", "lang": "py"},
                "properties": {
                    "body_encoding": "base64",
                    "delivery_tag": "1",
                    "delivery_info": {"exchange": "", "routing_key": "steps"},
                },
            }
        ),
        json.dumps(
            {
                "body": "not base64!",
                "content-type": "application/json",
                "content-encoding": "utf-8",
                "headers": {"task": "remand.drain", "id": "1", "lang": "py"},
                "properties": {
                    "body_encoding": "base64",
                    "delivery_tag": "2",
                    "delivery_info": {"exchange": "", "routing_key": "steps"},
                },
            }
        ),
    ],
    ids=["truncated", "empty", "no envelope", "foreign", "pickle", "base64"],
)
def test_message_that_is_no_bell_harms_nobody(site: Site, broker: OwnBroker, message: str) -> None:
    letters = "select count(*) from remand.dead_letters where source = 'message'"
    [(before,)] = site.database.call(letters)
    with broker.client() as client:
        client.lpush("steps", message)
    eventually(lambda: site.database.call(letters) == [(before + 1,)], timeout=60)
    after = site.submit_many(5, "site/one")
    eventually(lambda: site.states(after) == {"complete": 5}, timeout=60)


def test_task_nobody_knows_and_a_bell_for_a_strange_queue_harm_nobody(site: Site) -> None:
    app = site._bell._app
    app.send_task("app.nosuch", queue="steps")
    app.send_task("remand.drain", args=["a queue nobody has"], queue="steps")
    app.send_task("remand.drain", args=[], queue="steps")
    app.send_task("remand.drain_failures", args=["steps"], queue="retry.never")
    after = site.submit_many(5, "site/chain", b={"fail_on": [1]})
    eventually(lambda: site.states(after) == {"complete": 5}, timeout=60)


SIDE = """
namespace: site
name: side
version: "1"
steps:
  - {name: only, handler: site.play, queue: side}
"""


def test_a_bell_in_another_queue_makes_no_worker_run_what_is_not_its_own(site: Site) -> None:
    app = site._bell._app
    site.engine.templates.publish(load_text(SIDE, "side.yaml"))
    wanted = site.submit_many(3, "site/side")
    heard = len(misdirected(site))
    app.send_task("remand.drain", args=["side"], queue="steps")
    app.send_task("remand.drain", args=[["side"]], queue="retry.never")
    app.send_task("remand.drain_failures", args=["retry.never"], queue="steps")
    eventually(lambda: len(misdirected(site)) == heard + 3, timeout=60)
    assert site.states(wanted) == {"steps_in_process": 3}
    assert [site.attempts(one) for one in wanted] == [[], [], []]

    site.start_worker("side", ("side",))
    eventually(lambda: site.states(wanted) == {"complete": 3}, timeout=60)
    site.kill("side")
    del site.processes["side"]


def misdirected(site: Site) -> list[str]:
    lines = [line for _, text in site.logs() for line in text.splitlines()]
    return [line for line in lines if "bell.misdirected" in line]


def test_retries_pending_when_all_workers_are_killed_still_happen(own_broker: tuple[Site, OwnBroker]) -> None:
    site, broker = own_broker
    ids = site.submit_many(20, "site/patient", fail_on=[1])
    eventually(lambda: site.states(ids) == {"waiting_for_retry": 20}, timeout=60)
    for name in ("steps", "support", "beat"):
        site.kill(name, 15, group=False)
        site.kill(name)
    broker.restart()
    site.start_worker("support", SUPPORT, concurrency=1)
    site.start_worker("steps")
    site.start_beat()
    eventually(lambda: site.states(ids) == {"complete": 20}, timeout=60)
    assert all(site.outcomes(one) == ["failed", "complete"] for one in ids)
    site.settle()
