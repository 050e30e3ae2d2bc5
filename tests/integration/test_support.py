from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import redis

from remand_app.embedded.stack import Stack
from remand_app.store.database import Database
from tests.support.engine import Harness
from tests.support.invariants import check_invariants
from tests.support.servers import ROOT
from tests.support.waiting import eventually

ONE = """
namespace: t
name: one
version: "1"
steps: [{name: a, handler: h.ok}]
"""


@contextmanager
def restored(database: Database) -> Iterator[None]:
    """Empty the database at the end, so that the fixture finds nothing broken."""
    from tests.support.databases import empty_all

    try:
        yield
    finally:
        empty_all(database)


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        ("update remand.workflows set state = 'waiting_for_retry'", "the moves end at steps_in_process"),
        ("update remand.workflows set open_steps = 3", "counts 3 open and 0 failed"),
        ("delete from remand.run_queue", "its run queue row is None"),
        ("update remand.run_queue set attempt = 4", "its row is"),
        ("update remand.steps set failures = 4", "beyond its limits"),
        ("update remand.steps set state = 'error', ended_at = now()", "has 0 open dead letters"),
        ("update remand.steps set open_parents = 1, state = 'pending', enqueued_at = null", "1 open parents"),
    ],
)
def test_the_invariants_find_damage(raw_database: Database, damage: str, complaint: str) -> None:
    harness = Harness(raw_database)
    harness.publish(ONE)
    harness.submit("t/one")
    check_invariants(raw_database)
    raw_database.call(damage)
    if "error" in damage:
        raw_database.call("update remand.workflows set error_steps = 1")

    with restored(raw_database), pytest.raises(AssertionError, match=complaint):
        check_invariants(raw_database)


def test_the_harness_plays_a_workflow_to_its_end(harness: Harness) -> None:
    tries: list[int] = []

    @harness.handler("h.ok")
    def ok(ctx: Any) -> int:
        tries.append(ctx.attempt)
        if ctx.attempt == 1:
            raise ConnectionResetError("reset")
        return 7

    harness.publish(ONE)
    workflow_id = harness.submit("t/one")

    assert harness.run_to_end(workflow_id).state == "complete"
    assert tries == [1, 2]


def test_the_broker_is_ours_and_empty(broker_url: str) -> None:
    if not broker_url.startswith("redis"):
        pytest.skip("a Redis test")
    with redis.Redis.from_url(broker_url) as client:
        assert client.dbsize() == 0
        client.set("left", "behind")


CLIENT = """
import sys
from tests.support.servers import servers
with servers(sys.argv[1]):
    print("up", flush=True)
    sys.stdin.read()
"""


def test_the_servers_go_with_the_last_test_process_even_when_it_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REMAND_TEST_DATABASE_URL", raising=False)
    run = f"killed-{os.getpid()}"
    home = Path(tempfile.gettempdir()) / f"remand-test-{run}"
    clients = [
        subprocess.Popen(
            [sys.executable, "-c", CLIENT, run], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
        )
        for _ in range(2)
    ]
    try:
        assert [client.stdout.readline() for client in clients] == [b"up\n", b"up\n"]
        clients[0].kill()
        clients[0].wait()
        assert Stack.running(home / "data") is not None
    finally:
        for client in clients:
            client.kill()
            client.communicate()

    eventually(lambda: not home.exists(), timeout=20)
