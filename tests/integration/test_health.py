from __future__ import annotations

import socket
from datetime import UTC, datetime

import pytest

from remand_app import healthcheck
from remand_app.store.worker_health import WorkerHealth, worker_health
from tests.support.clock import FakeClock
from tests.support.engine import Harness
from tests.support.shapes import shape

ONE = shape("one", {"a": ()})
HERE = f"step@{socket.gethostname()}"


@pytest.fixture
def harness(harness: Harness) -> Harness:
    # The check looks at Postgres' clock, so rows are made now.
    assert isinstance(harness.clock, FakeClock)
    harness.clock.now = datetime.now(UTC)
    return harness


def look(url: str, node: str = "") -> WorkerHealth:
    seen = worker_health(url, node, patience_seconds=healthcheck.PATIENCE_SECONDS)
    assert seen is not None
    return seen


def test_nobody_registered_is_nobody_seen(harness: Harness, database_url: str) -> None:
    harness.new_worker("steps", hostname="step@elsewhere")
    assert worker_health(database_url, patience_seconds=healthcheck.PATIENCE_SECONDS) is None


def test_the_newest_worker_of_this_host_is_meant(harness: Harness, database_url: str) -> None:
    harness.new_worker("steps", hostname=HERE)
    harness.advance(1)
    harness.new_worker("gpu", hostname=HERE)
    harness.advance(1)
    harness.new_worker("other", hostname="step@elsewhere")
    assert look(database_url).queues == ["gpu"]
    assert look(database_url, "step@elsewhere").queues == ["other"]


def test_old_work_is_seen_until_somebody_holds_it(harness: Harness, database_url: str) -> None:
    worker = harness.new_worker("steps", hostname=HERE)
    harness.publish(ONE)
    harness.submit("t/one")
    assert look(database_url).waiting_queue is None

    harness.database.call("update remand.run_queue set due_at = now() - interval '1 minute'")
    assert healthcheck.trouble(look(database_url), None) is not None

    assert worker.queue.claim("steps", 1)
    seen = look(database_url)
    assert (seen.is_busy, seen.waiting_queue) == (True, None)


def test_failures_wait_for_retry_workers(harness: Harness, database_url: str) -> None:
    harness.new_worker("retry.immediate", hostname=HERE)
    harness.play(a=ConnectionResetError("reset"))
    harness.publish(ONE)
    harness.submit("t/one")
    harness.drain()
    harness.database.call("update remand.run_queue set due_at = now() - interval '1 minute'")
    queue = harness.database.call("select queue from remand.run_queue")[0][0]
    harness.database.call("update remand.workers set queues = array[%s] where hostname = %s", (queue, HERE))
    assert look(database_url).waiting_queue == queue


def test_the_command_says_what_it_found(
    harness: Harness, database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REMAND_DATABASE_URL", database_url)
    monkeypatch.setattr("sys.argv", ["health"])
    assert healthcheck.main() == 1
    assert capsys.readouterr().out == "unhealthy: it is not registered\n"

    harness.new_worker("steps", hostname=HERE)
    assert healthcheck.main() == 0
    assert capsys.readouterr().out == "healthy\n"

    monkeypatch.setenv("REMAND_DATABASE_URL", "postgresql://nobody:geheim@127.0.0.1:1/none")
    assert healthcheck.main() == 1
    out = capsys.readouterr().out
    assert out.startswith("unhealthy: Postgres at 127.0.0.1:1/none is not usable")
    assert "geheim" not in out
