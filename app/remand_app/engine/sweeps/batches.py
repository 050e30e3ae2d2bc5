"""Process what a sweep finds, batch by batch, so that one workflow that fails holds up no other."""

from __future__ import annotations

from collections.abc import Callable, Collection
from uuid import UUID

from remand_app.engine.attempt_ends import told
from remand_app.store.database import NOT_NOW
from remand_app.telemetry import log

Act = Callable[[int, Collection[UUID], list[UUID]], int]
"""Takes up to as many workflows as the first argument says, none of those in the second, and adds them to the
third at once; returns how many were moved."""


def in_batches(sweep: str, size: int, act: Act) -> int:
    """Act until nothing is left; return how much was moved.

    Raises the error of the first workflow that was passed over, after all others are done.
    """
    past: set[UUID] = set()
    first: Exception | None = None
    moved = 0
    while True:
        chosen: list[UUID] = []
        try:
            done = act(size, past, chosen)
        except NOT_NOW:
            raise
        except Exception as error:
            if not chosen:
                raise
            if len(chosen) == 1:
                first = first or error
                passed_over(sweep, chosen[0], error)
                past.update(chosen)
            size = 1
            continue
        moved += done
        if done == 0:
            past.update(chosen)
        if not chosen:
            break
    if first is not None:
        raise first
    return moved


def passed_over(sweep: str, workflow_id: UUID, error: Exception) -> None:
    """Log that a sweep could do nothing with a workflow."""
    log("sweep.passed_over", sweep=sweep, workflow_id=str(workflow_id), error=told(error))
