"""Prune sweep: delete rows past their retention, a batch of each table in turn, until nothing is left.

Two at once share the work; a sweep that is cut off keeps what it did, and the next goes on. Source: D6.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from remand_app.engine.engine import Engine
from remand_app.store import group_counts, pruning
from remand_app.store.pruning import PRUNED, Prunable
from remand_app.telemetry import log

BATCH = 1000
LOOKED_AT = 100_000
"""Most rows of a table that are counted when only a forecast is wanted."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """What one sweep deleted."""

    rows: Mapping[str, int]
    """Rows deleted by table; only tables that lost any."""
    is_finished: bool
    """False: it ran out of time; the next sweep goes on."""

    @property
    def moved(self) -> int:
        """Rows of all tables."""
        return sum(self.rows.values())


@dataclass(frozen=True, slots=True)
class Kept:
    """How long rows of a table are kept, and its present state."""

    table: str
    setting: str | None
    """Its name in `[retention]`; None: not to be set."""
    days: int | None
    """None: for ever."""
    oldest_at: datetime | None
    """Of the rows that go one day; None: there are none."""
    due: int
    """Rows that the next sweep deletes; `LOOKED_AT`: so many, or more."""


def prune(engine: Engine, batch: int = BATCH, *, monotonic: Callable[[], float] = time.monotonic) -> Pruned:
    """Sweep once, until nothing is left or the time is up. Transaction: one a batch of one table.

    Idempotent: what was deleted is gone. Counts of letters are brought up to date, too.
    """
    group_counts.fold(engine.database)
    until = monotonic() + engine.settings.prune_budget_seconds
    old = _cutoffs(engine)
    gone: Counter[str] = Counter()
    is_finished = False
    while not is_finished and monotonic() < until:
        before = gone.total()
        left = old
        while left and monotonic() < until:
            left = [table for table in left if _batch(engine, *table, batch, gone)]
        # Once more: a group can go when its last letter has gone.
        is_finished = not left and gone.total() == before
    if gone:
        group_counts.fold(engine.database)
        log("sweep.ended", sweep="prune", moved=gone.total())
    return Pruned(dict(gone), is_finished)


def outlook(engine: Engine) -> list[Kept]:
    """Return how long everything is kept, and what the next sweep would delete.

    Transaction: some short ones.
    """
    now = engine.instant()
    kept = []
    for table in PRUNED:
        before = _cutoff(engine, table, now)
        due = pruning.count(engine.database, table, before, LOOKED_AT) if before is not None else 0
        days = None if before is None else (now - before).days
        kept.append(Kept(table.name, table.kept_by, days, pruning.oldest(engine.database, table), due))
    return kept


def _batch(engine: Engine, table: Prunable, before: datetime, limit: int, gone: Counter[str]) -> bool:
    """Delete a batch; return whether there may be more."""
    done = pruning.delete_batch(engine.database, table, before, limit)
    if done.deleted:
        gone[table.table] += done.deleted
    return done.locked == limit


def _cutoffs(engine: Engine) -> list[tuple[Prunable, datetime]]:
    with engine.database.begin() as connection:
        now = engine.now(connection)
    cutoffs = ((table, _cutoff(engine, table, now)) for table in PRUNED)
    return [(table, before) for table, before in cutoffs if before is not None]


def _cutoff(engine: Engine, table: Prunable, now: datetime) -> datetime | None:
    if table.kept_by is None:
        return now - table.kept_for
    return engine.settings.retention.cutoff(table.kept_by, now)
