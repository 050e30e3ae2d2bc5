"""What a process tells OpenTelemetry, seen by an exporter in memory. Source: E5."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

from remand.errors import PermanentError
from remand_app.domain.errors import ConfigInvalid
from remand_app.engine.spans import Spans
from remand_app.store.ids import new_id
from remand_app.telemetry import traces
from remand_app.telemetry.traces import Traces, root_id, trace_id
from tests.support.engine import Harness
from tests.support.shapes import always, shape
from tests.support.web import Web

ONE = shape("one", {"a": ()})
ASKED = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.fixture
def exported() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def provider(exported: InMemorySpanExporter) -> TracerProvider:
    made = TracerProvider()
    made.add_span_processor(SimpleSpanProcessor(exported))
    return made


@pytest.fixture
def told(provider: TracerProvider, monkeypatch: pytest.MonkeyPatch) -> Iterator[Traces]:
    made = traces.of(provider)
    assert made is not None
    monkeypatch.setattr(traces._Process, "traces", made)
    return made


def attempt(harness: Harness, told: Traces) -> None:
    harness.worker.executor._batch_runner.audience = Spans(told)
    harness.run_until_quiet()


def test_spans_of_the_handler_are_children_of_its_attempt(
    harness: Harness, told: Traces, provider: TracerProvider, exported: InMemorySpanExporter
) -> None:
    def charge(_ctx: Any) -> str:
        with provider.get_tracer("users").start_as_current_span("POST /charge"):
            return "paid"

    harness.publish(ONE)
    harness.play(a=charge)
    workflow = harness.submit("t/one")
    attempt(harness, told)

    submit, inner, outer = exported.get_finished_spans()
    assert inner.parent is not None
    assert outer.parent is not None
    assert inner.parent.span_id == outer.context.span_id
    assert outer.parent.span_id == submit.context.span_id == root_id(workflow)
    assert {one.context.trace_id for one in (submit, inner, outer)} == {trace_id(workflow)}
    assert not trace.get_current_span().get_span_context().is_valid, "the context is as it was"


def test_an_error_is_told_by_its_class_and_not_in_its_words(
    harness: Harness, told: Traces, exported: InMemorySpanExporter
) -> None:
    harness.publish(ONE)
    harness.play(a=always(PermanentError("card 4711 is secret")))
    harness.submit("t/one", {"card": "4711"})
    attempt(harness, told)

    *_, ended = exported.get_finished_spans()
    assert ended.status.status_code is trace.StatusCode.ERROR
    assert ended.attributes is not None
    assert ended.attributes["error.type"] == "remand.errors.PermanentError"
    assert "4711" not in "".join(one.to_json() for one in exported.get_finished_spans())


def test_a_submit_that_found_its_workflow_tells_nothing_again(
    harness: Harness, told: Traces, exported: InMemorySpanExporter
) -> None:
    harness.publish(ONE)
    one = new_id()
    harness.submit("t/one", id=one)
    harness.submit("t/one", id=one)
    assert [span.name for span in exported.get_finished_spans()] == ["submit t/one"]


def test_a_submit_is_linked_to_the_request_that_brought_it(
    harness: Harness, web: Web, told: Traces, exported: InMemorySpanExporter
) -> None:
    harness.publish(ONE)
    answer = web.program("operator").post(
        "/api/v1/workflows", json={"template": "t/one"}, headers={"traceparent": ASKED}
    )
    assert answer.status_code == 201, answer.text
    [span] = exported.get_finished_spans()
    [link] = span.links
    assert f"00-{link.context.trace_id:032x}-{link.context.span_id:016x}-01" == ASKED
    assert span.context.trace_id == trace_id(UUID(answer.json()["workflow_id"]))


def test_ids_are_spread_as_samplers_need() -> None:
    sampler = ParentBased(TraceIdRatioBased(0.25))
    ids = [trace_id(new_id()) for _ in range(4000)]
    kept = sum(sampler.should_sample(None, one, "x").decision.is_sampled() for one in ids)
    assert 800 < kept < 1200
    assert all(ids)


def test_without_the_library_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces._Process, "traces", None)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(ConfigInvalid, match=r"remand\[otel\]"):
        traces.start()


def test_it_is_silent_where_the_sdk_is_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    assert traces.of(TracerProvider()) is None
