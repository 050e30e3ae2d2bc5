"""Read redrives."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from remand_app.domain.errors import RedriveNotFound
from remand_app.domain.page import Page
from remand_app.domain.redrive import Item, Redrive
from remand_app.engine.engine import Engine
from remand_app.store import redrive_items, redrives
from remand_app.store.ids import find_id


def get(engine: Engine, redrive_id: UUID) -> Redrive:
    """Return a redrive. Transaction: own.

    Raises:
        RedriveNotFound: none has that id.
    """
    return redrives.get_redrive(engine.database, redrive_id)


def find(engine: Engine, typed: str) -> Redrive:
    """Return a redrive by its id, or enough of either end of it.

    Raises:
        RedriveNotFound, AmbiguousId: not exactly one fits.
    """
    return get(engine, find_id(engine.database, "redrives", typed, RedriveNotFound))


def list_page(
    engine: Engine, *, states: Sequence[str] = (), after: str | None = None, limit: int = 50
) -> Page[Redrive]:
    """Return redrives, newest first; without states all but those that nobody started. Transaction: own."""
    return redrives.list_page(engine.database, states=tuple(states), after=after, limit=limit)


def items_page(
    engine: Engine,
    redrive_id: UUID,
    *,
    states: Sequence[str] = (),
    after: str | None = None,
    limit: int = 50,
) -> Page[Item]:
    """Return the letters of a redrive in order, with what became of each. Transaction: own."""
    return redrive_items.items_page(engine.database, redrive_id, states=states, after=after, limit=limit)
