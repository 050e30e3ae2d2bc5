"""What keeps work back while everything runs for real: paused queues, open breakers, and letting them go."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from remand_app.embedded.stack import free_port
from remand_app.engine import overview
from remand_app.engine.operate.breakers import reset_breaker
from remand_app.engine.pauses import resume_queue
from remand_app.store.pauses import pauses
from tests.support.site import PATIENCE_SECONDS, Site
from tests.support.waiting import eventually

TEMPLATES = """
{namespace: gates, name: fast, version: "1", steps: [{name: only, handler: site.play, queue: fast}]}
---
{namespace: gates, name: bank, version: "1", steps: [{name: only, handler: site.play, dependency: bank}]}
"""
MANY = 20
LOGIN = ("remand", "let me look")


@pytest.fixture(scope="module")
def running(shared_site: Site) -> Site:
    path: Path = shared_site.folder / "gates.yaml"
    path.write_text(TEMPLATES)
    shared_site.cli("template", "publish", str(path))
    shared_site.start_worker("steps")
    shared_site.start_worker("fast", ["fast"], concurrency=1)
    shared_site.ready("steps", "fast", "support")
    return shared_site


@pytest.fixture
def site(running: Site) -> Iterator[Site]:
    yield running
    # A test that failed half way must not keep back the work of those that follow.
    for pause in pauses(running.database):
        resume_queue(running.engine, pause.queue, by="test")
    for one in overview.breakers(running.engine):
        if one.is_gating:
            reset_breaker(running.engine, one.name, by="test")
    running.settle()


def queue(site: Site, name: str) -> dict[str, Any]:
    answer: dict[str, Any] = site.cli("queue", "show", name)
    return answer


def test_a_paused_retry_queue_loses_nothing(site: Site) -> None:
    site.cli("queue", "pause", "retry.exponential", "--reason", "look first", "--by", "ann")
    failing = site.submit_many(MANY, fail_on=[1])
    eventually(
        lambda: queue(site, "retry.exponential")["failed"] == MANY,
        timeout=PATIENCE_SECONDS,
        message="not every failure is in the queue",
    )

    # A failure that came later, of another policy, is decided meanwhile.
    site.cli("submit", "site/one", "--input", '{"give_up_on": [1]}', "--wait", "--timeout", "60", exits=1)

    shown = queue(site, "retry.exponential")
    assert (shown["failed"], shown["paused_by"], shown["paused_reason"]) == (MANY, "ann", "look first")
    assert shown["oldest_seconds"] > 0
    assert {one.decision for workflow in failing for one in site.attempts(workflow)} == {None}
    [step] = site.cli("workflow", "show", str(failing[0]))["steps"]
    assert step["state"] == "enqueued_as_error_for_orchestration"
    assert (step["waits_in"], step["paused_since"]) == ("retry.exponential", shown["paused_since"])

    site.cli("queue", "resume", "retry.exponential")
    site.settle()
    assert site.states(failing) == {"complete": MANY}
    assert {tuple(site.outcomes(workflow)) for workflow in failing} == {("failed", "complete")}


def test_a_paused_queue_of_steps_rests_while_others_go_on(site: Site) -> None:
    site.cli("queue", "pause", "steps")
    resting = site.submit_many(MANY)

    done = site.cli("submit", "gates/fast", "--wait", "--timeout", "60")

    assert done["state"] == "complete"
    assert queue(site, "steps")["ready"] == MANY
    assert {one.workflow_id for one in site.effects("start")}.isdisjoint(map(str, resting))
    # A busy machine gives it more to find, and another exit code for that.
    findings = json.loads(site.run(*site.remand("doctor", "--json")).stdout)["findings"]
    warned = [one["todo"] for one in findings if one["subject"] == "paused"]
    assert warned == ["remand queue resume steps"]

    site.cli("queue", "resume", "steps")
    site.settle()
    assert site.states(resting) == {"complete": MANY}


def test_an_open_breaker_holds_its_dependency_alone_and_uses_no_attempt_up(site: Site) -> None:
    site.cli("breaker", "open", "bank", "--reason", "their maintenance", "--by", "ann")
    held = site.submit_many(MANY, "gates/bank")
    free = site.cli("submit", "site/one", "--wait", "--timeout", "60")
    assert free["state"] == "complete"
    eventually(
        lambda: site.cli("breaker", "show", "bank")["held"] == MANY,
        timeout=PATIENCE_SECONDS,
        message="the breaker does not hold everything",
    )

    shown = site.cli("workflow", "show", str(held[0]))

    assert (shown["state"], shown["held_by"]) == ("waiting_for_retry", ["bank"])
    [step] = shown["steps"]
    assert (step["state"], step["held_by"], step["attempt"]) == ("waiting_for_retry", "bank", 0)
    refused = site.cli("step", "retry", str(held[0]), "only", exits=5)["error"]
    assert refused["code"] == "HELD_BY_BREAKER"
    assert site.states(held) == {"waiting_for_retry": MANY}

    site.cli("breaker", "close", "bank", "--by", "ann")
    site.settle()
    assert site.states(held) == {"complete": MANY}
    assert {len(site.attempts(workflow)) for workflow in held} == {1}
    assert site.cli("breaker", "show", "bank")["is_gating"] is False


def test_opened_for_a_while_it_probes_and_closes_by_itself(site: Site) -> None:
    site.cli("breaker", "open", "bank", "--for", "2s")
    workflow = site.submit("gates/bank")

    site.settle()

    assert site.workflow(workflow).state == "complete"
    events = [one["event"] for one in site.cli("breaker", "show", "bank")["moves"]]
    assert events[:3] == ["probes_succeeded", "cool_down", "open_manually"]


# Flower


def start_flower(site: Site, name: str, **env: str) -> str:
    """Start Flower with a login and wait until it answers; return its address."""
    port = free_port()
    command = [sys.executable, "-m", "celery", "-q", "-A", "remand_workers", "flower", f"--port={port}"]
    site.start(name, [*command, "--address=127.0.0.1"], {"FLOWER_BASIC_AUTH": ":".join(LOGIN), **env})
    address = f"http://127.0.0.1:{port}"

    def answers() -> bool:
        try:
            return httpx.get(f"{address}/healthcheck").status_code == 200
        except httpx.TransportError:
            return False

    eventually(answers, timeout=PATIENCE_SECONDS, message="Flower does not answer")
    return address


def get(url: str, auth: tuple[str, str] | None = LOGIN) -> httpx.Response:
    return httpx.get(url, auth=auth, timeout=PATIENCE_SECONDS)


def cells(page: str, row: str) -> str:
    """Return the text of a table's row, without markup."""
    found = re.search(rf'<tr id="{re.escape(row)}">(.*?)</tr>', page, re.DOTALL)
    assert found, page
    return " ".join(re.sub(r"<[^>]+>", " ", found[1]).split())


def test_flower_shows_depth_and_age_pauses_and_breakers(site: Site) -> None:
    site.cli("queue", "pause", "retry.exponential", "--reason", "<b>look</b>", "--by", "ann")
    failing = site.submit_many(3, fail_on=[1])
    eventually(
        lambda: queue(site, "retry.exponential")["failed"] == 3,
        timeout=PATIENCE_SECONDS,
        message="not every failure is in the queue",
    )
    site.cli("breaker", "open", "bank", "--reason", "their maintenance")
    address = start_flower(site, "flower")

    answer = get(f"{address}/remand")

    assert answer.status_code == 200
    row = cells(answer.text, "queue-retry.exponential")
    assert re.match(r"retry\.exponential 0 3 0 0 0 \S+ (ms|s|min) 1 for .+ by ann: &lt;b&gt;look", row), row
    assert cells(answer.text, "breaker-bank").startswith("bank open ")
    assert 'href="/remand">Remand queues</a>' in get(f"{address}/workers").text
    told = get(f"{address}/api/remand").json()
    [exponential] = [one for one in told["queues"] if one["queue"] == "retry.exponential"]
    assert (exponential["failed"], exponential["paused_by"]) == (3, "ann")
    assert exponential["oldest_seconds"] > 0
    assert [one["state"] for one in told["breakers"] if one["name"] == "bank"] == ["open"]
    for path in ("/remand", "/api/remand"):
        assert get(f"{address}{path}", None).status_code == 401
        assert get(f"{address}{path}", ("remand", "guessed")).status_code == 401
        assert httpx.post(f"{address}{path}", auth=LOGIN, timeout=PATIENCE_SECONDS).status_code == 405
    site.kill("flower")
    site.cli("breaker", "close", "bank")
    site.cli("queue", "resume", "retry.exponential")
    site.settle()
    assert site.states(failing) == {"complete": 3}


def test_flower_goes_on_without_the_database_and_says_so(site: Site) -> None:
    address = start_flower(
        site, "flower-alone", REMAND_DATABASE_URL="postgresql://remand:hush@127.0.0.1:1/remand"
    )

    answer = get(f"{address}/remand")

    assert answer.status_code == 503
    assert "DATABASE_UNREACHABLE" in answer.text
    assert "hush" not in answer.text
    assert get(f"{address}/api/remand").json()["error"]["code"] == ("DATABASE_UNREACHABLE")
    assert get(f"{address}/broker").status_code == 200
    site.kill("flower-alone")
