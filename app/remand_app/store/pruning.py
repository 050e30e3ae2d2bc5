"""Delete old rows: one entry for each table; in batches, oldest first, by an index.

Two processes at once share the work: each skips rows that the other has locked. `STAYS` names the tables
that are never pruned, and says why they do not grow without bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final

import sqlalchemy as sa

from remand_app.store.database import Connection, Database


@dataclass(frozen=True, slots=True)
class Prunable:
    """Rows of a table that go when they are old."""

    table: str
    age: str
    """The instant that counts, in the words of an index."""
    kept_by: str | None = None
    """The setting in `[retention]` that says for how many days; None: `kept_for`."""
    kept_for: timedelta = timedelta()
    only: str = "true"
    """Which of the old rows may go; in the words of a partial index."""
    unless: str = "false"
    """What keeps an old row: checked again once the row is locked, so that it holds at deletion."""
    of: str = ""
    """Tables that are joined to reach `age`, as `join … on …`."""

    @property
    def name(self) -> str:
        """The name that distinguishes it from other entries of its table."""
        return self.table if self.kept_by or self.only == "true" else f"{self.table}, {self.only}"


_ENDED = "('complete', 'error', 'cancelled', 'resolved_manually')"
# As a scalar sub-select: the partition is found by the id, one row at a time.
_WORKFLOW_STATE = """
(select workflow.state
   from remand.workflows workflow
  where workflow.id = old.workflow_id)
"""
PRUNED: Final = (
    Prunable(
        "dead_letters", "old.closed_at", "letters_days",
        only=f"old.closed_at is not null and coalesce({_WORKFLOW_STATE}, 'complete') in {_ENDED}",
    ),
    Prunable(
        "dead_letter_groups", "greatest(old.last_at, old.state_since)", "groups_days",
        only="old.state in ('open', 'resolved')",
        unless="exists (select from remand.dead_letters letter where letter.group_id = old.id)",
    ),
    Prunable("dead_letter_hours", "old.hour", "hours_days"),
    Prunable(
        "redrive_items", "redrive.ended_at", "redrives_days",
        of="join remand.redrives redrive on redrive.id = old.redrive_id",
        only="redrive.ended_at is not null",
    ),
    Prunable(
        "redrives", "old.ended_at", "redrives_days", only="old.ended_at is not null",
        unless="exists (select from remand.redrive_items item where item.redrive_id = old.id)",
    ),
    Prunable("audit_log", "old.at", "audit_days"),
    Prunable("sessions", "old.expires_at", "access_days"),
    Prunable("login_codes", "old.expires_at", "access_days"),
    Prunable("api_tokens", "coalesce(old.revoked_at, old.expires_at)", "access_days"),
    Prunable("login_attempts", "old.at", kept_for=timedelta(days=1), only="old.account is null"),
    Prunable("login_attempts", "old.at", kept_for=timedelta(days=90), only="old.account is not null"),
    Prunable("workers", "old.stopped_at", "workers_days", only="old.stopped_at is not null"),
    Prunable("breaker_moves", "old.at", "breakers_days"),
    Prunable("unclassified", "old.last_at", "unclassified_days"),
    Prunable("idempotency_keys", "old.at", kept_for=timedelta(days=1)),
)  # fmt: skip
STAYS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "run_queue": "one row a live step: it goes with the step's end",
        "traffic": "the last minutes only: the ring sweep deletes what is older",
        "dead_letter_deltas": "each change of letters until it is counted: the prune sweep counts, too",
        "dead_letter_counts": "one row for each kind of letters there is, whatever their number",
        "dead_letter_notes": "go with their letter or their group",
        "dead_queues": "made by people",
        "queue_settings": "made by people",
        "pauses": "made by people",
        "template_pauses": "made by people",
        "users": "made by people",
        "breakers": "one row a dependency",
        "retry_budgets": "one row a handler",
        "templates": "one row a version that was published: workflows and letters name it",
        "template_steps": "go with their template",
        "staleness_settings": "one row",
        "sweep_runs": "one row a sweep",
        "sweep_figures": "some rows a sweep",
        "queue_service": "some rows a queue: the newest hundred gaps of each",
        "notifications": "the notify sweep deletes what is past `notify.keep_seconds`",
        "notification_targets": "one row a target",
        "archive_runs": "the record of what left the live tables: one row a period or a batch",
        "identities": "an identity holds for as long as its workflow is kept",
        "transition_rule": "the legal moves: changed by migrations alone",
    }
)
"""Tables that are never pruned, and why they do not grow without bound."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What one batch did."""

    locked: int
    """Old rows that it locked; fewer than asked for: there are no more."""
    deleted: int


def delete_batch(database: Database, prunable: Prunable, before: datetime, limit: int) -> Batch:
    """Delete the oldest rows from before an instant, at most `limit`. Transaction: own. Idempotent."""
    with database.begin() as connection:
        rows = _lock(connection, prunable, before, limit)
        if not rows:
            return Batch(0, 0)
        # Its own statement: what others committed until the rows were locked is seen.
        deleted = connection.execute(
            sa.text(
                f"""
                delete from remand.{prunable.table} old
                 where old.ctid = any(cast(:rows as tid[]))
                   and not ({prunable.unless})
                """
            ),
            {"rows": rows},
        )
        return Batch(len(rows), deleted.rowcount)


def _lock(connection: Connection, prunable: Prunable, before: datetime, limit: int) -> list[str]:
    rows = connection.execute(sa.text(batch_query(prunable)), {"before": before, "limit": limit})
    return [row[0] for row in rows]


def batch_query(prunable: Prunable) -> str:
    """Return the query that locks the oldest rows, for `:before` and `:limit`."""
    return f"""
    select cast(old.ctid as text)
      {_old(prunable)}
     order by {prunable.age}
     limit :limit
       for update of old skip locked
    """


def count(database: Database, prunable: Prunable, before: datetime, at_most: int) -> int:
    """Count the rows that would go, up to `at_most`. Transaction: own; nothing is locked."""
    query = sa.text(f"select count(*) from (select {_old(prunable)} limit :limit) old")
    with database.reading() as connection:
        counted: int = connection.execute(query, {"before": before, "limit": at_most}).scalar_one()
        return counted


def oldest(database: Database, prunable: Prunable) -> datetime | None:
    """Return the age instant of the oldest row that may be pruned some day; None: there is none.

    Transaction: own.
    """
    query = sa.text(f"select {prunable.age} {_all(prunable)} order by {prunable.age} limit 1")
    with database.reading() as connection:
        at: datetime | None = connection.execute(query).scalar()
        return at


def _old(prunable: Prunable) -> str:
    return f"{_all(prunable)} and {prunable.age} < :before and not ({prunable.unless})"


def _all(prunable: Prunable) -> str:
    return f"from remand.{prunable.table} old {prunable.of} where {prunable.only}"
