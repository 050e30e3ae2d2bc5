"""Stalled sweep: a workflow whose steps can never start becomes a dead letter.

Two at once share the work: each workflow is locked by one of them. Source: C1.
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
STILL: Final = Cause(
    DeadReason.DEPENDENCY_CYCLE_DETECTED,
    "remand.errors.NeverReady",
    "nothing of the workflow can ever start: its steps wait for each other, or for what is not there",
)


def stalled(engine: Engine, batch: int = BATCH) -> int:
    """Sweep once, in batches until nothing is left; return how many stood still. Transaction: one a batch.

    Idempotent: what was taken out of work is no longer in it.
    """

    def act(limit: int, but: Collection[UUID], chosen: list[UUID]) -> int:
        with engine.database.begin() as connection:
            chosen += dead_letter_workflows.lock_still(connection, limit, but)
            died = take_out(engine, connection, chosen, STILL, by="sweep.stalled", now=engine.now(connection))
        log_taken(died)
        return len(died.kept) + len(died.dropped)

    taken = in_batches("stalled", batch, act)
    if taken:
        log("sweep.ended", sweep="stalled", moved=taken)
    return taken
