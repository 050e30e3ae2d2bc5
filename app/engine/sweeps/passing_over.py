"""Let statements that choose and move at once pass over the one workflow that they break on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar
from uuid import UUID

from app.engine.recording import Away, in_halves
from app.engine.sweeps.batches import passed_over
from app.store.held import holding
from app.store.session import NOT_NOW, Database

R = TypeVar("R")


def act_beside(database: Database, act: Callable[[], R], candidates: Callable[[], Sequence[UUID]]) -> R:
    """Act; where that breaks, act once more while the workflows it may have broken on are held.

    For what matters more than those: they are left as they are. Raises what it breaks on even so.
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
    """Act; where that breaks, act again while what it breaks on is held. Return what came of each time.

    `candidates`: the workflows that `act` may choose. It must skip those that somebody holds. `away`: errors
    that none of them is to blame for.

    Raises what `act` breaks on without any of them: that is nobody's row.
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
    found = in_halves(ids, some, alone, away) if ids else []
    return others + [one for came in found for one in came]
