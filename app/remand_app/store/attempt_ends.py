"""The ends of attempts of any worker: those that ended badly, and results that were parked."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from remand_app.clock import Clock
from remand_app.domain.queues import queue_of
from remand_app.store import failure_json
from remand_app.store.claims import EndedBadly, Settled
from remand_app.store.database import Database

_FAIL = """
select *
  from remand.fail_attempts(%s::uuid[], %s::text[], %s::int[], %s::uuid[], %s::text[], %s::text[]::jsonb[],
                            %s::text[], %s::text[], %s, %s)
"""


def settle_parked(
    database: Database, clock: Clock, limit: int, timeout_seconds: float, slack_seconds: float
) -> Settled:
    """Apply parked results of any worker. Transaction: own."""
    rows = database.call(
        "select settled, queues, passed from remand.settle_parked(%s, %s, %s, %s)",
        (limit, timeout_seconds, slack_seconds, clock.fixed()),
    )
    settled, queues, passed = rows[0]
    return Settled(ring=queues, counted=settled, passed=passed)


def fail_attempts(
    database: Database, clock: Clock, ended: Sequence[EndedBadly], *, by: str
) -> set[tuple[UUID, str]]:
    """Record attempts of any workers that ended badly; return the steps of those that counted.

    Transaction: own. Idempotent.
    """
    rows = database.call(
        _FAIL,
        (
            [end.workflow_id for end in ended],
            [end.step for end in ended],
            [end.attempt for end in ended],
            [end.worker for end in ended],
            [end.outcome for end in ended],
            [failure_json.write(end.failure) for end in ended],
            [end.policy for end in ended],
            [queue_of(end.policy) for end in ended],
            by,
            clock.fixed(),
        ),
    )
    return {(row[0], row[1]) for row in rows}
