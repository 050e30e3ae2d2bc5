"""Failures that no rule knows, counted by fingerprint, so that people can write rules for them.

Nothing depends on these counts: the failure itself is kept with its attempt, even where counting fails.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

import psycopg2

from remand_app.clock import Clock
from remand_app.domain.errors import InputInvalid, InstantInvalid, ValueRefused
from remand_app.domain.instants import read_instant
from remand_app.domain.page import Page
from remand_app.store.counting import count_rows
from remand_app.store.database import NOT_NOW, Database
from remand_app.store.rows import names
from remand_app.store.tables import unclassified

_RECORD = """
-- Whoever holds one of the rows, a drain must not wait for it: its steps come first.
with patience as materialized (
  select set_config('lock_timeout', '500ms', true)),
clock as materialized (
  select coalesce(%s, clock_timestamp()) as now)
insert into remand.unclassified as known
  (fingerprint, error_class, message, count, first_at, last_at, workflow_id, step, attempt, handler)
select given.fingerprint, given.error_class, given.message, given.count, clock.now, clock.now,
       given.workflow_id, given.step, given.attempt, step.handler
  from patience,
       clock,
       unnest(%s::text[], %s::text[], %s::text[], %s::bigint[], %s::uuid[], %s::text[], %s::int[])
         given(fingerprint, error_class, message, count, workflow_id, step, attempt)
  join remand.steps step on step.workflow_id = given.workflow_id and step.name = given.step
 order by given.fingerprint -- for all: those who count at the same time wait for each other, no circle
on conflict (fingerprint) do update
   set count = known.count + excluded.count,
       last_at = greatest(known.last_at, excluded.last_at),
       message = excluded.message,
       workflow_id = excluded.workflow_id,
       step = excluded.step,
       attempt = excluded.attempt,
       handler = excluded.handler
"""
_LIST = """
select {0}
  from remand.unclassified
 where %s::timestamptz is null or (last_at, fingerprint) < (%s, %s)
 order by last_at desc, fingerprint desc
 limit %s
"""


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Unknown:
    """One failure that no rule knows. `message` is redacted."""

    fingerprint: str
    error_class: str
    message: str
    workflow_id: UUID
    step: str
    attempt: int


def record(database: Database, clock: Clock, failures: Sequence[Unknown]) -> dict[str, int] | str:
    """Count failures; return how many of each fingerprint, or why they could not be counted.

    Transaction: own. Tries once, waits half a second at most, and never raises database errors: a count
    that is too low is better than one that is too high, or than a step that waits.
    """
    counts = Counter(failure.fingerprint for failure in failures)
    last = {failure.fingerprint: failure for failure in failures}
    arguments = (
        clock.fixed(),
        [*last],
        [failure.error_class for failure in last.values()],
        [failure.message for failure in last.values()],
        [counts[fingerprint] for fingerprint in last],
        [failure.workflow_id for failure in last.values()],
        [failure.step for failure in last.values()],
        [failure.attempt for failure in last.values()],
    )
    try:
        database.call(_RECORD, arguments)
    except (*NOT_NOW, ValueRefused, psycopg2.Error) as error:
        return str(error)
    return dict(counts)


def list_page(database: Database, kind: type[T], *, after: str | None = None, limit: int = 100) -> Page[T]:
    """Return what no rule knew as values of `kind`, the last seen first. Transaction: own.

    Raises:
        InputInvalid: `after` is no cursor of this list.
    """
    at, fingerprint = (None, None) if after is None else _place(after)
    rows: list[Any] = database.read(kind, _LIST.format(names(kind)), (at, at, fingerprint, limit + 1))
    return Page.of(
        rows,
        limit,
        after=after,
        cursor=lambda seen: f"{seen.last_at.isoformat()}_{seen.fingerprint}",
        count=lambda: count_rows(database, unclassified, []),
    )


def _place(after: str) -> tuple[datetime, str]:
    at, _, fingerprint = after.partition("_")
    try:
        return read_instant(at), fingerprint
    except InstantInvalid:
        raise InputInvalid("this is no cursor of this list", hint="begin without one") from None


def forget(database: Database, fingerprint: str) -> bool:
    """Remove a fingerprint from the list; False if it is not there. Transaction: own. Idempotent."""
    gone = database.call("delete from remand.unclassified where fingerprint = %s returning 1", (fingerprint,))
    return bool(gone)
