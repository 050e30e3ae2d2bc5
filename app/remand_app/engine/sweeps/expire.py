"""Expire sweep: a workflow not ended by its deadline becomes a dead letter, whether or not it ever ran.

Two at once share the work: each workflow is locked by one of them. A pause does not move a deadline; sending
a workflow back to work does. Source: C14.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final
from uuid import UUID

from remand_app.domain.states import DeadReason
from remand_app.engine.dead_letter_workflows import Cause, log_taken, take_out
from remand_app.engine.engine import Engine
from remand_app.engine.sweeps.batches import in_batches
from remand_app.store import dead_letter_workflows
from remand_app.telemetry import log

BATCH = 200
EXPIRED: Final = Cause(
    DeadReason.EXPIRED, "remand.errors.Expired", "the workflow had not ended when its time was up"
)


def expire(engine: Engine, batch: int = BATCH) -> int:
    """Sweep once, in batches until nothing is due; return how many expired. Transaction: one a batch.

    Idempotent: what has expired is no longer in motion.
    """

    def act(limit: int, but: Collection[UUID], chosen: list[UUID]) -> int:
        with engine.database.begin() as connection:
            now = engine.now(connection)
            chosen += dead_letter_workflows.lock_expired(connection, now, limit, but)
            died = take_out(engine, connection, chosen, EXPIRED, by="sweep.expire", now=now)
        log_taken(died)
        return len({death.failed.workflow_id for death in [*died.kept, *died.dropped]})

    expired = in_batches("expire", batch, act)
    if expired:
        log("sweep.ended", sweep="expire", moved=expired)
    return expired
