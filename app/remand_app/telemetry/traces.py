"""Traces for OpenTelemetry: a workflow is one trace, from its submit through every attempt, wherever it runs.

The ids of a trace and of its root span are computed from the workflow's id. They are neither stored nor
passed on, so a trace continues wherever its workflow does, even after a crash. OpenTelemetry's own variables
(`OTEL_*`) say where spans are sent. The library is imported only where traces are turned on. Source: E5.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from uuid import UUID

import remand_app as product
from remand_app.domain.errors import ConfigInvalid, Problem

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import Tracer, TracerProvider
    from opentelemetry.trace import Span

_PROPAGATED: Final = (b"traceparent", b"tracestate")
_LAST_WORDS_MS: Final = 2000
_ids: ContextVar[tuple[int, int] | None] = ContextVar("remand_trace_ids", default=None)


@dataclass(frozen=True, slots=True)
class Begun:
    """An attempt that runs: its span, and how the context was before."""

    span: Span
    token: Token[Context]


def trace_id(workflow_id: UUID) -> int:
    """Return the id of a workflow's trace, 128 bits; hashed: samplers need random ids."""
    return int.from_bytes(_digest(workflow_id)[:16])


def root_id(workflow_id: UUID) -> int:
    """Return the id of the trace's first span, 64 bits."""
    return int.from_bytes(_digest(workflow_id)[16:])


def _digest(workflow_id: UUID) -> bytes:
    return hashlib.blake2b(workflow_id.bytes, digest_size=24, person=b"remand-trace").digest()


class Traces:
    """What one process tells; spans are sent by a thread of the library, and dropped if they cannot be."""

    def __init__(self, provider: TracerProvider, tracer: Tracer) -> None:
        """`tracer`: of the provider, for nobody else."""
        from opentelemetry import context, trace  # noqa: PLC0415 - as in `_provider`
        from opentelemetry.sdk.trace.id_generator import IdGenerator  # noqa: PLC0415

        class Ids(IdGenerator):
            """As the provider's own, save for the root span of a workflow."""

            def __init__(self, inner: IdGenerator) -> None:
                self._inner = inner

            def generate_trace_id(self) -> int:
                ids = _ids.get()
                return self._inner.generate_trace_id() if ids is None else ids[0]

            def generate_span_id(self) -> int:
                ids = _ids.get()
                return self._inner.generate_span_id() if ids is None else ids[1]

        self._context, self._trace = context, trace
        self._provider = provider
        self._tracer = tracer
        # Of this tracer alone: other libraries in the process may use the same provider.
        self._tracer.id_generator = Ids(self._tracer.id_generator)

    def submitted(
        self, ids: Sequence[UUID], template: str, attributes: Mapping[str, str], started_ns: int
    ) -> None:
        """Tell the root span of each new workflow, linked to whoever asked; `started_ns`: since the epoch."""
        trace = self._trace
        asked = trace.get_current_span().get_span_context()
        links = [trace.Link(asked)] if asked.is_valid else []
        for workflow_id in ids:
            token = _ids.set((trace_id(workflow_id), root_id(workflow_id)))
            try:
                span = self._tracer.start_span(
                    f"submit {template}",
                    self._context.Context(),
                    trace.SpanKind.PRODUCER,
                    {**attributes, "remand.workflow_id": str(workflow_id)},
                    links,
                    started_ns,
                )
            finally:
                _ids.reset(token)
            span.end()

    def begin(self, workflow_id: UUID, step: str, attempt: int, handler: str) -> Begun:
        """Begin the span of an attempt; spans that this thread makes until its end are its children."""
        span = self._tracer.start_span(
            handler,
            self._parent(workflow_id, handler),
            self._trace.SpanKind.CONSUMER,
            {
                "remand.workflow_id": str(workflow_id),
                "remand.step": step,
                "remand.attempt": attempt,
                "remand.handler": handler,
            },
        )
        return Begun(span, self._context.attach(self._trace.set_span_in_context(span)))

    def end(self, begun: Begun, error_class: str | None) -> None:
        """End the span; `error_class`: the class of the error it raised, None: it succeeded."""
        self._context.detach(begun.token)
        if error_class is not None:
            # Without the message, which may hold users' private data.
            begun.span.set_attribute("error.type", error_class)
            begun.span.set_status(self._trace.StatusCode.ERROR, error_class)
        begun.span.end()

    @contextmanager
    def called_by(self, headers: Iterable[tuple[bytes, bytes]]) -> Iterator[None]:
        """Link workflows submitted in this context to the trace that HTTP headers name, if they do."""
        from opentelemetry.trace.propagation import tracecontext  # noqa: PLC0415 - as in `_provider`

        carrier = {name.decode(): value.decode("latin-1") for name, value in headers if name in _PROPAGATED}
        token = self._context.attach(tracecontext.TraceContextTextMapPropagator().extract(carrier))
        try:
            yield
        finally:
            self._context.detach(token)

    def flush(self) -> None:
        """Send what is left; waits a few seconds at most."""
        self._provider.force_flush(_LAST_WORDS_MS)

    def _parent(self, workflow_id: UUID, name: str) -> Context:
        trace = self._trace
        from opentelemetry.sdk.trace.sampling import Decision  # noqa: PLC0415 - as in `_provider`

        of = trace_id(workflow_id)
        # The same sampling decision as for the submit, in any process: same rule, same id.
        judged = self._tracer.sampler.should_sample(None, of, name).decision
        sampled = judged is Decision.RECORD_AND_SAMPLE
        flags = trace.TraceFlags(trace.TraceFlags.SAMPLED if sampled else trace.TraceFlags.DEFAULT)
        root = trace.SpanContext(of, root_id(workflow_id), is_remote=True, trace_flags=flags)
        parent: Context = trace.set_span_in_context(trace.NonRecordingSpan(root), self._context.Context())
        return parent


class _Process:
    traces: Traces | None = None


def start() -> None:
    """Trace from now on, in this process and in those it forks; not if `OTEL_SDK_DISABLED`. Idempotent.

    Raises:
        ConfigInvalid: OpenTelemetry's SDK is not installed.
    """
    if _Process.traces is None:
        _Process.traces = of(_provider())


def of(provider: TracerProvider) -> Traces | None:
    """Return traces that go to a provider; None: it is switched off."""
    from opentelemetry.sdk.trace import Tracer  # noqa: PLC0415 - as in `_provider`

    tracer = provider.get_tracer("remand", product.__version__)
    return Traces(provider, tracer) if isinstance(tracer, Tracer) else None


def active() -> Traces | None:
    """Return the traces of this process; None: tracing is off."""
    return _Process.traces


@contextmanager
def called_by(headers: Iterable[tuple[bytes, bytes]]) -> Iterator[None]:
    """Link workflows submitted in this context to the trace that HTTP headers name, if any do."""
    if _Process.traces is None:
        yield
        return
    with _Process.traces.called_by(headers):
        yield


def _provider() -> TracerProvider:
    # Imported here, to spare processes that do not trace: the imports take a quarter of a second.
    try:
        from opentelemetry import trace  # noqa: PLC0415
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError as error:
        raise ConfigInvalid(
            [Problem(None, None, "traces", f"needs pip install 'remand[otel]' ({error})", "CONFIG_INVALID")]
        ) from error
    current = trace.get_tracer_provider()
    if isinstance(current, TracerProvider):
        # The process is instrumented already: its spans and ours use the same provider.
        return current
    resource = Resource.create()
    if str(resource.attributes[SERVICE_NAME]).startswith("unknown_service"):
        resource = resource.merge(Resource({SERVICE_NAME: "remand"}))
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    return provider
