"""Attempts as spans of OpenTelemetry."""

from __future__ import annotations

from remand_app.store.claims import Claim
from remand_app.telemetry.traces import Begun, Traces


class Spans:
    """An audience that tells the attempts of one thread to the traces of its process."""

    def __init__(self, traces: Traces) -> None:
        self._traces = traces
        self._begun: Begun | None = None

    def begin(self, claim: Claim) -> None:
        """Begin a span, in which the handler runs."""
        self._begun = self._traces.begin(claim.workflow_id, claim.step, claim.attempt, claim.handler)

    def end(self, error_class: str | None) -> None:
        """End it."""
        if self._begun is not None:
            self._traces.end(self._begun, error_class)
            self._begun = None
