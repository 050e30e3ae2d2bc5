"""One line for each unit of work, as `docs/operations/logs.md` says. Source: E5."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

from remand import PermanentError
from remand_app.domain.access import Permission
from remand_app.engine.sweeps.requeue import requeue
from remand_app.telemetry import configure_logging
from tests.support.engine import Harness
from tests.support.shapes import CHAIN, fails, shape
from tests.support.web import Web

ONE = shape("one", {"a": ()})


Written = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def written() -> Iterator[Written]:
    """Log as JSON into memory; the value reads the lines."""
    stream, root = io.StringIO(), logging.getLogger()
    handlers, level, configured = root.handlers[:], root.level, structlog.get_config()
    configure_logging("INFO", "json", stream=stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.configure(**configured)


def told(lines: list[Any]) -> Counter[str]:
    return Counter(line["event"] for line in lines)


def test_a_drain_is_one_line_however_many_steps_went_well(harness: Harness) -> None:
    harness.publish(shape("chain", CHAIN))
    harness.play()
    harness.submit_many("t/chain", range(5))

    with capture_logs() as lines:
        harness.drain()

    [line] = lines
    assert (line["event"], line["log_level"], line["queue"]) == ("drain.ended", "info", "steps")
    assert (line["claimed"], line["completed"], line["failed"], line["given_back"]) == (20, 20, 0, 0)
    assert line["duration_seconds"] >= 0


def test_an_attempt_that_fails_is_one_line_and_what_becomes_of_it_another(harness: Harness) -> None:
    harness.publish(ONE)
    harness.play(a=fails(ConnectionResetError("reset"), PermanentError("no")))
    workflow = harness.submit("t/one")

    with capture_logs() as lines:
        harness.run_to_end(workflow)

    about = [line for line in lines if line.get("workflow_id") == str(workflow)]
    assert [(line["event"], line["attempt"], line["log_level"]) for line in about] == [
        ("attempt.failed", 1, "info"),
        ("step.retry_scheduled", 1, "info"),
        ("attempt.failed", 2, "info"),
        ("dead_letter.opened", 2, "error"),
    ]


def test_a_sweep_tells_what_it_moved_and_is_silent_otherwise(harness: Harness) -> None:
    harness.publish(ONE)
    harness.play(a=fails(ConnectionResetError("reset")))
    harness.submit("t/one")
    harness.run_until_quiet()

    with capture_logs() as lines:
        harness.sweep_ring()
        harness.sweep_rescue()
        requeue(harness.engine)
    assert lines == []

    harness.advance(hours=1)
    with capture_logs() as lines:
        harness.sweep_ring()
    [line] = lines
    assert (line["event"], line["sweep"], line["moved"]) == ("sweep.ended", "ring", 1)


def test_an_attempt_that_is_rescued_is_one_line_and_its_worker_another(harness: Harness) -> None:
    harness.publish(ONE)
    harness.submit_many("t/one", range(3))
    harness.new_worker(hostname="w9@test").queue.claim("steps", 3)
    harness.clock.advance(3600)

    with capture_logs() as lines:
        harness.sweep_rescue()

    assert told(lines) == {"attempt.rescued": 3, "worker.gone": 1, "sweep.ended": 1}


def test_a_request_is_one_line_whatever_its_answer(web: Web) -> None:
    client = web.program("viewer", scopes=[Permission.METRICS_READ])
    for path, status in (("/metrics", 200), ("/api/v1/queues", 403), ("/nowhere", 404)):
        with capture_logs() as lines:
            answer = client.get(path)

        [line] = lines
        assert (line["event"], line["path"], line["status"]) == ("request.ended", path, answer.status_code)
        assert (answer.status_code, line["request_id"]) == (status, answer.headers["X-Request-Id"])


def test_what_a_handler_logs_carries_the_ids_of_its_step(harness: Harness, written: Written) -> None:
    harness.publish(shape("both", {"a": (), "b": "a"}))
    shop = logging.getLogger("shop")

    async def later(ctx: Any) -> None:
        await asyncio.sleep(0)
        shop.info("told %s", ctx.step)

    harness.play(a=lambda ctx: shop.info("told %s", ctx.step), b=later)
    ids = [harness.submit("t/both") for _ in range(2)]
    harness.drain()

    mine = [one for one in written() if one["event"].startswith("told")]
    assert sorted((one["workflow_id"], one["step"], one["attempt"], one["event"]) for one in mine) == sorted(
        (str(workflow), step, 1, f"told {step}") for workflow in ids for step in "ab"
    )
    [drained] = [one for one in written() if one["event"] == "drain.ended"]
    assert "workflow_id" not in drained
