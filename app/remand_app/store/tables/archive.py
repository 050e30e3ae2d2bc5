"""The archive: finished workflows past their retention, out of the way of live work; and what was moved when.

Same columns, same keys and same boundaries as the live tables: a partition changes hands without its rows
being touched. Nothing in the archive is ever changed; a workflow is restored first.
"""

from __future__ import annotations

import sqlalchemy as sa

from remand_app.store.tables.columns import column, instant, metadata
from remand_app.store.tables.workflows import attempts, history, steps, workflows

_OF_LIVE_WORK = (
    "workflows_open",
    "workflows_expiring",
    "workflows_by_age",
    "workflows_paused",
    "workflows_held",
    "steps_conditional",
)


def _archive_of(table: sa.Table, comment: str) -> sa.Table:
    """Return the table's twin in the archive, without the indexes that only live work has rows for."""
    twin = table.to_metadata(metadata, name=f"{table.name}_archive")
    twin.comment = comment
    for index in list(twin.indexes):
        if index.name in _OF_LIVE_WORK:
            twin.indexes.discard(index)
        else:
            index.name = sa.sql.quoted_name(
                f"{twin.name}_{str(index.name).removeprefix(f'{table.name}_')}", None
            )
    return twin


workflows_archive = _archive_of(workflows, "Finished workflows past their retention. Read-only.")
steps_archive = _archive_of(steps, "Steps of archived workflows. Read-only.")
attempts_archive = _archive_of(attempts, "Attempts of archived workflows that did not go well. Read-only.")
history_archive = _archive_of(history, "Moves of archived workflows off the straight road. Read-only.")

archive_runs = sa.Table(
    "archive_runs",
    metadata,
    column("id", sa.Uuid, "UUIDv7", primary_key=True),
    column("kind", sa.Text, "archive, restore, export or drop"),
    column("path", sa.Text, "period: a partition changed hands; batch: rows were copied and deleted"),
    column("period", sa.Text, "the suffix of the partition, 'default' for rows of no partition"),
    column("starts_at", instant, "where the period begins; null: no period", nullable=True),
    column("ends_at", instant, "where it ends, exclusive; null: no period", nullable=True),
    column("workflows", sa.BigInteger, "workflows moved"),
    column("steps", sa.BigInteger, "steps moved"),
    column("attempts", sa.BigInteger, "attempts moved"),
    column("history", sa.BigInteger, "moves moved"),
    column("stayed", sa.BigInteger, "workflows that stayed live and went to the default partition"),
    column("checksum", sa.Numeric, "sum of hashes over ids and states of all rows, before and after"),
    column("bytes_before", sa.BigInteger, "size of the four partitions before, indexes included"),
    column("bytes", sa.BigInteger, "size of the four in the archive afterwards"),
    column(
        "lock_ms", sa.Float, "milliseconds that live work was locked out; null: it was not", nullable=True
    ),
    column("started_at", instant, "when the move began"),
    column("ended_at", instant, "when the last of it was committed"),
    column("verified_at", instant, "when the checksum was found again; null: not yet", nullable=True),
    column("by", sa.Text, "who or what moved it"),
    column("place", sa.Text, "the directory of an export; null: it is none", nullable=True),
    sa.CheckConstraint("kind IN ('archive', 'restore', 'export', 'drop')", name="kind_known"),
    sa.CheckConstraint("path IN ('period', 'batch')", name="path_known"),
    sa.Index("archive_runs_by_period", "period", "id"),
    sa.Index("archive_runs_unverified", "id", postgresql_where=sa.text("verified_at IS NULL")),
    comment="Moves into the archive and out of it, each written in the transaction that made it.",
)
