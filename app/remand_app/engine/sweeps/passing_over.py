"""Let statements that choose and move rows at once pass over the one workflow that makes them fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar
from uuid import UUID

from remand_app.engine.attempt_ends import Away, in_halves
from remand_app.engine.sweeps.batches import passed_over
from remand_app.store.database import NOT_NOW, Database
from remand_app.store.held import holding

R = TypeVar("R")


def act_beside(database: Database, act: Callable[[], R], candidates: Callable[[], Sequence[UUID]]) -> R:
    """Act; on an error, act once more while the workflows that may have caused it are held.

    For actions that matter more than these workflows, which stay as they are. Raises if the action fails even
    so.
    """
    try:
        return act()
    except NOT_NOW:
        raise
    except Exception:  # noqa: BLE001 - as below
        with holding(database, candidates()):
            return act()


def act_passing_over(
    database: Database,
    sweep: str,
    act: Callable[[], R],
    candidates: Callable[[], Sequence[UUID]],
    away: Away = NOT_NOW,
) -> list[R]:
    """Act; on an error, act again while the workflow that causes it is held. Return each result.

    `candidates`: the workflows that `act` may choose; `act` must skip those that somebody holds. `away`:
    errors that no workflow is to blame for.

    Raises the error of `act` if it fails without any of them: no row is the cause.
    """
    try:
        return [act()]
    except away:
        raise
    except Exception:  # noqa: BLE001 - whatever one of them breaks, the others must not bear
        ids = list(dict.fromkeys(candidates()))

    def some(chosen: Sequence[UUID]) -> list[R]:
        with holding(database, set(ids) - set(chosen)):
            return [act()]

    def alone(workflow_id: UUID, error: Exception) -> list[R]:
        passed_over(sweep, workflow_id, error)
        return []

    others = some(())
    results = in_halves(ids, some, alone, away) if ids else []
    return others + [result for came in results for result in came]
