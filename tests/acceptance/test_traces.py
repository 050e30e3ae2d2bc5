"""One trace from submit through every attempt, across processes, as a collector gets it. Source: E5."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from remand_app.telemetry import traces
from tests.support.receiver import Receiver, receiver
from tests.support.site import PATIENCE_SECONDS, Site
from tests.support.site_fixtures import OpenSite
from tests.support.waiting import eventually

pytestmark = pytest.mark.once

_ALL = "select id from remand.workflows"


@pytest.fixture
def collector() -> Iterator[Receiver]:
    with receiver() as listening:
        yield listening


def environment(collector: Receiver, **more: str) -> dict[str, str]:
    address = collector.url.partition("/services")[0]
    # Told to what is started alone: this process goes on with other tests.
    return {
        "REMAND_TRACES": "true",
        "OTEL_EXPORTER_OTLP_ENDPOINT": address,
        "OTEL_BSP_SCHEDULE_DELAY": "100",
        **more,
    }


def spans(collector: Receiver, workflow: UUID) -> list[Any]:
    """Return what was told of a workflow, in the order in which it began."""
    told = []
    for request in collector.received:
        assert request.path == "/v1/traces"
        for of_process in ExportTraceServiceRequest.FromString(request.body).resource_spans:
            told += [span for scope in of_process.scope_spans for span in scope.spans]
    return sorted(
        (span for span in told if attributes(span)["remand.workflow_id"] == str(workflow)),
        key=lambda span: span.start_time_unix_nano,
    )


def attributes(span: Any) -> dict[str, Any]:
    return {
        one.key: one.value.int_value if one.value.HasField("int_value") else one.value.string_value
        for one in span.attributes
    }


def opened(open_site: OpenSite, collector: Receiver) -> Site:
    site = open_site()
    site.environment |= environment(collector)
    site.start_support()
    site.start_worker("w1")
    site.ready("w1", "support")
    return site


def submitted(site: Site, **parts: Any) -> UUID:
    """Submit from a process of its own."""
    told = site.cli("submit", "site/one", "--input", json.dumps(parts))
    return UUID(told["workflow_id"])


def test_a_workflow_is_one_trace_from_its_submit_through_every_attempt(
    open_site: OpenSite, collector: Receiver
) -> None:
    site = opened(open_site, collector)
    workflow = submitted(site, fail_on=[1])
    site.settle()

    eventually(lambda: len(spans(collector, workflow)) == 3, timeout=PATIENCE_SECONDS)
    submit, first, second = spans(collector, workflow)
    assert {span.trace_id for span in (submit, first, second)} == {traces.trace_id(workflow).to_bytes(16)}
    assert (submit.name, submit.parent_span_id) == ("submit site/one", b"")
    assert (first.name, second.name) == ("site.play", "site.play")
    assert first.parent_span_id == second.parent_span_id == submit.span_id
    assert [attributes(one)["remand.attempt"] for one in (first, second)] == [1, 2]
    assert (first.status.code, second.status.code) == (2, 0)
    assert attributes(first)["error.type"] == "remand.errors.RetryableError"
    assert submit.start_time_unix_nano <= first.start_time_unix_nano


def test_it_goes_on_in_another_worker_when_one_was_killed(open_site: OpenSite, collector: Receiver) -> None:
    site = opened(open_site, collector)
    workflow = submitted(site, hold_on=[1])
    site.started(workflow)
    site.kill("w1")
    site.start_worker("w2")
    site.settle()

    eventually(lambda: len(spans(collector, workflow)) == 2, timeout=PATIENCE_SECONDS)
    submit, second = spans(collector, workflow)
    assert (second.trace_id, second.parent_span_id) == (submit.trace_id, submit.span_id)
    assert attributes(second)["remand.attempt"] == 2, "the first died with its process"


def test_what_was_left_out_at_the_submit_is_left_out_for_good(
    open_site: OpenSite, collector: Receiver
) -> None:
    site = open_site()
    ratio = {"OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.5"}
    site.environment |= environment(collector, **ratio)
    site.start_support()
    site.start_worker("w1")
    site.ready("w1")
    site.cli("submit", "site/one", "--count", "40")
    site.settle()
    site.terminate("w1")

    numbers = Counter(len(spans(collector, UUID(str(row[0])))) for row in site.database.call(_ALL))
    assert set(numbers) == {0, 2}, "a submit without its attempt, or an attempt without its submit"
