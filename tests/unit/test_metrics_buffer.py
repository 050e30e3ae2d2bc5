from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from remand_app.telemetry import log, metrics_buffer
from remand_app.telemetry.exposition import Exposed, written
from remand_app.telemetry.metrics import BATCH_STEPS, BELLS, LOGGED_EVENTS, METRICS, SETTLE_SECONDS
from remand_app.telemetry.metrics_buffer import MAX_SERIES, OTHER, MetricsBuffer, Series


@pytest.fixture(autouse=True)
def _stopped() -> Iterator[None]:
    metrics_buffer.stop()
    yield
    metrics_buffer.stop()


def text(series: Series) -> list[str]:
    body, _ = written(Exposed(lambda: series, "process"), "")
    return body.decode().splitlines()


def test_nothing_is_counted_before_the_start() -> None:
    metrics_buffer.count(BELLS, "steps", "sent")
    metrics_buffer.observe(SETTLE_SECONDS, 1.0)
    metrics_buffer.flush(now=True)
    assert metrics_buffer.counted() == {}


def test_what_has_no_labels_begins_at_zero() -> None:
    metrics_buffer.start()
    assert "remand_settle_duration_seconds_count 0.0" in text(metrics_buffer.counted())


def test_a_histogram_is_exposed_cumulated() -> None:
    metrics_buffer.start()
    for size in (1, 2, 2, 7, 5000):
        metrics_buffer.observe(BATCH_STEPS, size)
    lines = [line for line in text(metrics_buffer.counted()) if line.startswith("remand_batch_steps")]
    assert lines[:3] == [
        'remand_batch_steps_bucket{le="1.0"} 1.0',
        'remand_batch_steps_bucket{le="2.0"} 3.0',
        'remand_batch_steps_bucket{le="5.0"} 3.0',
    ]
    assert lines[-3:] == [
        'remand_batch_steps_bucket{le="+Inf"} 5.0',
        "remand_batch_steps_count 5.0",
        "remand_batch_steps_sum 5012.0",
    ]


def test_every_metric_is_there_with_its_meaning_even_while_nothing_was_counted() -> None:
    lines = text({})
    for metric in METRICS.values():
        name = metric.name.removesuffix("_total") if metric.kind == "counter" else metric.name
        shown = any(line.startswith(f"# HELP {name}") for line in lines)
        assert shown == (metric.source == "process")


def test_too_many_values_of_a_label_are_counted_as_one() -> None:
    counts = MetricsBuffer()
    for number in range(MAX_SERIES + 20):
        counts.count(BELLS, (f"q{number}", "sent"), 1)
    seen = counts.seen()
    assert len(seen) == MAX_SERIES + 1
    assert seen[BELLS.name, (OTHER, OTHER)] == [20]
    counts.count(BELLS, ("q3", "sent"), 1)
    assert counts.seen()[BELLS.name, ("q3", "sent")] == [2]


def test_what_cannot_be_told_is_kept_and_told_later() -> None:
    told: list[Series] = []
    takes = [False, True]

    def tell(series: Series) -> Series:
        told.append(series)
        return {} if takes.pop(0) else series

    metrics_buffer.start(tell)
    metrics_buffer.count(BELLS, "steps", "sent", by=3)
    metrics_buffer.flush(now=True)
    assert metrics_buffer.counted()[BELLS.name, ("steps", "sent")] == [3]
    metrics_buffer.count(BELLS, "steps", "sent")
    metrics_buffer.flush(now=True)
    assert told[-1][BELLS.name, ("steps", "sent")] == [4]
    assert metrics_buffer.counted() == {}


def test_it_is_told_about_once_a_second() -> None:
    told: list[Series] = []
    metrics_buffer.start(lambda series: told.append(series) or {})
    for _ in range(100):
        metrics_buffer.count(BELLS, "steps", "sent")
        metrics_buffer.flush()
    assert len(told) <= 2


def test_a_child_does_not_count_again_what_its_parent_has() -> None:
    metrics_buffer.start()
    metrics_buffer.count(BELLS, "steps", "sent")
    pid = os.fork()
    if pid == 0:
        os._exit(0 if metrics_buffer.counted() == {} else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert metrics_buffer.counted()[BELLS.name, ("steps", "sent")] == [1]


def test_counts_of_another_version_of_the_code_are_left_out() -> None:
    counts = MetricsBuffer()
    counts.add({("remand_from_tomorrow_total", ()): [1.0], (BELLS.name, ("a", "sent")): [2.0]})
    assert counts.seen() == {(BELLS.name, ("a", "sent")): [2.0]}


def test_an_event_counts_whether_or_not_its_level_is_written() -> None:
    metrics_buffer.start()
    log("breaker.half_open", breaker="x")
    assert metrics_buffer.counted()[LOGGED_EVENTS.name, ("breaker.half_open",)] == [1]
