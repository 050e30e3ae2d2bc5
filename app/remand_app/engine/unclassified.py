"""List failures that match no rule, once they are recorded. An error here does not affect the step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from remand_app.store.claims import EndedBadly
from remand_app.store.run_queue import RunQueue
from remand_app.store.unclassified import Unknown
from remand_app.telemetry import log


def list_unknown(queue: RunQueue, counted: Sequence[EndedBadly]) -> None:
    """Count each failure that matches no rule, once. Transaction: own, if there are any."""
    unknown = list(_unknown(counted))
    if not unknown:
        return
    done = queue.count_unclassified(unknown)
    if isinstance(done, str):
        log("failure.uncounted", count=len(unknown), error=done)
        return
    error_of = {failure.fingerprint: failure.error_class for failure in unknown}
    for fingerprint, count in done.items():
        log("failure.unclassified", fingerprint=fingerprint, error=error_of[fingerprint], count=count)


def _unknown(ended: Sequence[EndedBadly]) -> Iterator[Unknown]:
    for end in ended:
        failure = end.failure
        if not failure.classification.is_known:
            yield Unknown(
                fingerprint=failure.fingerprint,
                error_class=failure.error_class,
                message=failure.message,
                workflow_id=end.workflow_id,
                step=end.step,
                attempt=end.attempt,
            )
