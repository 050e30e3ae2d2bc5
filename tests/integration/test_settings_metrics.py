"""The settings that say whether a worker counts, and where it tells what. See `test_settings_matter.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from celery.utils.dispatch import Signal

from remand_app.config import Settings
from remand_app.embedded.stack import free_port
from remand_app.telemetry import metrics_buffer
from remand_workers import metrics

SIGNALS = ("worker_init", "worker_process_init", "worker_ready", "task_postrun", "worker_process_shutdown",
           "worker_shutdown")  # fmt: skip
Start = Callable[[int, str], None]


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Start the counting of a worker with these settings."""
    for name in SIGNALS:
        monkeypatch.setattr(metrics, name, Signal())
    monkeypatch.setattr(metrics._Worker, "counts", None)

    def begin(port: int, host: str) -> None:
        monkeypatch.setattr(metrics, "settings", Settings(metrics_port=port, metrics_host=host))
        metrics.install()
        metrics.worker_init.send(None)
        metrics.worker_ready.send(None)

    yield begin
    metrics.worker_shutdown.send(None)
    assert not metrics_buffer.counted()


def told(host: str, port: int) -> bool:
    """Whether numbers of a worker are to be had there."""
    try:
        with urlopen(f"http://{host}:{port}/metrics", timeout=10) as answer:
            return b"remand_claim_duration_seconds_count 0.0" in answer.read()
    except URLError:
        return False


@pytest.mark.parametrize("counts", [True, False])
def test_metrics_port_is_where_a_worker_tells_what_it_counted(start: Start, counts: bool) -> None:
    port = free_port()

    start(port if counts else 0, "127.0.0.1")

    assert told("127.0.0.1", port) is counts
    assert bool(metrics_buffer.counted()) is counts


@pytest.mark.parametrize(("host", "answers"), [("127.0.0.1", [True, False]), ("127.0.0.2", [False, True])])
def test_metrics_host_is_the_address_of_that_port(start: Start, host: str, answers: list[bool]) -> None:
    port = free_port()

    start(port, host)

    assert [told("127.0.0.1", port), told("127.0.0.2", port)] == answers
